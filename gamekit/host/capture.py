"""Captures what surrounds a run: the environment, which is stable, and the state, which is not."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from gamekit.findings.subject import Environment
from gamekit.host.redact import HIDDEN, Redactor, is_secret_name

# Distribution names; their versions are read from their metadata, never by importing them.
_PACKAGES = (
    "torch",
    "triton",
    "sglang",
    "sgl-kernel",
    "sglang-kernel",
    "flashinfer-python",
    "flashinfer",
    "transformers",
    "vllm",
    "nvidia-nccl-cu12",
    "nvidia-nccl-cu13",
)
_VARIABLES = ("NCCL_", "CUDA_", "SGLANG_")
# Differs in every start without steering anything.
_NO_SETTING = "SGLANG_RUN_ID"
_GPU_TIMEOUT_S = 5.0
# nvidia-smi's name of a property, and the name in the state.
_GPU_STATE = {
    "clocks.sm": "sm_clock_mhz",
    "clocks.mem": "memory_clock_mhz",
    "temperature.gpu": "temperature_c",
    "power.draw": "power_w",
    "memory.used": "memory_used_mib",
    "utilization.gpu": "utilization_percent",
}


@dataclass(frozen=True)
class Capture:
    """``environment`` is the same in two captures of one boot; ``state`` changes all the time."""

    environment: Environment
    state: dict[str, Any]


def capture(redactor: Redactor, environ: Mapping[str, str] = os.environ) -> Capture:
    """The environment and state of this machine, as seen from this process.

    The variables are those of this process: those of an engine started elsewhere may differ. What
    cannot be read is left out, which means unknown.
    """
    gpus = _query_gpus()
    environment = Environment(
        boot=boot(),
        kernel=_name(platform.release()),
        cpu=_name(_cpu_model()),
        cpu_count=os.cpu_count(),
        gpus=None if gpus is None else [gpu["name"] for gpu in gpus],
        driver=None if not gpus else _name(gpus[0]["driver_version"]),
        python=platform.python_version(),
        packages=_versions(),
        variables=engine_variables(redactor, environ),
        container=_in_container(),
    )
    return Capture(environment, _state(gpus))


def capture_state() -> dict[str, Any]:
    """Load, and clocks, temperature, power and memory of each GPU: what changes by itself."""
    return _state(_query_gpus())


def host_name(redactor: Redactor) -> str | None:
    """This machine's short name as a subject has it: lower case letters, digits and dashes."""
    short = redactor.text(platform.node().partition(".")[0])
    return re.sub(r"[^a-z0-9]+", "-", short.lower()).strip("-") or None


def boot() -> str | None:
    """Which boot this is, with the source that told: the boot id, else the time of the boot."""
    identity = _read("/proc/sys/kernel/random/boot_id")
    if identity:
        return f"boot_id {identity.strip()}"
    started = re.search(r"^btime (\d+)$", _read("/proc/stat") or "", re.MULTILINE)
    return f"btime {started[1]}" if started else None


def _state(gpus: list[dict[str, str]] | None) -> dict[str, Any]:
    state: dict[str, Any] = {}
    try:
        state["load_average"] = [round(load, 2) for load in os.getloadavg()]
    except OSError:  # some sandboxes have none
        state["load_average"] = None
    if gpus:
        state["gpus"] = [
            {name: _number(gpu[field]) for field, name in _GPU_STATE.items()} for gpu in gpus
        ]
    return state


def _query_gpus() -> list[dict[str, str]] | None:
    """One row a GPU from nvidia-smi; None where it is missing, fails or hangs: then unknown."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    fields = ("name", "driver_version", *_GPU_STATE)
    try:
        answer = subprocess.run(  # noqa: S603 - a program of the driver, with fixed arguments
            [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_GPU_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.splitlines() if line]
    return [dict(zip(fields, row, strict=True)) for row in rows if len(row) == len(fields)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # [N/A], [Not Supported]
        return None


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def engine_variables(redactor: Redactor, environ: Mapping[str, str]) -> dict[str, str]:
    """Of an environment the variables that steer an engine, by allow-list."""
    return {
        name: HIDDEN if is_secret_name(name) else redactor.text(value)
        for name, value in sorted(environ.items())
        if name.startswith(_VARIABLES) and name != _NO_SETTING
    }


def _cpu_model() -> str | None:
    found = re.search(
        r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo") or "", re.MULTILINE
    )
    return found[1] if found else platform.machine()


def _in_container() -> bool | None:
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return True
    if "KUBERNETES_SERVICE_HOST" in os.environ or "container" in os.environ:
        return True
    groups = _read("/proc/1/cgroup")
    if groups is None:
        return None
    return re.search(r"docker|kubepods|containerd|libpod|lxc", groups) is not None


def _name(text: str | None) -> str | None:
    """A text as a field of one line has it, or None."""
    line = " ".join((text or "").split())[:200]
    return line or None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
