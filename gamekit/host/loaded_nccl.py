"""The version of NCCL that a process has loaded, which need not be the one that is installed."""

from __future__ import annotations

import mmap
import re
import sys
from pathlib import Path

from gamekit.host.asking import ask
from gamekit.host.processes import mapped_files, no_memory

_LIBRARY = re.compile(r"libnccl\.so(?:\.(\d+(?:\.\d+)*))?$")
# The library's own banner.
_BANNER = re.compile(rb"NCCL version (\d+\.\d+\.\d+)")
_TIMEOUT_S = 10.0
# In a process of its own: what a library does when it is loaded is not to happen here.
_ASK = """\
import ctypes, sys
version = ctypes.c_int()
library = ctypes.CDLL(sys.argv[1])
if library.ncclGetVersion(ctypes.byref(version)) == 0:
    print(version.value)
"""


def loaded_nccl(pid: int) -> tuple[str | None, str]:
    """The version of NCCL that ``pid``, or one below it, has loaded; else None, and why.

    The library itself is asked, else its banner is read, else the name of its file.
    """
    if not Path(f"/proc/{pid}").exists():
        return None, f"there is no process {pid}"
    files = mapped_files(pid)
    if not files:
        return None, no_memory(
            pid
        ) or f"process {pid} is another user's: what it has loaded cannot be read"
    for name, place in files.items():
        library = _LIBRARY.search(name)
        if library is None:
            continue
        version = _asked(place) or _of_banner(place) or (library[1] if library[1] else None)
        if version and "." in version:
            return version, ""
        return None, f"{Path(name).name} of process {pid} does not tell its version"
    return None, f"process {pid} has no libnccl.so loaded"


def version_of(number: int) -> str:
    """The version that ``ncclGetVersion`` gives as a number: 22809 is 2.28.9, 2804 is 2.8.4.

    NCCL_VERSION in nccl.h: major · 10000 + minor · 100 + patch from 2.9 on, before it
    major · 1000 + minor · 100 + patch.
    """
    major = 10_000 if number >= 10_000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def _asked(library: Path) -> str | None:
    answer = ask([sys.executable, "-I", "-S", "-c", _ASK, str(library)], _TIMEOUT_S)
    number = (answer.text or "").strip()
    return version_of(int(number)) if number.isdigit() else None


def _of_banner(library: Path) -> str | None:
    try:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole,
        ):
            found = _BANNER.search(whole)
            return found[1].decode() if found else None
    except (OSError, ValueError):  # it is gone, or empty
        return None
