"""Changes of one folder come one behind the other."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gamekit.errors import MachineRefused
from gamekit.nccl import turns
from gamekit.nccl.change import block_of, removed, write

APPLY = (*(sys.executable, "-m", "gamekit", "nccl", "apply"), "--path")


def test_a_change_waits_for_the_one_before(tmp_path: Path) -> None:
    """Two applies that start on nothing: the second replaces the block of the first, whole."""
    file = tmp_path / "sitecustomize.py"
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    running = [
        subprocess.Popen(
            [*APPLY, str(file), "--set", f"NCCL_ALGO={value}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for value in ("Ring", "Tree", "PAT")
    ]
    with pytest.raises(subprocess.TimeoutExpired):
        running[0].wait(1.5)
    assert not file.exists()
    os.close(handle)
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, b"")
    block = block_of(file)
    assert block is not None
    assert not block.edited
    assert block.block.created  # the later ones replaced a block; they did not extend a file
    write(removed(file))
    assert not file.exists()


def test_a_folder_that_is_held_for_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds the folder for ever stops no other one for ever; a missing folder is no fault."""
    monkeypatch.setattr(turns, "SECONDS", 0.1)
    (tmp_path / "link.py").symlink_to("held/it.py")
    (tmp_path / "held").mkdir()
    with (
        turns.turn(tmp_path / "held" / "it.py"),
        turns.turn(tmp_path / "it.py"),
        turns.turn(tmp_path / "none" / "it.py"),
        pytest.raises(MachineRefused, match="another program holds"),
        turns.turn(tmp_path / "link.py"),
    ):
        pass
