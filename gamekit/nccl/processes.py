"""What the environments of a running process and those below it say about the values.

``/proc/PID/environ`` is what a process was started with. What Python set in itself later, as
sitecustomize does, is not there; its children were started with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gamekit.errors import MachineRefused, UsageFault

PROC = Path("/proc")
State = Literal["set", "different", "absent", "overwritten", "unreadable"]


@dataclass(frozen=True)
class Started:
    """One process: its name, its parent, and what it was started with.

    ``overwritten``: it shows another title, and wrote that over its environment, as sglang's
    schedulers do through setproctitle (unless SPT_NOENV is set).
    """

    pid: int
    parent: int
    name: str
    is_python: bool
    state: State
    different: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """The process that was asked for, those below it, and the answer: None is undecided."""

    processes: tuple[Started, ...]
    reached: bool | None
    why: str


def engine(pid: int, values: Mapping[str, str]) -> Engine:
    """Whether the values reach process ``pid`` and those that it starts.

    Raises ``UsageFault`` when there is no such process, ``MachineRefused`` when none of the
    environments may be read.
    """
    parents = _parents()
    if pid not in parents:
        raise UsageFault(f"there is no process {pid}", mend="give the engine's process id")
    family = [pid]
    for one in family:
        family += sorted(child for child, parent in parents.items() if parent == one)
    seen = [_started(one, parents[one], values) for one in family]
    found = [process for process in seen if process is not None]
    if not found:
        raise UsageFault(f"process {pid} has just ended", mend="give the engine's process id")
    if all(process.state == "unreadable" for process in found):
        raise MachineRefused(
            f"the environment of process {pid} may not be read",
            mend="run as the user that it belongs to",
        )
    reached, why = _judged(found)
    return Engine(tuple(found), reached, why)


def _parents() -> dict[int, int]:
    parents = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError, ValueError):  # it has just ended
                # The name in brackets may hold anything.
                status = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                parents[int(folder.name)] = int(status[1])
    return parents


def _started(pid: int, parent: int, values: Mapping[str, str]) -> Started | None:
    folder = PROC / str(pid)
    try:
        name = (folder / "comm").read_text("utf-8", "replace").rstrip("\n")
    except OSError:
        return None
    is_python = False
    with suppress(OSError):
        is_python = (folder / "exe").readlink().name.startswith("python")
    try:
        content = (folder / "environ").read_bytes()
    except PermissionError:
        return Started(pid, parent, name, is_python, "unreadable")
    except OSError:
        return None
    entries = [entry.partition(b"=") for entry in content.split(b"\0") if b"=" in entry]
    there = {os.fsdecode(key): os.fsdecode(value) for key, _, value in entries}
    if not there:
        return Started(pid, parent, name, is_python, "overwritten")
    different = {n: there[n] for n, v in values.items() if n in there and there[n] != v}
    state: State = "absent"
    if different:
        state = "different"
    elif all(name in there for name in values):
        state = "set"
    return Started(pid, parent, name, is_python, state, different)


def _judged(found: list[Started]) -> tuple[bool | None, str]:
    """The answer: another value wins, then one that shows, then a child that should show it."""
    for process in found:
        if process.different:
            told = ", ".join(f"{name}={value}" for name, value in process.different.items())
            return False, f"process {process.pid} ({process.name}) was started with {told}"
    carrying = [process for process in found if process.state == "set"]
    if carrying:
        first = carrying[0]
        return True, f"process {first.pid} ({first.name}) was started with all of them"
    pythons = {process.pid for process in found if process.is_python}
    for process in found[1:]:
        if process.state == "absent" and process.parent in pythons:
            parent = f"its parent, the Python process {process.parent}"
            return False, f"process {process.pid} ({process.name}) has none from {parent}"
    if any(process.state == "overwritten" for process in found):
        return None, (
            "its title was written over the environment: start it with SPT_NOENV=1, "
            "or with NCCL_DEBUG=INFO and read its log"
        )
    return None, (
        "what Python sets in itself after its start shows only in its children, and none was "
        "started yet: ask again when the engine is up"
    )
