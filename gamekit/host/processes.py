"""Processes of others by their id: what they started, their variables, the files they have mapped.

Of a process of another user the kernel tells none of it; one that has ended and a thread of the
kernel have none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# In the flags of /proc/PID/stat (proc(5), field 9): PF_KTHREAD in the kernel's sched.h.
_KERNEL_THREAD = 0x00200000


def with_those_below(pid: int) -> list[int]:
    """``pid`` and the processes below it, parents before children."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError, IndexError):
                status = (process / "stat").read_bytes().rpartition(b")")[2].split()
                children.setdefault(int(status[1]), []).append(int(process.name))
    found = [pid]
    for one in found:
        found += sorted(children.get(one, []))
    return found


def variables(pid: int) -> dict[str, str]:
    """The environment of ``pid`` and those below it, as each was started with it.

    Where they differ, the process that was started last counts: what an engine sets itself reaches
    those that it starts.
    """
    found: dict[str, str] = {}
    for one in with_those_below(pid):
        with suppress(OSError):
            raw = Path(f"/proc/{one}/environ").read_bytes()
            pairs = (item.partition(b"=") for item in raw.split(b"\0") if b"=" in item)
            found.update((os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs)
    return found


def mapped_files(pid: int) -> dict[str, Path]:
    """The files that ``pid`` and those below it have mapped, each with where it can be read here.

    A process in a container has a root of its own, through which its files are read.
    """
    found: dict[str, Path] = {}
    for one in with_those_below(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{one}/maps").read_text(errors="replace").splitlines():
                _, _, name = line.partition(" /")
                if name and not name.endswith(" (deleted)"):
                    found.setdefault(f"/{name}", Path(f"/proc/{one}/root/{name}"))
    return found


def no_memory(pid: int) -> str | None:
    """Why ``pid`` has nothing mapped that anybody could read; None where it may have."""
    with suppress(OSError):
        why = no_memory_by(Path(f"/proc/{pid}/stat").read_bytes())
        return None if why is None else f"process {pid} {why}"
    return None


def no_memory_by(stat: bytes) -> str | None:
    """What the contents of ``/proc/PID/stat`` say of why a process has no memory, if they do."""
    fields = stat.rpartition(b")")[2].split()
    if fields[:1] and fields[0] in b"ZX":
        return "has ended, and waits for its parent to take note of it"
    if len(fields) > 6 and int(fields[6]) & _KERNEL_THREAD:
        return "is a thread of the kernel, which has no memory of its own"
    return None
