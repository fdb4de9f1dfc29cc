"""The GPUs of this machine: through NVML, else through nvidia-smi, else unknown with the reason."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gamekit
from gamekit.host import smi
from gamekit.host.asking import ask

TIMEOUT_S = 5.0
# Of a GPU's row: what changes by itself, in the order in which it is shown.
_STATE = (
    *("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w", "memory_used_mib"),
    *("utilization_percent", "throttle_reasons", "pcie_generation", "pcie_width"),
)


@dataclass(frozen=True)
class Gpus:
    """One row a GPU, None where nothing tells of them; ``why`` has then the reason.

    ``told_by`` is NVML or nvidia-smi. ``driver`` and ``cuda`` (of the driver) are versions.
    """

    rows: Sequence[Mapping[str, Any]] | None
    told_by: str | None = None
    driver: str | None = None
    cuda: str | None = None
    why: str = ""

    def state(self) -> list[dict[str, Any]]:
        """What changes by itself, of each GPU."""
        return [{name: row[name] for name in _STATE} for row in self.rows or ()]

    def column(self, key: str) -> list[Any] | None:
        """One property of every GPU; None where no GPU tells it."""
        values = [row[key] for row in self.rows or ()]
        return values if any(value is not None for value in values) else None


def find_gpus(timeout_s: float = TIMEOUT_S) -> Gpus:
    """Ask for the GPUs; NVML and nvidia-smi get ``timeout_s`` seconds each."""
    found, why_not_nvml = _through_nvml(timeout_s)
    if found is not None:
        return found
    rows, why = smi.query(timeout_s)
    if rows is None:
        return Gpus(None, why="; ".join(filter(None, (why_not_nvml, why))))
    if any(row["mig"] for row in rows):
        for row, devices in zip(rows, smi.mig_devices(timeout_s), strict=False):
            row["mig_devices"] = devices
    return Gpus(rows, smi.PROGRAM, rows[0]["driver"])


def _through_nvml(timeout_s: float) -> tuple[Gpus | None, str]:
    if importlib.util.find_spec("pynvml") is None:
        return None, ""
    package = str(Path(gamekit.__file__).parent.parent)
    searched = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    answer = ask(
        # Not from the current folder: nobody's file there is to be taken for ours.
        [sys.executable, "-P", "-m", "gamekit.host.nvml"],
        timeout_s,
        {**os.environ, "PYTHONPATH": os.pathsep.join(searched)},
    )
    if answer.text is None:
        # Also where pynvml is somebody else's module.
        return None, answer.why.replace(Path(sys.executable).name, "NVML", 1)
    try:
        told = json.loads(answer.text)
    except ValueError:
        return None, "NVML gave no answer that can be read"
    if "why" in told:
        return None, told["why"]
    return Gpus(told["gpus"], "NVML", told["driver"], told["cuda"]), ""
