"""A group of ranks that fails: however it does so, gamekit says why and nothing of it is left.

The ranks here are a script that speaks as they do, in place of torchrun and torch, so that each way
to fail can be had at once. The real ones are tested beside the engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gamekit.collective.group import GroupFailed, Place, RankGroup, last_words, probe
from gamekit.collective.pool import GroupKey, GroupPool
from gamekit.collective.rounds import Job, WrongValues, take_rounds
from gamekit.errors import BenchmarkFailed

# Started as `python -m torch.distributed.run ... worker.py --socket PATH --backend gloo`. A child
# of it sleeps, as a rank that hangs does.
RANKS = """
import json, os, socket, subprocess, sys, time
how = {how!r}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(os.environ["PIDS"], "a").write(f"{{os.getpid()}} {{child.pid}} ")
print("the ranks begin")
if how == "exits":
    print("Traceback: torch has no such thing"); sys.exit(3)
if how == "never connects":
    time.sleep(600)
one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[sys.argv.index("--socket") + 1])
file = one.makefile("rwb")
def tell(**event):
    file.write(json.dumps(event).encode() + b"\\n"); file.flush()
if how == "garbage":
    file.write(b"hello\\n"); file.flush(); time.sleep(600)
tell(about={{"torch": "none", "quiet": True}}, size=2, rank=0)
number = 0
for line in file:
    command = json.loads(line)
    if command["do"] == "end":
        child.kill(); sys.exit()
    if command["do"] == "sample":
        number += 1
        if how == "hangs": time.sleep(600)
        if how == "dies": print("about to die"); os.kill(os.getpid(), 9)
        if how == "errors": tell(error="RuntimeError: no", rank=1); sys.exit(1)
    wrong = 4 if how == "sums wrongly" and number == 2 else 0
    tell(ranks=[{{"latency_us": 10.0 + number, "wrong": 0}}, {{"latency_us": 5.0, "wrong": wrong}}])
"""
JOB = Job(8192, "bfloat16", "eager", iterations=20, warmup=3)


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "pids"
    monkeypatch.setenv("PIDS", str(path))
    return path


def interpreter(folder: Path, how: str) -> str:
    """A program in place of an interpreter with torch, whose ranks behave as ``how`` says."""
    path = folder / f"python-{how.replace(' ', '-')}"
    path.write_text(f"#!{sys.executable}\n{RANKS.format(how=how)}")
    path.chmod(0o755)
    return str(path)


def group(folder: Path, how: str, *, timeout_s: float = 60.0, ready_s: float = 60.0) -> RankGroup:
    return RankGroup(Place(2), "gloo", {}, interpreter(folder, how), timeout_s, ready_s)


def left_of(path: Path, within_s: float = 20.0) -> list[int]:
    """The processes of a group that are still there, and no zombies."""
    deadline = time.monotonic() + within_s
    alive = [int(one) for one in path.read_text().split()]
    assert alive
    while alive and time.monotonic() < deadline:
        alive = [pid for pid in alive if is_alive(pid)]
        time.sleep(0.02)
    return alive


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_the_slowest_rank_counts_and_all_end(tmp_path: Path, pids: Path) -> None:
    """A sample is the time of the slowest rank; a group that is left ends with its children."""
    with group(tmp_path, "works") as one:
        assert one.about["torch"] == "none"
        rounds = take_rounds(one, None, JOB, 3)
    assert [round_.latency_us for round_ in rounds] == [11.0, 12.0, 13.0]
    assert left_of(pids) == []


def test_a_control_is_sampled_in_turns(tmp_path: Path, pids: Path) -> None:
    """Each round has a sample of both."""
    with group(tmp_path, "works") as one, group(tmp_path, "works") as control:
        rounds = take_rounds(one, control, JOB, 4)
    assert [one.control_us for one in rounds] == [11.0, 12.0, 13.0, 14.0]
    assert left_of(pids) == []


def test_wrong_values_give_no_rounds(tmp_path: Path, pids: Path) -> None:
    """One sample whose values are wrong takes all of them away, and says whose it was."""
    with (
        group(tmp_path, "works") as one,
        group(tmp_path, "sums wrongly") as control,
        pytest.raises(WrongValues, match="4 values of the control came back wrong"),
    ):
        take_rounds(one, control, JOB, 5)
    assert left_of(pids) == []


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("hangs", "did not answer within 0.5 s"),
        ("dies", r"ended by themselves \(killed by signal 9\).*about to die"),
        ("errors", "rank 1 failed: RuntimeError: no"),
    ],
)
def test_ranks_that_fail_at_work_are_ended_and_told(
    tmp_path: Path, pids: Path, how: str, why: str
) -> None:
    """Within the time-out, with what the ranks' log says last."""
    with group(tmp_path, how, timeout_s=0.5 if how == "hangs" else 60.0) as one:
        with pytest.raises(GroupFailed, match=why) as failed:
            take_rounds(one, None, JOB, 3)
        assert left_of(pids) == []
        assert not one.alive
        with pytest.raises(GroupFailed, match="has ended"):
            one.sample()
    assert failed.value.lines[0] == "the ranks begin"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("exits", "exit code 3.*torch has no such thing"),
        ("never connects", "not ready within 1 s"),
        ("garbage", "cannot be read"),
    ],
)
def test_ranks_that_do_not_start_are_ended_and_told(
    tmp_path: Path, pids: Path, how: str, why: str
) -> None:
    """Whatever keeps a group from starting is a failure with its reason."""
    ready_s = 1.0 if how == "never connects" else 60.0
    with pytest.raises(GroupFailed, match=why), group(tmp_path, how, ready_s=ready_s):
        pass
    assert left_of(pids) == []


