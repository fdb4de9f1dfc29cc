"""Records for the tests of appending, and the processes that append them and are killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gamekit.errors import GamekitError
from gamekit.findings import Case, Environment, Measurement, Run, RunSource, Subject
from gamekit.quantity import Quantity
from gamekit.store.append import append_run
from gamekit.store.load import load
from gamekit.store.record import RunRecord, new_run_id, utc_text
from gamekit.store.spool import Beginning, Spool, recover

STARTED = datetime(2026, 11, 30, 12, 30, 15, tzinfo=UTC)


def record(run_id: str | None = None, samples: list[float] | None = None) -> RunRecord:
    """A run of five samples that is done."""
    name = run_id or new_run_id("serving_decode", STARTED)
    samples = samples or [82.0, 82.5, 83.0, 82.25, 82.75]
    subject = Subject(target="Kimi-K2.5", concurrency=1, temperature=0.0)
    run = Run(
        id=name,
        benchmark="serving_decode",
        command=["gamekit", "bench", "serving_decode", "--append"],
        gamekit_version="0.1.0",
        started=utc_text(STARTED),
        finished=utc_text(STARTED),
        outcome="done",
        environment=Environment(packages={"torch": "2.11.0"}, variables={"NCCL_ALGO": "^Tree"}),
        cases=[Case(parameters={"api": None}, subject=subject, samples={"decode_rate": samples})],
    )
    finding = Measurement(
        id=f"{name}.decode_rate",
        kind="measurement",
        title="decode rate",
        source=RunSource(kind="run", run=name),
        metric="decode_rate",
        value=Quantity(unit="tok/s", samples=samples),
        subject=subject,
    )
    return RunRecord(run, (finding,))


def beginning() -> Beginning:
    """What is known of a run when it begins."""
    return Beginning(
        benchmark="serving_decode",
        command=["gamekit", "bench"],
        gamekit_version="0.1.0",
        started=STARTED,
        environment=Environment(kernel="6.1"),
        state={"load_average": [0.5, 0.5, 0.5]},
        engine=None,
        units={"decode_rate": "tok/s"},
        subject=Subject(host="bench-host"),
    )


def sampled(root: Path, append: bool) -> None:
    """Begin a run, take two samples, and append the record if told to."""
    spool = Spool(root, beginning())
    spool.event("case", case=0, parameters={"requests": 2}, subject={"host": "bench-host"})
    for rate in (82.0, 83.0):
        spool.event("sample", case=0, values={"decode_rate": rate})
    if append:
        append_run(root, record(spool.run_id))
        spool.remove()
    spool.close()


def kill_at(event_number: int) -> None:
    """Kill this process by SIGKILL at the audit event of that number that concerns files."""
    seen = 0

    def hook(name: str, _: tuple[Any, ...]) -> None:
        nonlocal seen
        if name == "open" or name.startswith(("os.", "fcntl.", "shutil.")):
            seen += 1
            if seen == event_number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def forked(work: Callable[[], None]) -> int:
    """Run ``work`` in a child process; the id of the child."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for a child: its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_everywhere(root: Path) -> dict[str, Any]:
    """Kill a run at its first file event, its second, and so on, until one gets through."""
    deaths, torn = 0, []
    for number in range(1, 200):
        folder = root / str(number)
        (folder / "findings").mkdir(parents=True)
        (folder / "gamekit.yaml").write_text("schema: 1\ntitle: T\nplan: plan.md\n")

        def work(number: int = number, folder: Path = folder) -> None:
            kill_at(number)
            sampled(folder, append=True)

        code = ended(forked(work))
        if code == 0:
            return {"deaths": deaths, "torn": torn}
        deaths += 1
        torn += _faults(folder, number)
    return {"deaths": deaths, "torn": ["no run got through"]}


def _faults(folder: Path, number: int) -> list[str]:
    """What is wrong after a kill: before recovery, and after two recoveries one after the other."""
    faults = []
    try:
        before = load(folder)
        spools = list((folder / ".gamekit").rglob("*.jsonl"))
        recovered = recover(folder)
        again = recover(folder)
        after = load(folder)
    except GamekitError as error:
        return [f"{number}: {error}"]
    if len(after.runs) != (1 if spools or before.runs else 0):
        faults.append(f"{number}: {len(after.runs)} runs from {len(spools)} spools")
    if again or any(one.run.outcome != "failed" for one in recovered):
        faults.append(f"{number}: recovered {recovered} and again {again}")
    if list((folder / "findings").rglob(".*.tmp")) or list((folder / ".gamekit").rglob("*.jsonl")):
        faults.append(f"{number}: something was left behind")
    return faults


def many_at_once(root: Path, writers: int) -> dict[str, Any]:
    """That many processes append one record each at the same moment; their exit codes."""
    gate_read, gate_write = os.pipe()

    def work() -> None:
        os.close(gate_write)
        os.read(gate_read, 1)
        append_run(root, record())

    children = [forked(work) for _ in range(writers)]
    os.close(gate_write)
    return {"codes": [ended(child) for child in children]}


def recovered_at_once(root: Path, recoveries: int) -> dict[str, Any]:
    """A run is killed after its samples, and that many processes recover it at the same moment."""

    def killed() -> None:
        sampled(root, append=False)
        os.kill(os.getpid(), signal.SIGKILL)

    ended(forked(killed))
    gate_read, gate_write = os.pipe()
    answer_read, answer_write = os.pipe()

    def work() -> None:
        os.close(gate_write)
        os.read(gate_read, 1)
        os.write(answer_write, b"x" * len(recover(root)))

    children = [forked(work) for _ in range(recoveries)]
    os.close(gate_write)
    codes = [ended(child) for child in children]
    os.close(answer_write)
    return {"codes": codes, "files": len(os.read(answer_read, 100))}


def main(what: str, folder: str, *numbers: str) -> None:
    """Run one of the functions above by its name; its answer goes to stdout as JSON."""
    with suppress(BrokenPipeError):
        answer = globals()[what](Path(folder), *map(int, numbers))
        sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
