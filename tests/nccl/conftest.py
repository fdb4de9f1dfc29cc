"""Real interpreters that tests may change: virtual environments, and one that brings its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """The Python of a fresh virtual environment."""
    folder = tmp_path / "venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120
    )
    return folder / "bin" / "python"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of NCCL is set, and no path of Python is."""
    for name in [*os.environ]:
        # Under PYTHONDONTWRITEBYTECODE nobody would see a compiled file that is left behind.
        if name.startswith("NCCL_") or name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            monkeypatch.delenv(name)