def test_a_killed_gamekit_leaves_no_ranks(tmp_path: Path, pids: Path) -> None:
    """kill -9 of the process that started them ends the ranks and their children."""
    path = interpreter(tmp_path, "works")
    program = (
        "import time; from gamekit.collective.group import *\n"
        f"with RankGroup(Place(2), 'gloo', {{}}, {path!r}, 60.0, 60.0):\n"
        "    print('ready', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGKILL)
    assert left_of(pids) == []


def test_the_pool_starts_each_group_once_and_ends_it_when_it_is_done(
    tmp_path: Path, pids: Path
) -> None:
    """A group that failed fails again at once; what is not needed any more is ended."""
    keys = [
        GroupKey(Place(1), "gloo", "none", interpreter(tmp_path, how), 60.0, 60.0)
        for how in ("works", "exits")
    ]
    with GroupPool() as pool:
        pool.plan(keys)
        pool.begin(keys[:1])
        first = pool.get(keys[0])
        assert pool.get(keys[0]) is first
        for _ in range(2):
            with pytest.raises(GroupFailed, match="exit code 3"):
                pool.get(keys[1])
        pool.keep_only([keys[1]])
        assert not first.alive
        assert left_of(pids) == []
        assert len(pids.read_text().split()) == 4


def test_several_hosts_meet_where_they_are_told() -> None:
    """Each group of a call has a port of its own; one host meets by its own loopback."""
    assert "--standalone" in Place(8).arguments(0)
    place = Place(8, nodes=2, node=1, address="host-0", port=29500)
    assert place.size == 16
    said = place.arguments(3)
    assert said[said.index("--master-addr") + 1 :][:3] == ["host-0", "--master-port", "29503"]
    assert said[said.index("--node-rank") + 1] == "1"


def test_an_interpreter_without_torch_is_told() -> None:
    """What it said last is in the reason."""
    with pytest.raises(BenchmarkFailed, match=r"torch cannot be used in .*No module named 'torch'"):
        probe(sys.executable, 60.0)


def test_rulers_of_a_log_are_no_last_words() -> None:
    """torchrun frames what it says."""
    assert last_words(["a", "=====", "", "b", "-----"]) == ["a", "b"]
