"""gamekit and the real sglang: started, measured, killed and interrupted, as `make engine-test`.

An engine takes half a minute to start on two idle cores, and longer on busy ones: each start here
serves as many tests as it can, and only one runs at a time.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from processes import Process, all_below, left_of

from gamekit.findings import Case, Measurement, Run
from gamekit.store.load import Base, load
from gamekit.store.spool import SPOOL_FOLDER

REPOSITORY = Path(__file__).resolve().parent.parent
ENGINE = shlex.join(
    [str(REPOSITORY / ".venv/engine/bin/python"), str(REPOSITORY / "engine/serve.py")]
)
# A start and what is measured, on a machine with much else to do.
LONGEST_S = 900.0
TOKENS = 9
# Far more than this model gives on any CPU, and far less than what the engine tells of a request
# that does not stream.
MOST_PER_S = 2000.0


def is_free(port: int) -> bool:
    """Whether an engine could listen there."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            one.bind(("127.0.0.1", port))
            return True
    return False


class Bench:
    """``gamekit bench --launch … --append`` in a session of its own, as a terminal starts it."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self._root = root
        self._said = root / "said.txt"
        with self._said.open("wb") as said:
            options = ["--launch", ENGINE, "--append"]
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gamekit", "bench", *arguments, *options],
                cwd=root,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    @property
    def url(self) -> str:
        """Where the engine answers that was started last."""
        return re.findall(r"(http://\S+) is ready", self.said)[-1]

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it has said so."""
        self._wait(lambda: self.said.count(text) >= times, text)

    def wait_for_sample(self) -> None:
        """Wait until a sample of the run that goes on is on disk."""
        folder = self._root / SPOOL_FOLDER
        self._wait(
            lambda: any('"sample"' in one.read_text() for one in folder.glob("*.jsonl")), "sample"
        )

    def processes(self) -> list[Process]:
        """All that it started: the keeper, the engine's own processes."""
        return all_below(self.process.pid)

    def engine(self) -> int:
        """The process id of the engine itself, which the keeper started."""
        (keeper,) = (pid for pid, _ in self.processes() if b"keeper.py" in command_of(pid))
        return next(pid for pid, _ in all_below(keeper))

    def ends(self) -> int:
        """Its exit code, when it has ended."""
        return self.process.wait(LONGEST_S)

    def _wait(self, until: Any, what: str) -> None:
        deadline = time.monotonic() + LONGEST_S
        while not until():
            assert self.process.poll() is None, f"ended before {what}:\n{self.said}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.said}"
            time.sleep(0.1)


def command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextmanager
def bench(root: Path, *arguments: str) -> Iterator[Bench]:
    """It is there no longer behind the block, whatever a test found."""
    one = Bench(root, *arguments)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(120)


def new_base(folder: Path) -> Path:
    root = folder / "kb"
    subprocess.run([sys.executable, "-m", "gamekit", "init", str(root)], check=True)
    return root


def settings(**values: Any) -> list[str]:
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def numbers(values: list[Any]) -> list[float]:
    return [one for one in values if one is not None]


@dataclass
class Told:
    """What became of one call of gamekit."""

    base: Base
    code: int
    said: str
    processes: list[Process]
    url: str

    def run(self, benchmark: str, outcome: str) -> Run:
        (found,) = (
            one
            for one in self.base.runs.values()
            if (one.benchmark, one.outcome) == (benchmark, outcome)
        )
        return found


