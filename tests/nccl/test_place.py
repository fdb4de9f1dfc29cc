"""The file that an interpreter imports at its start is found, and a new one's place."""

from __future__ import annotations

import py_compile
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gamekit.errors import MachineRefused, UsageFault
from gamekit.nccl.place import interpreter, place
from gamekit.nccl.reach import reaches


def test_a_virtual_environment_has_its_own_place(venv: Path) -> None:
    """A new file goes into the environment's site-packages; one that is there is used."""
    python = interpreter(str(venv))
    assert python.is_venv
    where = place(python)
    assert where.file == Path(python.site_packages, "sitecustomize.py")
    assert where.file.is_relative_to(venv.parent.parent)
    where.file.write_text("pass\n")
    again = place(interpreter(str(venv)))
    assert (again.file, again.hidden_by) == (where.file, None)


def test_a_file_that_would_not_be_imported_is_refused(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the standard library has one, as Debian's, it is named; an earlier one is used."""
    first = tmp_path / "first"
    first.mkdir()
    (first / "sitecustomize.py").write_text("print('noise')\n")
    monkeypatch.setenv("PYTHONPATH", str(first))
    python = interpreter(str(venv))
    assert place(python).file == first / "sitecustomize.py"
    debian = replace(python, standard_library=str(first))
    with pytest.raises(MachineRefused, match=f"--path {first}"):
        place(debian)
    assert place(debian, first / "sitecustomize.py").hidden_by is None


def test_a_folder_that_is_not_on_the_path_yet_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file elsewhere hides what is imported today, since PYTHONPATH puts it in front."""
    today = tmp_path / "today"
    today.mkdir()
    (today / "sitecustomize.py").write_text("pass\n")
    monkeypatch.setenv("PYTHONPATH", str(today))
    where = place(interpreter(sys.executable), tmp_path / "new" / "sitecustomize.py")
    assert where.shadowed == str(today / "sitecustomize.py")


def test_a_package_of_that_name_is_extended_in_its_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sitecustomize that is a package is found; a folder without code is none."""
    (tmp_path / "empty" / "sitecustomize").mkdir(parents=True)
    package = tmp_path / "sitecustomize"
    package.mkdir()
    (package / "__init__.py").write_text("pass\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'empty'}:{tmp_path}")
    assert interpreter(sys.executable).imported == str(package / "__init__.py")


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        ("/nowhere/python", UsageFault, "there is no"),
        ("", UsageFault, "name is empty"),
        *(
            (program, UsageFault, f"^{program} is no working Python 3 interpreter; [^;]*$")
            for program in ("/bin/false", "/bin/true", "/bin/ls", "/bin/echo")
        ),
        ("/etc", MachineRefused, "does not start"),
    ],
)
def test_what_is_no_interpreter_is_told(program: str, error: type[Exception], says: str) -> None:
    """A program that is missing, or is no Python, is one line without that program's output."""
    with pytest.raises(error, match=says):
        interpreter(program)


def test_a_python_whose_start_fails_is_told_with_its_error(venv: Path) -> None:
    """A sitecustomize that ends Python is told by the last line of what Python says."""
    Path(interpreter(str(venv)).site_packages, "sitecustomize.py").write_text("raise SystemExit(3)")
    with pytest.raises(MachineRefused, match="ended with 1: SystemExit: 3; it is a Python"):
        interpreter(str(venv))


def test_output_around_the_answer_and_odd_paths_do_no_harm(venv: Path) -> None:
    """A sitecustomize may print before and at the end, and put what is no text into the path."""
    file = Path(interpreter(str(venv)).site_packages, "sitecustomize.py")
    file.write_text(
        "import atexit, pathlib, sys\nprint('noise', end='')\n"
        "atexit.register(print, 'more gamekit-answer: [')\n"
        "sys.path.insert(0, pathlib.Path('/odd'))\n"
    )
    assert interpreter(str(venv)).imported == str(file)


@pytest.mark.parametrize(
    "answer",
    [
        *("[1,2", "null", "{}", "[" * 100_000, "[[], [], 1, 2, 3]", '[[], [[1, 2]], "", "", true]'),
        *('[[1], [], "", "", true]', '[[], [""], "", "", true]'),
    ],
)
@pytest.mark.parametrize("end", [":end-of-answer", ""])
def test_an_answer_of_another_shape_is_refused(tmp_path: Path, answer: str, end: str) -> None:
    """A program that answers something else than was asked is no Python that answers."""
    (tmp_path / "answer").write_text(f"gamekit-answer:{answer}{end}\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(0o755)
    with pytest.raises(MachineRefused, match="is no Python that answers"):
        interpreter(str(program))
    (plain, *_) = reaches(str(program), {"NCCL_ALGO": "Ring"})
    assert "is no Python that answers" in plain.why


def test_a_compiled_module_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python imports a compiled file without source, nothing can be added to it."""
    source = tmp_path / "s.py"
    source.write_text("pass\n")
    py_compile.compile(str(source), cfile=str(tmp_path / "sitecustomize.pyc"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = interpreter(sys.executable)
    with pytest.raises(MachineRefused, match="no Python text"):
        place(python, Path(python.imported or ""))
