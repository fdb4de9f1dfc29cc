"""`gamekit bench nccl_allreduce` on the CPU, by gloo: measured, killed, hung and interrupted.

The ranks run in the engine's interpreter, which has torch. A group takes some ten seconds to start
on two cores, so one call here serves as many tests as it can.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from processes import Process, all_below, left_of

from gamekit.findings import Measurement, Run
from gamekit.store.load import Base, load

REPOSITORY = Path(__file__).resolve().parent.parent
PYTHON = REPOSITORY / ".venv/engine/bin/python"
LONGEST_S = 300.0


def is_rank(pid: int) -> bool:
    """Whether it is one of the processes that sum, and not torchrun above them."""
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"worker.py" in command and b"torch.distributed.run" not in command
    return False


def environ(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


class Bench:
    """`gamekit bench nccl_allreduce … --append` in a session of its own, as a terminal does it."""

    def __init__(self, root: Path, *settings: str) -> None:
        self._said = root / "said.txt"
        self.root = root
        words = [word for one in (f"python={PYTHON}", *settings) for word in ("--set", one)]
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gamekit", "bench", "nccl_allreduce", *words, "--append"],
                cwd=root,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def processes(self) -> list[Process]:
        return all_below(self.process.pid)

    def ranks_of(self, variable: bytes) -> list[int]:
        """The two ranks that were started with that variable."""
        while True:
            assert self.process.poll() is None, self.said
            ranks = [pid for pid, _ in self.processes() if is_rank(pid)]
            if len(found := [pid for pid in ranks if variable in environ(pid)]) == 2:
                return found
            time.sleep(0.05)

    def wait_for(self, text: str) -> None:
        """Wait until it has said so."""
        while text not in self.said:
            assert self.process.poll() is None, self.said
            time.sleep(0.05)

    def ends(self) -> int:
        return self.process.wait(LONGEST_S)


@contextmanager
def bench(root: Path, *settings: str) -> Iterator[Bench]:
    one = Bench(root, *settings)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(120)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    subprocess.run([sys.executable, "-m", "gamekit", "init", str(folder)], check=True)
    return folder


def the_run(base: Base) -> Run:
    (run,) = base.runs.values()
    return run


LOOPBACK = "GLOO_SOCKET_IFNAME=lo"
GLOO = ("ranks=2", "backend=gloo")


def test_gloo_is_measured_and_labelled(root: Path) -> None:
    """Two ranks sum and are verified; each figure says that it is gloo's, and graphs need a GPU."""
    with bench(root, *GLOO, "bytes=8192", "repeats=5", "iterations=5") as call:
        assert call.ends() == 0, call.said
    base = load(root)
    measured = [
        one.finding for one in base.records.values() if isinstance(one.finding, Measurement)
    ]
    (graphed,) = [one for one in measured if one.subject.parameters["mode"] == "graph"]
    assert "need a GPU" in (graphed.value.unknown or "")
    figures = [one for one in measured if one is not graphed]
    assert len(figures) == 3
    for one in figures:
        assert len(one.value.samples or []) == 5
        assert one.subject.parameters == {
            "bytes": 8192,
            "mode": "eager",
            "ranks": 2,
            "backend": "gloo",
        }
    run = the_run(base)
    assert all("gloo" in " ".join(case.warnings) for case in run.cases)
    assert run.cases[0].facts["ranks_run"]["device"] == "CPU"
    # The packages are those of the ranks' interpreter, and not of gamekit's own.
    assert run.environment.packages["torch"] == run.cases[0].facts["ranks_run"]["torch"]
    samples = run.cases[0].samples
    assert samples["bus_bandwidth"] == samples["algorithm_bandwidth"]  # of two ranks


def test_a_killed_and_a_hung_rank_end_their_groups(root: Path) -> None:
    """A group whose rank is killed leaves its setting without a figure; when a rank of the control
    hangs, all end at the time-out. What was sampled is kept, and no process.
    """
    # The second message takes seconds, so that there is time to stop a rank meanwhile.
    much = ("bytes=8192,8388608", "mode=eager", f"setting=none,{LOOPBACK}")
    with bench(root, *GLOO, *much, "repeats=20", "warmup=0", "timeout=4") as call:
        call.wait_for("case 1 of 4 begins")
        control = call.ranks_of(b"")
        call.wait_for("case 2 of 4 begins")
        other = call.ranks_of(LOOPBACK.encode())
        processes = call.processes()
        os.kill(other[0], signal.SIGKILL)
        call.wait_for("case 3 of 4 begins")
        os.kill(control[1], signal.SIGSTOP)
        assert call.ends() == 6, call.said
    assert left_of(processes) == []
    run = the_run(load(root))
    assert run.outcome == "failed"
    assert "did not answer within 4 s, and all were ended" in (run.reason or "")
    first, killed, *_ = run.cases
    assert len(first.samples["allreduce_latency"]) == 20
    assert not killed.samples
    assert "SIGKILL" in " ".join(killed.facts["last_lines_of_the_ranks"])
