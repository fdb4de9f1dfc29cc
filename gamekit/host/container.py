"""Whether this is a container, and what tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from gamekit.host.files import read

_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
_NAMES = re.compile(r"docker|kubepods|containerd|cri-o|crio|libpod|lxc|garden|podman")


def find_container(
    root: Path = Path("/"), environ: Mapping[str, str] = os.environ
) -> tuple[bool | None, str]:
    """Whether this is a container, None where nothing tells, and the evidence for either.

    Control groups of version 1 name the runtime in the paths of process 1. Those of version 2 are
    mostly hidden by a namespace; then the root's mount tells.
    """
    groups = read(root / "proc/1/cgroup")
    version = 2 if groups is not None and re.fullmatch(r"0::[^\n]*\n?", groups) else 1
    mounts = read(root / "proc/1/mountinfo") or ""
    mount = re.search(r"^\S+ \S+ \S+ \S+ / (.*)$", mounts, re.MULTILINE)
    by_group, by_mount = _NAMES.search(groups or ""), _NAMES.search(mount[1] if mount else "")
    evidence = [
        *(f"{mark} exists" for mark in _MARKS if (root / mark.lstrip("/")).exists()),
        *(f"the variable {name} is set" for name in _VARIABLES if name in environ),
        *([f"{_group(version)} names {by_group[0]}"] if by_group else []),
        *([f"the mount of the root names {by_mount[0]}"] if by_mount else []),
    ]
    if evidence:
        return True, evidence[0]
    if groups is None:
        return None, "/proc/1/cgroup cannot be read, and nothing else tells"
    if all(line.endswith(":/") for line in groups.splitlines()):
        return None, f"{_group(version)} is a root, as in a namespace, and nothing else tells"
    return False, f"{_group(version)} names no container runtime"


def _group(version: int) -> str:
    return f"the control group (version {version}) of process 1"
