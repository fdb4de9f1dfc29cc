"""The fingerprint of this machine: its identity, its state, and what is unknown with the reason."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamekit.errors import MachineRefused, UsageFault
from gamekit.findings.subject import Environment
from gamekit.host.capture import Capture, capture, engine_variables
from gamekit.host.engine_process import environment_of_engine
from gamekit.host.identity import Identity, identity
from gamekit.host.loaded_nccl import loaded_nccl
from gamekit.host.machine import host_name
from gamekit.host.packages import NCCL_PACKAGES
from gamekit.host.processes import mapped_files, no_memory, variables
from gamekit.host.redact import Redactor


@dataclass(frozen=True)
class Fingerprint:
    """What was captured of ``host``; with ``pid`` as the engine of that process sees it."""

    host: str | None
    captured: Capture
    pid: int | None = None

    @property
    def environment(self) -> Environment:
        """The environment as a run on this machine would have it."""
        return self.captured.environment

    @property
    def identity(self) -> Identity:
        """The stable facts of the environment, and their digest."""
        return identity(self.environment)

    @property
    def installed_nccl(self) -> str | None:
        """The NCCL that is installed beside torch, which need not be the one that is loaded."""
        packages = self.environment.packages
        return next((packages[name] for name in NCCL_PACKAGES if name in packages), None)

    @property
    def variables_of(self) -> str:
        """Whose variables those of the environment are."""
        return "this process" if self.pid is None else f"process {self.pid}"

    def as_json(self) -> dict[str, Any]:
        """The fingerprint as plain data, with the keys of the command contract."""
        environment = self.environment
        return {
            "host": self.host,
            "identity": {"digest": self.identity.digest, "facts": self.identity.facts},
            "state": self.captured.state,
            "boot": environment.boot,
            "variables": environment.variables,
            "variables_of": self.variables_of,
            "nccl": {"loaded": environment.nccl, "installed": self.installed_nccl},
            "python": environment.python,
            "told_by": dict(self.captured.told_by),
            "unknown": dict(self.captured.unknown),
        }


def take_fingerprint(redactor: Redactor, pid: int | None = None) -> Fingerprint:
    """The fingerprint of this machine.

    With ``pid``, the process of an engine, NCCL, packages and variables are those of that process
    and of those below it. Raises ``UsageFault`` where there is no such process, or one
    without memory, as one that has ended, and ``MachineRefused`` where it may not be looked at.
    """
    if pid is not None:
        _check(pid)
    seen = capture(redactor)
    if pid is None:
        return Fingerprint(host_name(redactor), seen)
    told = {**environment_of_engine(pid), "variables": engine_variables(redactor, variables(pid))}
    told.setdefault("packages", {})
    told.setdefault("cuda_torch", None)
    unknown = {name: why for name, why in seen.unknown.items() if not told.get(name)}
    if "nccl" in unknown:
        unknown["nccl"] = loaded_nccl(pid)[1]
    if not told["packages"]:
        unknown["packages"] = f"process {pid} has loaded nothing from a folder of packages"
    environment = seen.environment.model_copy(update=told)
    return Fingerprint(
        host_name(redactor), Capture(environment, seen.state, unknown, seen.told_by), pid
    )


def _check(pid: int) -> None:
    if not Path(f"/proc/{pid}").exists():
        raise UsageFault(
            f"there is no process {pid}", mend="give the id of the engine's process, as ps shows it"
        )
    why = no_memory(pid)
    if why is not None:
        raise UsageFault(why, mend="give the id of the engine's process while it runs")
    if not mapped_files(pid) and pid != os.getpid():
        raise MachineRefused(
            f"process {pid} is another user's: what it has loaded cannot be read",
            mend="run it as the engine's user, or as root",
        )
