"""The GPUs of this machine: through NVML, else through nvidia-smi, else unknown with the reason."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gamekit
from gamekit.host import smi
from gamekit.host.asking import ask
from gamekit.host.files import one_line
from gamekit.host.plausible import checked

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
    ``implausible`` says of properties what was told of them that cannot be.
    """

    rows: Sequence[Mapping[str, Any]] | None
    told_by: str | None = None
    driver: str | None = None
    cuda: str | None = None
    why: str = ""
    implausible: Mapping[str, str] = field(default_factory=dict)

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
    if any(row["mig"] is True for row in rows):
        for row, devices in zip(rows, smi.mig_devices(timeout_s), strict=False):
            row["mig_devices"] = devices
    rows, implausible = checked(rows, smi.PROGRAM)
    return Gpus(rows, smi.PROGRAM, rows[0]["driver"], implausible=implausible)


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
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not ("why" in told or _are_rows(told.get("gpus"))):
        return None, "NVML gave no answer that can be read"
    if "why" in told:
        return None, one_line(str(told["why"]), 2000) or "NVML does not say why"
    # The driver is the same for all; with a row it is looked at as the rest of it is.
    driver, cuda = told.get("driver"), told.get("cuda")
    rows, implausible = checked([{**row, "driver": driver} for row in told["gpus"]], "NVML")
    return Gpus(
        rows,
        "NVML",
        driver if isinstance(driver, str) else None,
        cuda if isinstance(cuda, str) else None,
        implausible=implausible,
    ), ""


def _are_rows(told: Any) -> bool:
    return isinstance(told, list) and all(isinstance(row, dict) for row in told)
