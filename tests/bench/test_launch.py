"""Engines that gamekit starts: what becomes of their runs, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from launchable import SCRIPTED, script, simulate
from workbench import COUNTING, knowledge_base

from gamekit.bench.runner import RunOutcome, run_benchmarks
from gamekit.errors import UsageFault
from gamekit.findings import Measurement, Run, Subject
from gamekit.findings.schema import json_schema
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.store.load import load
from gamekit.store.spool import SPOOL_FOLDER

QUICK = ["requests=2", "warmup=0", "max_tokens=5"]
DIES = 'import sys\nprint("loading the weights")\nraise RuntimeError("no such checkpoint")\n'
NEVER_READY = 'import time\nprint("still loading", flush=True)\ntime.sleep(600)\n'
# Its grandchild leaves the session, and its own parent.
WITH_GRANDCHILD = (
    "import subprocess, sys\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[-1]],"
    " start_new_session=True)\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return knowledge_base(tmp_path / "kb", {"counting": COUNTING})


def bench(
    root: Path | None, *launches: str, settings: list[str] | None = None, **options: Any
) -> list[RunOutcome]:
    return run_benchmarks(
        root,
        ["serving_decode"],
        launches=launches,
        settings=[*QUICK, *(settings or [])],
        command=["gamekit", "bench"],
        **options,
    )


def run_of(outcome: RunOutcome) -> Run:
    assert outcome.record is not None
    return outcome.record.run


def subject_of(outcome: RunOutcome) -> Subject:
    return run_of(outcome).cases[0].subject


def series_of(outcome: RunOutcome) -> set[str | None]:
    assert outcome.record is not None
    return {one.series for one in outcome.record.findings if isinstance(one, Measurement)}


def alive(mark: str) -> list[int]:
    """The processes whose arguments hold ``mark``."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                arguments = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in arguments:
                found.append(int(process.name))
    return found


