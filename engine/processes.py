"""Which processes run below another one, for the tests that nothing may be left of."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

Process = tuple[int, str]


def stat(pid: int) -> list[str]:
    """The fields of a process behind its name: its state, its parent, its start, and more."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def is_alive(process: Process) -> bool:
    """Whether it runs still, and not another one that got its number."""
    now = stat(process[0])
    return bool(now) and now[0] != "Z" and now[19] == process[1]


def all_below(pid: int) -> list[Process]:
    """The processes below ``pid``, parents first."""
    every = {int(one.name): stat(int(one.name)) for one in Path("/proc").glob("[0-9]*")}
    found = [pid]
    for parent in found:
        found += [one for one, now in every.items() if now and int(now[1]) == parent]
    return [(one, every[one][19]) for one in found[1:]]


def left_of(processes: list[Process], within_s: float = 60.0) -> list[Process]:
    """Those that are alive after that time at most."""
    deadline = time.monotonic() + within_s
    while left := [one for one in processes if is_alive(one)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return left
