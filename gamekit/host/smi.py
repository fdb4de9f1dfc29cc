"""What nvidia-smi says of each GPU, for a machine where NVML cannot be asked directly."""

from __future__ import annotations

import csv
import re
import shutil
import time
from collections.abc import Sequence
from typing import Any

from gamekit.host.asking import Answer, ask
from gamekit.host.files import one_line
from gamekit.host.plausible import WHOLE
from gamekit.host.throttling import reasons_of

PROGRAM = "nvidia-smi"
# nvidia-smi's name of a property (then that of older drivers), and the name in a GPU's row.
_PROPERTIES: dict[tuple[str, ...], str] = {
    ("name",): "name",
    ("driver_version",): "driver",
    ("clocks.sm",): "sm_clock_mhz",
    ("clocks.mem",): "memory_clock_mhz",
    ("temperature.gpu",): "temperature_c",
    ("power.draw",): "power_w",
    ("memory.used",): "memory_used_mib",
    ("utilization.gpu",): "utilization_percent",
    ("clocks_event_reasons.active", "clocks_throttle_reasons.active"): "throttle_reasons",
    ("pcie.link.gen.current",): "pcie_generation",
    ("pcie.link.width.current",): "pcie_width",
    ("memory.total",): "memory_total_mib",
    ("pcie.link.gen.max",): "pcie_generation_max",
    ("pcie.link.width.max",): "pcie_width_max",
    ("power.limit",): "power_limit_w",
    ("clocks.max.sm",): "max_sm_clock_mhz",
    ("clocks.max.mem",): "max_memory_clock_mhz",
    ("mig.mode.current",): "mig",
    ("pci.bus_id",): "bus_id",
}
_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')
# No other way to write a number than a driver's: float() would take nan and 1_0 as well.
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_MASK = re.compile(r"0x[0-9A-Fa-f]{1,16}")
_MIG_DEVICE = re.compile(r"^\s+MIG (\S+)", re.MULTILINE)
_GPU_LINE = re.compile(r"^GPU \d+:", re.MULTILINE)


def call(arguments: list[str], timeout_s: float) -> Answer:
    """What nvidia-smi says when it is called so; why not, where it is missing, fails or hangs."""
    program = shutil.which(PROGRAM)
    if program is None:
        return Answer(None, f"no driver: {PROGRAM} is not to be found")
    return ask([program, *arguments], timeout_s)


def query(timeout_s: float) -> tuple[list[dict[str, Any]] | None, str]:
    """One row a GPU, with the keys of ``gamekit.host.nvml`` and ``driver``; else None, and why.

    A property that this version of nvidia-smi does not know is asked for by its older name, else
    left out. All calls together get ``timeout_s`` seconds.
    """
    deadline = time.monotonic() + timeout_s
    asked = {names[0]: (names[1:], key) for names, key in _PROPERTIES.items()}
    while True:
        answer = call(
            [f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits"],
            max(0.1, deadline - time.monotonic()),
        )
        refused = _UNKNOWN_FIELD.search(answer.why)
        if refused is None or refused[1] not in asked or time.monotonic() > deadline:
            break
        asked = _without(asked, refused[1])
    if answer.text is None:
        gave_up = "gave no answer" in answer.why
        return None, f"{PROGRAM} gave no answer in {timeout_s:g} s" if gave_up else answer.why
    return rows_of(answer.text, [key for _, key in asked.values()])


def rows_of(text: str, keys: Sequence[str]) -> tuple[list[dict[str, Any]] | None, str]:
    """The rows of an answer whose columns are ``keys``; None where it is none, and why.

    A cell that is no value of its property stays the text that it is, for
    ``gamekit.host.plausible`` to tell of.
    """
    try:
        rows = [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    except csv.Error:  # a cell that never ends
        rows = []
    if not rows or any(len(row) != len(keys) for row in rows):
        return None, f"{PROGRAM} told of no GPU ({one_line(text, 100) or 'it said nothing'})"
    return [
        {
            **dict.fromkeys(_PROPERTIES.values()),
            "mig_devices": [],
            **{key: _value(key, cell.strip()) for key, cell in zip(keys, row, strict=True)},
        }
        for row in rows
    ], ""


def cuda_version(timeout_s: float) -> tuple[str | None, str]:
    """The CUDA version that the driver supports; else None, and why."""
    answer = call([], timeout_s)
    found = re.search(r"CUDA (?:UMD )?Version\s*:\s*([0-9]{1,4}\.[0-9]{1,4})", answer.text or "")
    return (found[1], "") if found else (None, answer.why or f"{PROGRAM} does not tell it")


def mig_devices(timeout_s: float) -> list[list[str]]:
    """The names of the MIG devices of each GPU, such as ``1g.18gb``."""
    listed = _GPU_LINE.split(call(["-L"], timeout_s).text or "")[1:]
    return [_MIG_DEVICE.findall(part) for part in listed]


def _without(asked: dict[str, tuple[tuple[str, ...], str]], name: str) -> Any:
    kept: dict[str, tuple[tuple[str, ...], str]] = {}
    for one, (older, key) in asked.items():
        if one != name:
            kept[one] = (older, key)
        elif older:
            kept[older[0]] = (older[1:], key)
    return kept


def _value(key: str, cell: str) -> Any:
    # [N/A], [Not Supported], [Unknown Error]
    if cell in ("", "N/A") or cell.startswith("["):
        return None
    if key in ("name", "driver", "bus_id"):
        return cell
    if key == "mig":
        return {"Enabled": True, "Disabled": False}.get(cell, cell)
    if key == "throttle_reasons":
        return reasons_of(int(cell, 16)) if _MASK.fullmatch(cell) else cell
    if key in WHOLE:
        return int(cell) if _WHOLE_NUMBER.fullmatch(cell) else cell
    return float(cell) if _NUMBER.fullmatch(cell) else cell