def test_an_engine_is_started_measured_recorded_and_ended(root: Path) -> None:
    """The run holds the command with its port, the start and its time; nothing is left running."""
    (outcome,) = bench(root, simulate(), append=True)
    run = run_of(outcome)
    assert run.outcome == "done"
    assert run.launch is not None
    port = run.launch.command.rpartition("--port ")[2]
    assert port.isdigit()
    assert run.launch.log[0] == f"http://127.0.0.1:{port}: decode rate 500 tok/s"
    assert run.facts["start_up_s"] > 0  # type: ignore[operator]  # a JSON value
    assert run.environment.start is not None
    assert load(root).runs[run.id] == run
    assert alive(f"--port\0{port}") == []
    shown = subprocess.run(
        [sys.executable, "-m", "gamekit", "show", run.id],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "launched as" in shown
    assert "start_up_s" in shown


def test_every_start_is_a_run_of_its_own_in_one_series(root: Path) -> None:
    """``starts=2`` gives two runs that differ in their start and share their series."""
    outcomes = bench(root, simulate(), settings=["starts=2"])
    starts = {run_of(one).environment.start for one in outcomes}
    assert len(starts) == 2
    assert series_of(outcomes[0]) == series_of(outcomes[1])


def test_two_commands_run_side_by_side_for_each_value(root: Path, tmp_path: Path) -> None:
    """Two commands and two values are four runs; a value that no field tells parts the series."""
    engine = script(tmp_path)
    outcomes = bench(
        root,
        f"{engine} --context-length {{length}}",
        f"{engine} --steps 2 --port {{port}} --context-length={{length}}",
        settings=["length=64,128"],
    )
    parameters = [subject_of(one).parameters["--context-length"] for one in outcomes]
    assert parameters == [64, 64, 128, 128]
    assert [subject_of(one).steps for one in outcomes] == [None, 2, None, 2]
    assert len({frozenset(series_of(one)) for one in outcomes}) == 4


def test_the_name_of_a_placeholder_is_no_part_of_the_subject(root: Path, tmp_path: Path) -> None:
    """The same launch with another name for its placeholder belongs to the same series."""
    engine = script(tmp_path)
    (one,) = bench(root, f"{engine} --context-length {{a}}", settings=["a=64"])
    (other,) = bench(root, f"{engine} --context-length {{b}}", settings=["b=64.0"])
    assert series_of(one) == series_of(other)
    assert run_of(one).launch != run_of(other).launch


def test_what_the_engine_and_the_launch_tell_is_not_told_again(root: Path, tmp_path: Path) -> None:
    """Steps and imposed accept length are fields of the subject, and no parameters beside them."""
    (outcome,) = bench(
        root,
        f"SGLANG_SIMULATE_ACC_LEN={{acc}} {script(tmp_path)} --steps {{n}} --load-format dummy",
        settings=["acc=2.0", "n=2"],
    )
    subject = subject_of(outcome)
    assert (subject.acceptance, subject.imposed_accept_length) == ("imposed", 2.0)
    assert (subject.steps, subject.weights, subject.cuda_graphs) == (2, "dummy", "captured")
    assert subject.parameters == {}
    run = run_of(outcome)
    assert run.launch is not None
    assert run.launch.parameters == {"acc": 2.0, "n": 2}
    assert run.environment.variables["SGLANG_SIMULATE_ACC_LEN"] == "2.0"
    assert run.facts["memory_gib"] == {"weights": 0.27, "kv_cache": 26.5, "graphs": 0.07}
    graphs = {"verify": "captured", "draft extend": "captured", "draft decode": "captured"}
    assert run.facts["graphs"] == graphs


def test_nccl_and_packages_are_those_that_the_engine_has_loaded(root: Path, tmp_path: Path) -> None:
    """A run records what the engine's process runs with, whatever is installed beside gamekit."""
    folder = tmp_path / "site-packages"
    library = folder / "nvidia/nccl/lib/libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"NCCL version 2.28.9+cuda13.0")
    (folder / "torch-2.11.0.dist-info").mkdir()
    (folder / "torch-2.11.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.11.0\n")
    (outcome,) = bench(root, f"{script(tmp_path)} --loads {library}")
    environment = run_of(outcome).environment
    assert environment.nccl == "2.28.9"
    assert environment.packages["torch"] == "2.11.0"
    assert environment.memory_gib is not None


def test_a_phase_that_was_not_captured_runs_eager(root: Path, tmp_path: Path) -> None:
    """A log that tells of no capture of the verify forward makes the subject eager."""
    (outcome,) = bench(root, f"{script(tmp_path)} --steps 2 --capture 'draft extend'")
    assert subject_of(outcome).cuda_graphs == "eager"
    assert run_of(outcome).facts["graphs"] == {
        "verify": "eager",
        "draft extend": "captured",
        "draft decode": "eager",
    }


def test_decode_lines_are_kept_and_eager_ones_are_a_flaw(root: Path, tmp_path: Path) -> None:
    """What the log says of the case is a fact; graphs captured and not used flaw its figures."""
    (outcome,) = bench(root, f"{script(tmp_path)} --capture 'target decode' --cuda-graph False")
    ticks = run_of(outcome).cases[0].facts["decode_ticks"]
    assert ticks == {
        "count": 2,
        "cuda_graph": {"False": 2},
        "gen_throughput_median": 100.0,
        "accept_len_median": 2.0,
    }
    assert outcome.record is not None
    found = next(one for one in outcome.record.findings if isinstance(one, Measurement))
    assert any("graphs were captured, and 2 of 2" in flaw for flaw in found.flaws)


def test_what_contradicts_the_subject_told_is_refused(tmp_path: Path) -> None:
    """``--subject acceptance=natural`` and a launch that imposes it do not go together."""
    with pytest.raises(UsageFault, match="--launch says acceptance=imposed"):
        bench(
            None,
            f"SGLANG_SIMULATE_ACC_LEN=2 {script(tmp_path)} --steps 2",
            subject=["acceptance=natural"],
        )


def test_an_engine_that_dies_at_its_start_gives_a_failed_run_and_the_others_go_on(
    root: Path, tmp_path: Path
) -> None:
    """Its last words are the reason, its log is recorded, and the other engine is measured."""
    failed, done = bench(root, script(tmp_path, DIES), simulate(), append=True)
    run = run_of(failed)
    assert (run.outcome, run_of(done).outcome) == ("failed", "done")
    assert run.reason == (
        "the engine ended before it was ready (exit code 1); its log says:"
        " RuntimeError: no such checkpoint"
    )
    assert run.launch is not None
    assert run.launch.log[0] == "loading the weights"
    assert load(root).runs[run.id] == run


def test_a_start_is_not_waited_for_for_ever(root: Path, tmp_path: Path) -> None:
    """``start_timeout`` ends an engine that never becomes ready."""
    command = f"{script(tmp_path, NEVER_READY)} never-{tmp_path.name}"
    (outcome,) = bench(root, command, settings=["start_timeout=1"])
    reason = run_of(outcome).reason or ""
    assert reason.startswith("the engine was not ready after 1 s")
    assert "still loading" in reason
    assert alive(f"never-{tmp_path.name}") == []


def test_an_engine_that_dies_in_mid_run_fails_the_run_with_its_last_words(
    root: Path, tmp_path: Path
) -> None:
    """The samples before are kept; the reason names the exit and what the log says."""
    (outcome,) = bench(root, f"{script(tmp_path)} --dies-after 1", append=True)
    run = run_of(outcome)
    assert run.outcome == "failed"
    assert "the engine ended while it was measured (exit code 3)" in (run.reason or "")
    assert "the card fell off the bus" in (run.reason or "")
    assert run.cases[0].samples["output_tokens"][0] == 5


def test_that_an_engine_died_stands_before_what_its_clients_met(root: Path, tmp_path: Path) -> None:
    """Under a load they meet connections that are refused, which alone would blame the address."""
    (outcome,) = run_benchmarks(
        root,
        ["serving_load"],
        launches=[f"{script(tmp_path)} --dies-after 3"],
        settings=["concurrency=1", "requests=9", "repeats=2", "max_tokens=5"],
        command=["gamekit", "bench"],
    )
    died, _, saw = (run_of(outcome).reason or "").partition("; what the benchmark saw: ")
    assert died.startswith("the engine ended while it was measured (exit code 3)")
    assert "the card fell off the bus" in died
    assert "does not answer" in saw


def test_an_engine_beside_one_that_runs_already(root: Path) -> None:
    """``--url`` and ``--launch`` together are measured in turn."""
    with StandInEngine(SimulatorConfig(5.0, 2.0)) as engine:
        running, started = bench(root, simulate(), urls=[engine.url])
    assert run_of(running).launch is None
    assert run_of(started).launch is not None


@pytest.mark.parametrize(
    ("launches", "settings", "says"),
    [
        (["engine --acc {acc}"], [], "{acc}, and nothing says.*--set acc="),
        (["engine"], ["acc=2"], "no parameter acc; there are: .*start_timeout"),
        (["engine {requests}"], [], "parameter of serving_decode"),
        (["engine {starts}"], [], "meaning of its own"),
        (["engine {x}"], ["x=1,1"], "names a value twice"),
        (["engine"], ["starts=0"], "starts=0 is not allowed"),
        (["engine"], ["starts=1,2"], "one call has one"),
        ([], ["starts=2"], "add --launch"),
        (["engine --port 31999", "other --port=31999"], [], "both|two of the commands"),
    ],
)
def test_a_launch_that_does_not_fit_is_refused(
    launches: list[str], settings: list[str], says: str
) -> None:
    """Each kind of mistake is a usage error with its remedy, before anything is started."""
    with pytest.raises(UsageFault, match=says):
        bench(None, *launches, settings=settings)


def test_starts_are_for_engines_that_are_launched() -> None:
    """An engine that runs already cannot be started again."""
    with pytest.raises(UsageFault, match="--url names one that runs"):
        bench(None, "engine", settings=["starts=2"], urls=["http://127.0.0.1:9"])


def test_what_needs_no_server_launches_none(root: Path) -> None:
    """``--launch`` with benchmarks that need no server is a usage error."""
    with pytest.raises(UsageFault, match="nothing is to be launched"):
        run_benchmarks(root, ["counting"], launches=["engine"])


def test_a_port_that_somebody_listens_on_is_refused() -> None:
    """It would be the other's figures that are measured."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageFault, match=f"something listens on port {port} already"):
            bench(None, f"engine --port {port}")


@contextmanager
def gamekit_with(root: Path, command: str) -> Iterator[subprocess.Popen[str]]:
    """``gamekit bench --append`` on so many requests that it will not end by itself."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gamekit", "bench", "serving_decode", "--append"),
            *("--launch", command, "--set", "requests=100000", "--set", "max_tokens=5"),
        ],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "case 1 of 1 begins" not in process.stderr.readline():
        assert process.poll() is None
    try:
        wait_for(lambda: sampled(root))
        yield process
    finally:
        process.kill()
        process.communicate()


