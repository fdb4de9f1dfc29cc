"""The identity of a machine: its stable facts alone, and a digest of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from gamekit.findings.subject import Environment
from gamekit.host.packages import NCCL_PACKAGES

# Which boot and which start it is; and what belongs to a process rather than to the machine.
_NO_FACTS = {"boot", "start", "variables", "python", "engine", "engine_version"}
_DIGITS = 16


@dataclass(frozen=True)
class Identity:
    """``digest`` is the same for machines of which the same ``facts`` are known to be equal."""

    digest: str
    facts: dict[str, Any]


def identity(environment: Environment) -> Identity:
    """The identity that an environment tells.

    It rests on what does not change by itself: GPUs, links, driver, CUDA, NCCL, versions. No clock,
    temperature, boot, start or process id is part of it, nor is a variable, which belongs to a
    process. NCCL is that which an engine has loaded, else the installed one, so that a machine is
    the same whether its engine runs or not.
    """
    facts: dict[str, Any] = environment.model_dump(
        exclude=_NO_FACTS, exclude_none=True, exclude_defaults=True
    )
    installed = [
        environment.packages[name] for name in NCCL_PACKAGES if name in environment.packages
    ]
    if environment.nccl is None and installed:
        facts["nccl"] = installed[0]
    name, version = environment.engine, environment.engine_version
    if name is not None and version is not None and environment.packages.get(name) != version:
        facts["engine"] = f"{name} {version}"
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return Identity(hashlib.sha256(canonical.encode()).hexdigest()[:_DIGITS], facts)
