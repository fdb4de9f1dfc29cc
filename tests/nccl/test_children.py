"""A child program ends, and nothing of it stays, whatever it does."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from gamekit.errors import MachineRefused, UsageFault
from gamekit.nccl import children
from gamekit.nccl.place import compiles


def program(file: Path, text: str) -> str:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def is_there(pid: int) -> bool:
    """Whether the process runs still; one that ended and waits to be fetched does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_all_that_a_program_says_comes_back() -> None:
    """Its exit code, both outputs and a long input, though it writes before it reads."""
    says = "import sys; sys.stderr.write('e' * 9**6); print(len(sys.stdin.read())); sys.exit(3)"
    done = children.run([sys.executable, "-c", says], mend="-", content=b"x" * (3 << 20))
    assert (done.code, done.output, len(done.errors)) == (3, b"3145728\n", 9**6)


def test_one_that_hangs_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell that waits for another program leaves none behind, asked in either way."""
    monkeypatch.setattr(children, "SECONDS", 0.5)
    hangs = program(tmp_path / "hangs", f"sleep 777 &\necho $! > {tmp_path}/pid\nwait")
    for ask in (lambda: children.run([hangs], mend="-"), lambda: compiles(hangs, b"x = 1\n")):
        with pytest.raises(MachineRefused, match="no answer within"):
            ask()
        pid = int((tmp_path / "pid").read_text())
        deadline = time.monotonic() + 30
        while is_there(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_there(pid)


@pytest.mark.parametrize("where", ["", " >&2"])
def test_one_without_an_end_of_words_is_stopped(tmp_path: Path, where: str) -> None:
    """What writes on and on is read to a bound, and then it is killed."""
    with pytest.raises(MachineRefused, match="says more than 4 MiB"):
        children.run([program(tmp_path / "talks", f"exec yes{where}")], mend="-")


def test_what_does_not_start_is_told(tmp_path: Path) -> None:
    """A program that is missing is wrong usage; one that may not run is the machine's refusal."""
    with pytest.raises(UsageFault, match="there is no"):
        compiles(str(tmp_path / "none"), b"")
    (tmp_path / "plain").touch()
    (tmp_path / "plain").chmod(0o644)
    with pytest.raises(MachineRefused, match="does not start"):
        compiles(str(tmp_path / "plain"), b"")
