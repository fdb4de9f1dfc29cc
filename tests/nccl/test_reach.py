"""Where the values reach, told by real child interpreters and real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gamekit.errors import UsageFault
from gamekit.nccl.change import applied, write
from gamekit.nccl.place import interpreter, place
from gamekit.nccl.processes import engine
from gamekit.nccl.reach import reaches

VALUES = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}
SETS = "import os; os.environ.update(NCCL_ALGO='Ring', NCCL_PROTO='LL')\n"
SLEEPS = "import sys, time; print('up', flush=True); time.sleep(60)"
STARTS = (
    "import subprocess, sys\n"
    f"with subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]) as process: process.wait()"
)


def reached(python: str) -> dict[str, bool]:
    return {one.started: one.reached for one in reaches(python, VALUES)}


def test_an_environments_own_file_reaches_all_but_no_site(venv: Path) -> None:
    """Persisted in a venv, the values are in each child of it but -S and another environment."""
    write(applied(place(interpreter(str(venv))), VALUES))
    told = reached(str(venv))
    assert told == {"plain": True, "venv": False, "-S": False, "-I": True, "-E": True, "-s": True}


def test_a_folder_of_pythonpath_is_not_isolated_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through PYTHONPATH the values reach other environments too, but not -I and -E."""
    write(applied(place(interpreter(sys.executable), tmp_path / "sitecustomize.py"), VALUES))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = reached(sys.executable)
    assert told == {"plain": True, "venv": True, "-S": False, "-I": False, "-E": False, "-s": True}


def test_another_value_is_named_with_where_it_is_seen(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the file itself sets, and what this environment sets, show as the values they are."""
    where = place(interpreter(str(venv)))
    where.file.write_text("import os\nos.environ['NCCL_ALGO'] = 'Tree'\n")
    write(applied(where, VALUES))
    monkeypatch.setenv("NCCL_PROTO", "Simple")
    plain, *_, environment = reaches(str(venv), VALUES)
    assert (plain.different, plain.missing) == ({"NCCL_ALGO": "Tree"}, ())
    assert environment.started == "this environment"
    assert environment.different == {"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ('raise RuntimeError("mine")', "RuntimeError: mine"),
        ('raise RuntimeError("mine\\nand more")', "RuntimeError: mine"),
        ("import sys; print('noise', file=sys.stderr); import nope", "No module named 'nope'"),
        ("from sitecustomize import nope", "silence"),
        ("if", "SyntaxError: invalid syntax"),
    ],
)
def test_a_file_that_fails_is_named_with_its_error(
    venv: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: str
) -> None:
    """A sitecustomize whose own code raises leaves the values unset; the file and why are told."""
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    where = place(interpreter(str(venv)))
    where.file.write_text(code)
    children = {one.started: one for one in reaches(str(venv), VALUES)}
    plain = children["plain"]
    assert plain.missing == ("NCCL_ALGO", "NCCL_PROTO")
    assert plain.imported == str(where.file)
    assert plain.import_error is not None
    assert error in plain.import_error
    assert plain.why == f"without NCCL_ALGO, NCCL_PROTO; {where.file} fails: {plain.import_error}"
    assert children["venv"].import_error is None
    assert children["-S"].import_error is None


def test_a_hidden_file_that_fails_is_told_where_the_values_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values are set though the file that is run along raises, and its error is told."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "second" / "sitecustomize.py").write_text("raise RuntimeError('mine')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    file = tmp_path / "first" / "sitecustomize.py"
    write(applied(place(interpreter(sys.executable), file), VALUES))
    plain = next(iter(reaches(sys.executable, VALUES)))
    assert plain.reached
    assert plain.why == f"{file} fails: RuntimeError: mine"


@contextmanager
def running(program: str, **variables: str) -> Iterator[int]:
    """A Python process, or one with a child, that has said it is up."""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, 9)


def test_an_engine_started_with_the_values_has_them() -> None:
    """The environment that a process was started with is read."""
    with running(SLEEPS, **VALUES) as pid:
        assert engine(pid, VALUES).reached is True


def test_what_python_set_later_shows_in_its_children() -> None:
    """A process that set the values in itself does not show them; its child does."""
    with running(SETS + STARTS) as pid:
        told = engine(pid, VALUES)
    assert told.reached is True
    assert [process.state for process in told.processes] == ["absent", "set"]


def test_a_python_without_children_is_undecided() -> None:
    """Nothing is claimed to be missing where it could not be seen."""
    with running(SETS + SLEEPS) as pid:
        told = engine(pid, VALUES)
    assert told.reached is None
    assert "children" in told.why


def test_a_child_without_them_is_a_no() -> None:
    """A Python whose child was started without the values does not have them."""
    with running(STARTS) as pid:
        told = engine(pid, VALUES)
    assert told.reached is False


def test_another_value_of_the_engine_is_named() -> None:
    """An engine started with another value has that one."""
    with running(SLEEPS, NCCL_ALGO="Tree") as pid:
        told = engine(pid, VALUES)
    assert told.reached is False
    assert "NCCL_ALGO=Tree" in told.why


OVERWRITES = """
import ctypes, pathlib, sys, time
fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
start, end = int(fields[47]), int(fields[48])
ctypes.memset(start, 0, end - start)
print("up", flush=True)
time.sleep(60)
"""


def test_an_environment_that_a_title_overwrote_is_undecided() -> None:
    """A process that wrote over its environment, as for a title of its own, cannot be told."""
    with running(OVERWRITES, **VALUES) as pid:
        told = engine(pid, VALUES)
    assert told.reached is None
    assert told.processes[0].state == "overwritten"
    assert "SPT_NOENV" in told.why


def test_a_process_that_is_not_there_is_a_usage_error() -> None:
    """A process id that nobody has is refused."""
    with pytest.raises(UsageFault, match="no process"):
        engine(2**22 + 1, VALUES)