def with_grandchild(folder: Path, mark: str) -> str:
    """An engine that leaves a process behind in a session of its own, both with ``mark``."""
    return f"{script(folder, WITH_GRANDCHILD + SCRIPTED)} --port {{port}} --api-key {mark}"


def sampled(root: Path) -> bool:
    spools = list((root / SPOOL_FOLDER).glob("*.jsonl"))
    return any('"sample"' in path.read_text(encoding="utf-8") for path in spools)


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_call_leaves_no_engine(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C and SIGTERM record the run as interrupted and end the engine with its grandchild."""
    mark = f"mark-{tmp_path.name}-{number}"
    with gamekit_with(root, with_grandchild(tmp_path, mark)) as process:
        assert len(alive(mark)) == 3  # gamekit, the engine, its grandchild
        process.send_signal(number)
        process.communicate(timeout=120)
    assert alive(mark) == []
    (run,) = load(root).runs.values()
    assert run.outcome == "interrupted"
    assert run.launch is not None


def test_ctrl_c_while_an_engine_starts_is_recorded_and_ends_it(root: Path, tmp_path: Path) -> None:
    """A start is long: its run is interrupted, and the engine is gone."""
    mark = f"mark-{tmp_path.name}"
    with subprocess.Popen(
        [sys.executable, "-m", "gamekit", "bench", "serving_decode", "--append", "--launch",
         f"{script(tmp_path, NEVER_READY)} {mark}"],
        cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_for(lambda: len(alive(mark)) == 2)
        process.send_signal(signal.SIGINT)
    assert alive(mark) == []
    (run,) = load(root).runs.values()
    assert run.outcome == "interrupted"
    assert run.reason == "interrupted by Ctrl-C while the engines were starting"


def test_a_killed_call_leaves_no_engine_and_the_next_records_it(root: Path, tmp_path: Path) -> None:
    """kill -9 of gamekit ends the engine with its grandchild; the next --append says it failed."""
    mark = f"mark-{tmp_path.name}-kill"
    with gamekit_with(root, with_grandchild(tmp_path, mark)) as process:
        assert len(alive(mark)) == 3
        process.kill()
    wait_for(lambda: alive(mark) == [])
    killed, own = run_benchmarks(root, ["counting"], append=True)
    assert (killed.recovered, run_of(killed).outcome) == (True, "failed")
    assert run_of(killed).environment.start is not None
    launch = run_of(killed).launch
    assert launch is not None
    assert mark not in launch.command
    assert "start_up_s" in run_of(killed).facts
    assert run_of(own).outcome == "done"


def test_the_command_says_what_the_engine_said(root: Path, tmp_path: Path) -> None:
    """A start that fails is exit 6; its last lines are shown, the last error is on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "gamekit", "bench", "serving_decode", "--launch",
         script(tmp_path, DIES)],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6
    assert "    loading the weights\n" in done.stdout
    assert "its log says: RuntimeError: no such checkpoint" in done.stderr


def test_a_schema_has_the_launch() -> None:
    """A run file's launch is part of the schema that editors read."""
    assert "start_up_s" in json_schema()
