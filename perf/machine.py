"""Which machine and which versions a measurement of this folder was made with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from gamekit import __version__


def processor() -> str:
    """The processor's name as the kernel has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def description() -> str:
    """One line: day, processor, cores, kernel, Python and gamekit."""
    # The release's numbers only: a kernel may be named after the machine that it was built for.
    kernel = platform.release().partition("-")[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} cores,"
        f" {platform.system()} {kernel}, Python {platform.python_version()}, gamekit {__version__}"
    )


def two_cores() -> tuple[int, int]:
    """The cores of client and server: the first two that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise SystemExit("client and server need a core each: this process may use only one")
    return allowed[0], allowed[1]


def load_warning() -> str | None:
    """What to say where other work is in the way of a measurement, or None."""
    one_minute = os.getloadavg()[0]
    if one_minute < 0.5:
        return None
    return f"load average {one_minute:.1f} at the start: other work was running"
