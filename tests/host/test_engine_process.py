"""What the process of an engine tells: NCCL as it has it loaded, its packages, its variables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.host.engine_process import environment_of_engine
from gamekit.host.loaded_nccl import loaded_nccl, version_of
from gamekit.host.processes import no_memory_by, variables

COMPILER = shutil.which("cc")

# Maps every file it is given, says so, and stays until its input ends.
_HOLDS = """\
import mmap, sys
kept = []
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        kept.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(*files: Path, below: bool = False, **environ: str) -> Iterator[int]:
    """A process that has ``files`` mapped, or one that has such a process below it."""
    command = [sys.executable, "-S", "-c", _HOLDS, *map(str, files)]
    if below:
        command = ["/bin/sh", "-c", '"$@"; exit', "sh", *command]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environ}
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield running.pid
        assert running.stdin is not None
        running.stdin.close()


def library(folder: Path, content: bytes, name: str = "libnccl.so.2") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def test_the_banner_of_the_loaded_library_tells_its_version(tmp_path: Path) -> None:
    """A library that cannot be called here is read, also where a child has it loaded."""
    loaded = library(tmp_path, b"\0junk\0NCCL version 2.28.9+cuda13.0\0")
    with process(loaded, below=True) as pid:
        assert loaded_nccl(pid) == ("2.28.9", "")


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_the_loaded_library_itself_is_asked(tmp_path: Path) -> None:
    """What ncclGetVersion answers counts more than the name of the file."""
    (tmp_path / "nccl.c").write_text("int ncclGetVersion(int *v) { *v = 22703; return 0; }\n")
    target = tmp_path / "libnccl.so.2.28.9"
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-o", target, tmp_path / "nccl.c"], check=True)
    with process(target) as pid:
        assert loaded_nccl(pid) == ("2.27.3", "")


def test_the_name_of_the_file_tells_where_nothing_else_does(tmp_path: Path) -> None:
    """A whole version in the name is taken; a bare 2 is none."""
    with process(library(tmp_path / "a", b"x", "libnccl.so.2.21.5")) as pid:
        assert loaded_nccl(pid) == ("2.21.5", "")
    with process(library(tmp_path / "b", b"x")) as pid:
        assert loaded_nccl(pid) == (
            None,
            f"libnccl.so.2 of process {pid} does not tell its version",
        )


def test_a_process_without_nccl_is_told_apart_from_none() -> None:
    """No library loaded, and no process, are different reasons."""
    with process() as pid:
        assert loaded_nccl(pid) == (None, f"process {pid} has no libnccl.so loaded")
    assert loaded_nccl(pid) == (None, f"there is no process {pid}")


@given(st.integers(2, 9), st.integers(9, 99), st.integers(0, 99))
def test_versions_are_read_from_their_number(major: int, minor: int, patch: int) -> None:
    """From 2.9 on, a number has two digits for each part."""
    assert version_of(major * 10_000 + minor * 100 + patch) == f"{major}.{minor}.{patch}"


def test_a_number_of_an_old_nccl_has_fewer_digits() -> None:
    """Before 2.9 the minor version had one digit."""
    assert version_of(2804) == "2.8.4"


def distribution(folder: Path, name: str, version: str) -> None:
    """The metadata that an installer leaves."""
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_packages_are_those_that_the_engine_runs_with(tmp_path: Path) -> None:
    """Versions come from the folder that the process loads from, and none from this interpreter."""
    folder = tmp_path / "engine/lib/python3.12/site-packages"
    distribution(folder, "torch", "2.11.0")
    distribution(folder, "sglang-kernel", "0.4.4")
    (folder / "torch").mkdir()
    (folder / "torch/version.py").write_text(
        "__version__ = '2.11.0'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n"
    )
    loaded = library(folder / "nvidia/nccl/lib", b"NCCL version 2.28.9+cuda13.0")
    with process(loaded) as pid:
        told = environment_of_engine(pid)
    assert told == {
        "nccl": "2.28.9",
        "packages": {"torch": "2.11.0", "sglang-kernel": "0.4.4"},
        "cuda_torch": "13.0",
    }


def test_variables_are_those_that_reach_the_process_started_last() -> None:
    """The environment of a process and of those below it, as each was started with it."""
    with process(below=True, NCCL_ALGO="Ring") as pid:
        assert variables(pid)["NCCL_ALGO"] == "Ring"


@pytest.mark.parametrize(
    ("stat", "why"),
    [
        (b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0", "is a thread of the kernel"),
        (b"70 (a) Z b) Z 1 70 70 0 -1 4228300 0 0", "has ended"),
        (b"71 (Z) S 1 71 71 0 -1 4194560 0 0", None),
        (b"", None),
    ],
)
def test_what_has_no_memory_is_known(stat: bytes, why: str | None) -> None:
    """Threads of the kernel and processes that ended are told from those of other users."""
    told = no_memory_by(stat)
    assert told is None if why is None else (told or "").startswith(why)