@pytest.fixture(scope="module")
def killed_engine(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Both routes are measured at a first start; at the second the engine is killed."""
    root = new_base(tmp_path_factory.mktemp("starts"))
    values = settings(api="sglang,openai", requests=3, max_tokens=TOKENS, starts=2)
    with bench(root, "serving_decode", *values) as run:
        begins = "serving_decode: case 1 of 2 begins (api=sglang)"
        run.wait_for(begins)
        processes, url = run.processes(), run.url
        run.wait_for(begins, times=2)
        assert left_of(processes, 0) == []
        processes += run.processes()
        os.kill(run.engine(), signal.SIGKILL)
        return Told(load_after(run, root), run.ends(), run.said, processes, url)


def load_after(run: Bench, root: Path) -> Base:
    run.ends()
    return load(root)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A load is measured to its end; Ctrl-C comes in the benchmark behind it."""
    root = new_base(tmp_path_factory.mktemp("interrupted"))
    values = settings(concurrency=2, requests=6, repeats=2, max_tokens=TOKENS)
    with bench(root, "serving_load", "serving_decode", *values) as run:
        run.wait_for("serving_decode: case 1 of 1 begins")
        processes, url = run.processes(), run.url
        run.wait_for_sample()
        os.killpg(run.process.pid, signal.SIGINT)
        return Told(load_after(run, root), run.ends(), run.said, processes, url)


@dataclass
class Killed(Told):
    """A run whose gamekit was killed, and what the engine said of a request that did not stream."""

    recorded_before: int
    not_streamed: dict[str, Any]


@pytest.fixture(scope="module")
def killed_gamekit(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """gamekit itself is killed in mid-run; then something else is measured."""
    root = new_base(tmp_path_factory.mktemp("killed"))
    with bench(root, "serving_decode", *settings(requests=500, max_tokens=TOKENS)) as run:
        run.wait_for_sample()
        processes, url, said = run.processes(), run.url, run.said
        asked = {"text": "Snow fell", "sampling_params": {"max_new_tokens": 2, "temperature": 0}}
        request = urllib.request.Request(  # noqa: S310 - the engine that was just started
            f"{url}/generate", json.dumps(asked).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=LONGEST_S) as reply:  # noqa: S310 - likewise
            not_streamed = json.load(reply)["meta_info"]
        run.process.kill()
        code = run.ends()
    left_of(processes)
    before = len(load(root).runs)
    quick = settings(repeats=2, chunks=20)
    subprocess.run(
        [sys.executable, "-m", "gamekit", "bench", "client_floor", *quick, "--append"],
        cwd=root,
        check=True,
    )
    return Killed(load(root), code, said, processes, url, before, not_streamed)


def agree(samples: dict[str, list[Any]]) -> None:
    """Rates, times and counts of a stream are those of one stream."""
    columns = (samples[name] for name in COLUMNS)
    for tokens, first, ttft, last, rate, each, whole in zip(*columns, strict=True):
        assert tokens == TOKENS
        assert 0 < ttft < last
        assert rate == pytest.approx((tokens - first) / (last - ttft) * 1000)
        assert each == pytest.approx(1000 / rate)
        assert whole == pytest.approx(tokens / last * 1000)
        assert rate < MOST_PER_S


COLUMNS = (
    "output_tokens",
    "first_chunk_tokens",
    "ttft",
    "last_token_ms",
    "decode_rate",
    "time_per_output_token",
    "end_to_end_rate",
)


def test_both_routes_of_a_real_engine_are_measured(killed_engine: Told) -> None:
    """As many tokens come as were asked for, and the figures of each request fit each other."""
    run = killed_engine.run("serving_decode", "done")
    assert [case.parameters["api"] for case in run.cases] == ["sglang", "openai"]
    for case in run.cases:
        agree(case.samples)
        assert case.samples["finish_reason"] == ["length"] * 3
        assert case.warnings == []
    took = datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)
    streamed_ms = sum(sum(case.samples["last_token_ms"]) for case in run.cases)
    assert 0 < streamed_ms / 1000 < took.total_seconds()


def test_a_real_engine_is_known_for_what_it_is(killed_engine: Told) -> None:
    """Name, version, model, memory and what runs without a graph are told by the engine itself."""
    run = killed_engine.run("serving_decode", "done")
    assert run.engine is not None
    assert (run.engine.name, run.engine.version) == ("sglang", "0.5.15")
    assert not run.engine.stand_in
    assert run.facts["graphs"] == {"decode": "eager"}
    memory = run.facts["memory_gib"]
    assert isinstance(memory, dict)
    # 4096 tokens, of 30 layers with 3 heads of 64 keys and as many values, of four bytes. What it
    # tells of its weights is by how much the machine's free memory fell, whoever took it.
    assert memory["kv_cache"] == pytest.approx(4096 * 30 * 3 * 64 * 2 * 4 / 2**30, abs=0.01)
    assert run.environment.variables["SGLANG_USE_CPU_ENGINE"] == "1"
    for case in run.cases:
        subject = case.subject
        assert (subject.target, subject.weights) == ("SmolLM2-135M-Instruct", "real")
        assert (subject.speculation, subject.cuda_graphs) == ("none", "eager")


def test_figures_of_a_real_engine_are_findings(killed_engine: Told) -> None:
    """Each headline of each route is a measurement in a series, and none is called simulated."""
    run = killed_engine.run("serving_decode", "done")
    found = [
        one.finding
        for one in killed_engine.base.records.values()
        if isinstance(one.finding, Measurement) and one.run == run
    ]
    assert len(found) == 6
    assert len({one.series for one in found}) == 6
    assert "simulated" not in killed_engine.said


def test_the_log_of_a_real_engine_is_kept_with_its_counts(killed_engine: Told) -> None:
    """The lines of its work are there as it wrote them: nothing in them is a secret."""
    launch = killed_engine.run("serving_decode", "done").launch
    assert launch is not None
    log = "\n".join(launch.log)
    assert re.search(r"Prefill batch, .*#new-token: \d+, ", log)
    assert "The server is fired up and ready to roll!" in log
    assert "[redacted]" not in log


def test_a_real_engine_ends_with_all_its_processes(killed_engine: Told) -> None:
    """Scheduler and detokenizer end with it, at its normal end as when it is killed."""
    assert len(killed_engine.processes) >= 8  # of two starts: a keeper, and three of the engine
    assert left_of(killed_engine.processes) == []
    assert is_free(int(killed_engine.url.rpartition(":")[2]))


def test_an_engine_that_is_killed_gives_a_failed_run(killed_engine: Told) -> None:
    """The run says how its engine ended, with the end of its log; the command says so too."""
    run = killed_engine.run("serving_decode", "failed")
    assert run.reason is not None
    assert "killed by signal 9" in run.reason
    assert "its log says: " in run.reason
    assert run.launch is not None
    assert any("POST /generate" in line or "Prefill batch" in line for line in run.launch.log[-20:])
    assert killed_engine.code == 6
    assert "killed by signal 9" in " ".join(killed_engine.said.split())


def test_each_start_of_a_real_engine_is_its_own(killed_engine: Told) -> None:
    """``starts=2`` gives two runs that differ in the start of their environment."""
    runs = killed_engine.base.runs.values()
    assert len({one.environment.start for one in runs}) == len(runs) == 2


def test_a_load_on_a_real_engine_is_measured(interrupted: Told) -> None:
    """Two requests are in flight, all of them answer, and the rates are those of what they sent."""
    run = interrupted.run("serving_load", "done")
    (case,) = run.cases
    requests, repetitions = parts(case, "request"), parts(case, None)
    assert len(requests) == 12
    assert {one["output_tokens"] for one in requests} == {TOKENS}
    assert len(repetitions) == 2
    for number, one in enumerate(repetitions, start=1):
        own = [request for request in requests if request["repetition"] == number]
        whole_ms = max(each["ended_ms"] for each in own) - min(each["sent_ms"] for each in own)
        assert 1 < one["in_flight"] <= 2
        # The steady state is what is left without ramp and drain, when fewer are in flight.
        assert 0 < one["steady_s"] * 1000 <= whole_ms
        assert TOKENS * len(own) / whole_ms * 500 < one["output_throughput"] < MOST_PER_S
        assert one["output_throughput"] / TOKENS == pytest.approx(one["request_rate"], rel=0.5)


def parts(case: Case, part: str | None) -> list[dict[str, Any]]:
    """The samples of that kind, each as what it has; None are those that count."""
    columns = case.samples
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return [one for one in rows if one["part"] == part]


def test_ctrl_c_ends_a_real_engine_and_is_recorded(interrupted: Told) -> None:
    """The run says that it was interrupted and keeps its samples; no process is left."""
    run = interrupted.run("serving_decode", "interrupted")
    assert run.reason == "interrupted by Ctrl-C"
    requests = parts(run.cases[0], "request")
    assert len(requests) >= 2
    agree({name: [one[name] for one in requests] for name in COLUMNS})
    assert run.launch is not None
    assert len(interrupted.processes) >= 4
    assert left_of(interrupted.processes) == []
    assert is_free(int(interrupted.url.rpartition(":")[2]))


def test_a_killed_gamekit_leaves_no_engine(killed_gamekit: Killed) -> None:
    """kill -9 of gamekit ends the engine with all its processes, and writes nothing."""
    assert killed_gamekit.code == -signal.SIGKILL
    assert len(killed_gamekit.processes) >= 4
    assert left_of(killed_gamekit.processes) == []
    assert is_free(int(killed_gamekit.url.rpartition(":")[2]))
    assert killed_gamekit.recorded_before == 0


def test_a_killed_run_of_a_real_engine_is_recorded_later(killed_gamekit: Killed) -> None:
    """The next --append records it as failed, with its samples and its start."""
    run = killed_gamekit.run("serving_decode", "failed")
    assert run.cases[0].samples["decode_rate"]
    assert run.launch is not None
    assert "engine/serve.py" in run.launch.command
    assert run.environment.start is not None
    assert killed_gamekit.run("client_floor", "done")


def test_a_rate_that_cannot_be_is_never_shown(killed_gamekit: Killed, interrupted: Told) -> None:
    """This release tells a nonsense rate of a request that does not stream; no run has it."""
    assert killed_gamekit.not_streamed["decode_throughput"] > 10_000
    for told in (killed_gamekit, interrupted):
        for run in told.base.runs.values():
            assert "decode_throughput" not in run.model_dump_json()
            for case in run.cases:
                for name in RATES & case.samples.keys():
                    assert max(numbers(case.samples[name]), default=0) < MOST_PER_S


RATES = {"decode_rate", "end_to_end_rate", "output_throughput"}
