"""Machines to capture: each with the nvidia-smi and the NVML that a test gives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machines import install_nvml


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that programs are found in first, on a machine whose NVML cannot be used."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    install_nvml("raise ImportError('no such library')\n", tmp_path, monkeypatch)
    return folder
