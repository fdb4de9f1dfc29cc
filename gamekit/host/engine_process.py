"""What the process of an engine tells of its surroundings: those of this process may differ."""

from __future__ import annotations

from typing import Any

from gamekit.host.loaded_nccl import loaded_nccl
from gamekit.host.packages import folders_of, versions


def environment_of_engine(pid: int) -> dict[str, Any]:
    """Fields of an ``Environment``: NCCL as ``pid`` or one below it has it loaded, and packages.

    What the processes do not tell is left out.
    """
    packages, cuda = versions(folders_of(pid))
    told: dict[str, Any] = {
        "nccl": loaded_nccl(pid)[0],
        "packages": packages,
        "cuda_torch": cuda,
    }
    return {name: value for name, value in told.items() if value}
