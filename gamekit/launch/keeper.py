"""The keeper: a process that starts one engine, and ends it and all that it started.

It is run as a file of its own and imports nothing of gamekit, so that it is there at once. The
process that started it holds the other end of its standard input: when that closes, because the
engine is to end or because its owner was killed, all descendants of the keeper are ended. It is
their subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): whatever the engine starts stays below it, in
whatever session it runs and however its own parents end.

In: one line of JSON: ``arguments``, ``environment``, ``grace_s``, ``output`` (a file descriptor).
Out: one line of JSON an event: ``started`` (pid) or ``refused`` (why), ``exited`` (code, as
``subprocess`` gives it), ``ended`` (left: process ids that could not be ended).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# How long a process that was sent SIGKILL may hang in the kernel, such as in a GPU's driver.
_LONGEST_KILL_S = 30.0


def main() -> None:
    """Start the engine that standard input tells of; return when nothing of it is left."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        # Whoever wants the engine to end closes the pipe: a signal to this process alone would
        # leave the engine without its keeper.
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wakes, woken = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with open(0, "rb", buffering=0, closefd=False) as told:
        line = told.readline()
    if not line:
        return
    job = json.loads(line)
    try:
        engine = subprocess.Popen(  # noqa: S603 - what the user asked to be launched
            job["arguments"],
            env=job["environment"],
            stdin=subprocess.DEVNULL,
            stdout=job["output"],
            stderr=job["output"],
            start_new_session=True,
            preexec_fn=_begin,  # noqa: PLW1509 - this process has one thread
        )
    except OSError as error:
        _tell(event="refused", why=f"{error.strerror}: {error.filename}")
        return
    os.close(job["output"])
    _tell(event="started", pid=engine.pid)
    code = _watch(engine.pid, wakes)
    if code is not None:
        _tell(event="exited", code=code)
    _tell(event="ended", left=_end_all(job["grace_s"], engine.pid if code is None else None))


def _begin() -> None:
    """In the engine's process, before its program: it does not outlive the keeper."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _watch(engine: int, wakes: int) -> int | None:
    """Wait until the engine ends by itself, giving its code, or is to be ended: None."""
    ends = [sys.stdin.fileno()]
    with suppress(OSError):  # a kernel without it
        # Somebody forked by the owner may hold the pipe open when the owner is killed.
        ends.append(os.pidfd_open(os.getppid()))
    while True:
        readable, _, _ = select.select([*ends, wakes], [], [])
        with suppress(BlockingIOError):
            os.read(wakes, 4096)
        code = _reap(engine)
        if code is not None:
            return code
        if any(one in readable for one in ends):
            return None


def _reap(engine: int | None) -> int | None:
    """Take leave of every child that has ended; the engine's exit code if it is among them."""
    code = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == engine:
                code = os.waitstatus_to_exitcode(status)
    return code


def _end_all(grace_s: float, engine: int | None) -> list[int]:
    """SIGTERM to all descendants, SIGKILL to those that are left after ``grace_s``."""
    _send(signal.SIGTERM)
    if _all_gone(grace_s, engine):
        return []
    deadline = time.monotonic() + _LONGEST_KILL_S
    while time.monotonic() < deadline:
        _send(signal.SIGKILL)
        if _all_gone(0.05, engine):
            return []
    return [pid for pid, _ in _descendants()]


def _all_gone(within_s: float, engine: int | None) -> bool:
    """Whether no child is left in time. A descendant whose parent ends becomes a child."""
    deadline = time.monotonic() + within_s
    while True:
        code = _reap(engine)
        if code is not None:
            _tell(event="exited", code=code)
            engine = None
        try:
            # WNOWAIT: only ask whether there is one at all.
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)


def _send(number: signal.Signals) -> None:
    for pid, started in _descendants():
        # Its number may have been given to somebody else since it was listed.
        if _status(pid)[1] == started:
            with suppress(OSError):
                os.kill(pid, number)


def _descendants() -> list[tuple[int, str]]:
    """All processes below this one, each with when it started."""
    names = os.listdir("/proc")  # noqa: PTH208 - pathlib costs a third of the start
    statuses = {int(name): _status(int(name)) for name in names if name.isdigit()}
    below = {os.getpid()}
    found: list[tuple[int, str]] = []
    while True:
        more = [pid for pid, (parent, _) in statuses.items() if parent in below - {0}]
        more = [pid for pid in more if pid not in below]
        if not more:
            return found
        below.update(more)
        found += [(pid, statuses[pid][1]) for pid in more]


def _status(pid: int) -> tuple[int, str]:
    """The parent of a process and when it started, from ``/proc/PID/stat``; (0, "") for none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as above
            # The name in brackets may hold anything: what counts stands behind its last bracket.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, ""
    return (int(fields[1]), fields[19].decode()) if len(fields) > 19 else (0, "")


def _tell(**event: Any) -> None:
    with suppress(OSError):  # its owner was killed
        os.write(sys.stdout.fileno(), json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main()
