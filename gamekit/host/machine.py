"""The machine without its GPUs: its name, boot, processor and memory."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from gamekit.host.files import one_line, read
from gamekit.host.redact import Redactor


def host_name(redactor: Redactor) -> str | None:
    """This machine's short name as a subject has it: lower case letters, digits and dashes."""
    short = redactor.text(platform.node().partition(".")[0])
    return re.sub(r"[^a-z0-9]+", "-", short.lower()).strip("-") or None


def boot() -> str | None:
    """Which boot this is, with the source that told: the boot id, else the time of the boot."""
    identity = read("/proc/sys/kernel/random/boot_id")
    if identity:
        return f"boot_id {identity.strip()}"
    started = re.search(r"^btime (\d+)$", read("/proc/stat") or "", re.MULTILINE)
    return f"btime {started[1]}" if started else None


def loaded_driver(root: Path = Path("/")) -> str | None:
    """The version of the GPUs' driver that the kernel has loaded, also where that hangs."""
    told = read(root / "proc/driver/nvidia/version") or ""
    found = re.search(r"Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", told)
    return found[1] if found else None


def cpu_model() -> str | None:
    """The processor as the kernel names it, else the architecture."""
    found = re.search(
        r"^(?:model name|Model)\s*:\s*(.+)$", read("/proc/cpuinfo") or "", re.MULTILINE
    )
    return one_line(found[1] if found else platform.machine())


def memory_gib() -> int | None:
    """The memory of the machine in GiB, rounded: what the kernel keeps for itself varies."""
    found = re.search(r"^MemTotal:\s+(\d+) kB$", read("/proc/meminfo") or "", re.MULTILINE)
    return round(int(found[1]) / 1024**2) if found else None


def load_average() -> list[Any] | None:
    """The load of the last 1, 5 and 15 minutes; None in a sandbox that has none."""
    try:
        return [round(load, 2) for load in os.getloadavg()]
    except OSError:
        return None
