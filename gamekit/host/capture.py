"""Captures what surrounds a run: the environment, which is stable, and the state, which is not."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from gamekit.findings.subject import Environment
from gamekit.host import pci, smi
from gamekit.host.container import find_container
from gamekit.host.files import one_line
from gamekit.host.gpus import TIMEOUT_S, Gpus, find_gpus
from gamekit.host.machine import boot, cpu_model, load_average, loaded_driver, memory_gib
from gamekit.host.packages import NCCL_PACKAGES, versions
from gamekit.host.redact import HIDDEN, Redactor
from gamekit.host.secret_names import is_secret_name
from gamekit.host.topology import Topology, find_topology

_VARIABLES = ("NCCL_", "CUDA_", "SGLANG_")
# Differs in every start without steering anything.
_NO_SETTING = "SGLANG_RUN_ID"
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Capture:
    """``environment`` is the same in two captures of one boot; ``state`` changes all the time.

    ``unknown`` says of fields of the environment why they are not known, ``told_by`` of some others
    what told them.
    """

    environment: Environment
    state: dict[str, Any]
    unknown: Mapping[str, str] = field(default_factory=dict)
    told_by: Mapping[str, str] = field(default_factory=dict)


def capture(redactor: Redactor, environ: Mapping[str, str] = os.environ) -> Capture:
    """The environment and state of this machine, as seen from this process.

    Variables and packages are those of this process: those of an engine started elsewhere may
    differ. What cannot be read is left out, which means unknown. Takes some seconds at most, also
    where the driver hangs.
    """
    gpus = find_gpus()
    unknown: dict[str, str] = {}
    topology = Topology()
    cuda = gpus.cuda
    if gpus.rows is None:
        unknown["gpus"] = unknown["driver"] = unknown["cuda"] = gpus.why
    elif gpus.rows:
        unknown.update(gpus.implausible)
        topology = find_topology(TIMEOUT_S)
        unknown.update(topology.why)
        if cuda is None:
            cuda, why = smi.cuda_version(TIMEOUT_S)
            unknown.update({} if cuda else {"cuda": why})
    bus_ids = gpus.column("bus_id") or []
    iommu, no_iommu = pci.iommu(bus_ids)
    acs, no_acs = pci.acs()
    container, evidence = find_container(environ=environ)
    packages, cuda_torch = versions()
    installed = next((packages[name] for name in NCCL_PACKAGES if name in packages), None)
    found: dict[str, Any] = {
        "boot": boot(),
        "kernel": one_line(platform.release()),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_gib": memory_gib(),
        **facts(gpus),
        "numa": pci.numa_nodes(bus_ids) or topology.numa,
        "topology": topology.links or {},
        "p2p": topology.p2p or {},
        "iommu": iommu,
        "acs": acs,
        "driver": one_line(gpus.driver) or loaded_driver(),
        "cuda": cuda,
        "cuda_torch": cuda_torch,
        "python": platform.python_version(),
        "packages": packages,
        "variables": engine_variables(redactor, environ),
        "container": container,
    }
    why_not = {
        "boot": "neither boot_id nor btime can be read in /proc",
        "memory_gib": "/proc/meminfo does not tell it",
        "numa": "neither the kernel nor nvidia-smi places the GPUs",
        "iommu": no_iommu,
        "acs": no_acs,
        "container": evidence,
        "cuda_torch": "torch is not installed here, or is built without CUDA",
        "nccl": "no process of an engine was named"
        + (f": {installed} is installed, not loaded" if installed else ", and none is installed"),
        **({} if gpus.rows is None else _untold(found)),
    }
    for name in ("driver", "numa"):
        if found[name]:  # something else told it
            unknown.pop(name, None)
    unknown.update(
        (name, why)
        for name, why in why_not.items()
        if not found.get(name) and name not in unknown and found.get(name) is not False
    )
    if gpus.rows is not None and not gpus.rows:
        unknown.pop("numa", None)  # of no GPU there is none
    environment, dropped = fitting({k: v for k, v in found.items() if v is not None})
    told_by = {"gpus": gpus.told_by or "", "container": evidence if container is not None else ""}
    return Capture(
        environment,
        _state(gpus),
        _shown(unknown | dropped, redactor),
        {name: by for name, by in told_by.items() if by},
    )


def capture_state() -> dict[str, Any]:
    """Load, and clocks, throttling, temperature, power and memory of each GPU, as they are now."""
    return _state(find_gpus())


def engine_variables(redactor: Redactor, environ: Mapping[str, str]) -> dict[str, str]:
    """Of an environment the variables that steer an engine, by allow-list.

    A name that no record can hold, such as one of a thousand letters, steers none.
    """
    return {
        name: HIDDEN if is_secret_name(name) else redactor.text(value)
        for name, value in sorted(environ.items())
        if name.startswith(_VARIABLES) and name != _NO_SETTING
        if len(name) <= _LONGEST_NAME and name.isprintable()
    }


def facts(gpus: Gpus) -> dict[str, Any]:
    """What does not change by itself of each GPU, as fields of the environment."""
    if gpus.rows is None:
        return {}
    links = [
        None
        if row["pcie_generation_max"] is None or row["pcie_width_max"] is None
        else f"gen {row['pcie_generation_max']} x{row['pcie_width_max']}"
        for row in gpus.rows
    ]
    devices = [_mig(row) for row in gpus.rows]
    return {
        "gpus": [one_line(row["name"]) or "unknown" for row in gpus.rows],
        "gpu_memory_mib": gpus.column("memory_total_mib"),
        "pcie": links if any(links) else None,
        "power_limit_w": gpus.column("power_limit_w"),
        "max_sm_clock_mhz": gpus.column("max_sm_clock_mhz"),
        "max_memory_clock_mhz": gpus.column("max_memory_clock_mhz"),
        "mig": devices if any(devices) else None,
    }


def _shown(reasons: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """Reasons as they may be shown: what a driver's program wrote is part of some."""
    return {name: one_line(redactor.text(why)) or "unknown" for name, why in reasons.items()}


def fitting(found: dict[str, Any]) -> tuple[Environment, dict[str, str]]:
    """The environment of what was found without what it cannot hold, and of that the reasons.

    Whatever a driver, a package or a variable holds, no run is lost for it.
    """
    kept = {name: dict(told) if isinstance(told, dict) else told for name, told in found.items()}
    why: dict[str, str] = {}
    while True:
        try:
            return Environment.model_validate(kept), why
        except ValidationError as fault:
            errors = fault.errors(include_url=False, include_input=False)
        # A key and its value may both be at fault.
        for (name, *inside), reason in {
            tuple(map(str, error["loc"][:2])): error["msg"] for error in errors
        }.items():
            why[name] = f"what was found of it cannot be recorded: {reason}"
            told = kept.get(name)
            if isinstance(told, dict) and inside and inside[0] in told:
                del told[inside[0]]  # of packages, variables or pairs this one alone
            else:
                kept.pop(name, None)


def _mig(row: Mapping[str, Any]) -> str | None:
    if row["mig"] is None:
        return None
    named = ", ".join(row["mig_devices"])
    return "off" if not row["mig"] else f"on: {named}" if named else "on"


def _untold(found: Mapping[str, Any]) -> dict[str, str]:
    """Why a property of the GPUs is unknown where the GPUs themselves are known."""
    if not found["gpus"]:
        return {}
    reasons = {name: "the driver does not tell it" for name in found if name in _PROPERTIES}
    if len(found["gpus"]) > 1:
        reasons |= dict.fromkeys(("topology", "p2p"), "nvidia-smi shows no table of it")
    return reasons


_PROPERTIES = (
    *("driver", "gpu_memory_mib", "pcie", "power_limit_w", "max_sm_clock_mhz"),
    *("max_memory_clock_mhz", "mig"),
)


def _state(gpus: Gpus) -> dict[str, Any]:
    state: dict[str, Any] = {"load_average": load_average()}
    if gpus.rows:
        state["gpus"] = gpus.state()
    return state
