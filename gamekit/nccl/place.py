"""Which sitecustomize.py an interpreter imports at its start, and where a new one belongs."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gamekit.errors import MachineRefused, UsageFault
from gamekit.nccl.children import run

NAME = "sitecustomize.py"
_NAME_ONE = "name a Python 3 by --python, such as /opt/engine/bin/python"
_ANSWER = "gamekit-answer:"
# The mark as a program writes it: one that only prints its arguments, as echo does, has no answer.
_MARK = '"\\n" + "gamekit-" + "answer:"'
_CLOSE = '":end-of-" + "answer"'
_LINE = re.compile(rb"^gamekit-answer:(.*):end-of-answer$", re.MULTILINE)
# For any Python 3, with what its site module made of its path. `python -c` puts "" in front of the
# path only after sitecustomize was imported.
_ASK = f"""
import json, sys, sysconfig
from importlib.machinery import PathFinder
path = sys.path[1:] if sys.path[:1] == [""] else sys.path
path = [entry for entry in path if isinstance(entry, str)]
found = []
for entry in path:
    spec = PathFinder.find_spec("sitecustomize", [entry])
    if spec is not None and spec.loader is not None and spec.origin:
        found.append([entry, spec.origin])
print({_MARK} + json.dumps([
    path, found, sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"],
    sys.prefix != sys.base_prefix,
]) + {_CLOSE})
"""
# As the function execsitecustomize of Python's site module writes it; the error comes next.
_FAILED = "Error in sitecustomize;"
_COMPILE = "import sys; compile(sys.stdin.buffer.read(), 'it', 'exec', dont_inherit=True)"


@dataclass(frozen=True)
class Interpreter:
    """A Python as it is after its start: its path, and each sitecustomize on it, in their order."""

    executable: str
    path: tuple[str, ...]
    found: tuple[tuple[str, str], ...]
    site_packages: str
    standard_library: str
    is_venv: bool

    @property
    def imported(self) -> str | None:
        """The sitecustomize that it imports at its start."""
        return self.found[0][1] if self.found else None


@dataclass(frozen=True)
class Place:
    """The file that a block belongs into, and what stands around it on the interpreter's path.

    ``shadowed`` is the file that Python would import if this one were not there.
    ``hidden_by`` is the one that Python imports instead of this.
    """

    file: Path
    interpreter: Interpreter
    shadowed: str | None = None
    hidden_by: str | None = None


class Told(NamedTuple):
    """What a child interpreter answered, and what it said of a failing sitecustomize."""

    answer: Any
    failure: str | None


def child(
    executable: str,
    arguments: Sequence[str],
    fits: Callable[[Any], bool],
    environment: Mapping[str, str] | None = None,
) -> Told:
    """What a child interpreter answered; its program prints it as the line of ``answering``.

    ``fits`` says whether the answer has the shape that was asked for. Raises ``UsageFault`` when
    there is no such program or it is no Python 3, ``MachineRefused`` when it does not start,
    answers nothing or something else, or takes more than a minute.
    """
    if not executable:
        raise UsageFault("the interpreter's name is empty", mend=_NAME_ONE)
    # -B: a question leaves no compiled file behind.
    done = run([executable, "-B", *arguments], mend=_NAME_ONE, environment=environment)
    if done.code == 0 and _ANSWER.encode("ascii") in done.output:
        return Told(_read(executable, done.output, fits), _failure(done.errors))
    # What another program says of arguments that were meant for Python helps nobody.
    bare = run(
        [executable, "-I", "-S", "-c", f"print({_MARK})"], mend=_NAME_ONE, environment=environment
    )
    if bare.code != 0 or _ANSWER.encode("ascii") not in bare.output:
        raise UsageFault(f"{executable} is no working Python 3 interpreter", mend=_NAME_ONE)
    told = done.errors.decode("utf-8", "backslashreplace").strip().splitlines()
    raise MachineRefused(
        f"{executable} ended with {done.code}{f': {told[-1]}' if told else ''}",
        mend="it is a Python, but not with what it imports at its start: mend that",
    )


def _read(executable: str, output: bytes, fits: Callable[[Any], bool]) -> Any:
    # What its sitecustomize prints stands on lines before, and what it prints at the end behind.
    lines = _LINE.findall(output)
    with suppress(ValueError, RecursionError):
        answer = json.loads(lines[-1] if lines else b"")
        if fits(answer):
            return answer
    raise MachineRefused(f"{executable} is no Python that answers", mend=_NAME_ONE)


def _failure(errors: bytes) -> str | None:
    """What Python says of a sitecustomize that raised: the line behind its announcement."""
    lines = errors.decode("utf-8", "backslashreplace").splitlines()
    for announced, told in itertools.pairwise(lines):
        if announced.startswith(_FAILED):
            return told.strip()
    return None


def answering(expression: str) -> str:
    """The Python statement that answers ``child`` with the JSON of ``expression``."""
    return f"print({_MARK} + json.dumps({expression}) + {_CLOSE})"


def interpreter(executable: str) -> Interpreter:
    """Ask the interpreter for its path, as it is under the environment that this process has."""
    told = child(executable, ["-c", _ASK], _is_a_start)
    path, found, site_packages, library, is_venv = told.answer
    where = tuple((entry, origin) for entry, origin in found)
    return Interpreter(executable, tuple(path), where, site_packages, library, is_venv)


def _is_a_start(answer: Any) -> bool:
    match answer:
        case [[*path], [*found], str(), str(), bool()]:
            return all(isinstance(entry, str) for entry in path) and all(map(_is_a_pair, found))
    return False


def _is_a_pair(answer: Any) -> bool:
    match answer:
        case [str(), str()]:
            return True
    return False


def place(python: Interpreter, path: Path | None = None) -> Place:
    """Where the block of ``python`` belongs; ``path`` is the file that the user chose instead.

    Without ``path``: the file that the interpreter imports. Of a virtual environment it is the one
    in its own site-packages, so that other environments stay as they are, unless ``PYTHONPATH``
    names an earlier one. Raises ``MachineRefused`` when the environment's would not be imported,
    since the standard library's folder, which other environments share, has one.
    """
    if path is not None:
        return _chosen(python, path)
    if not python.is_venv:
        file = Path(python.imported or Path(python.site_packages, NAME))
        return Place(_writable(file), python)
    file = Path(python.site_packages, NAME)
    own = _same_folder(python, file.parent)
    chosen = _chosen(python, Path(own) if own else file)
    if chosen.hidden_by:
        entry = next(entry for entry, origin in python.found if origin == chosen.hidden_by)
        if not _same(entry, python.standard_library):
            return Place(_writable(Path(chosen.hidden_by)), python)
        raise MachineRefused(
            f"{chosen.file} would not be imported: {chosen.hidden_by} comes before it",
            mend=f"name that one, which other environments read too: --path {chosen.hidden_by}",
        )
    return chosen


def _chosen(python: Interpreter, path: Path) -> Place:
    file = _writable(Path.cwd() / path)  # not resolved: a symbolic link stays one
    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    position = _position(python, folder)
    if position is None:
        # Not on the path yet: PYTHONPATH is to put it there, in front of all others.
        return Place(file, python, python.imported)
    before = [origin for entry, origin in python.found if _index(python, entry) < position]
    after = [origin for entry, origin in python.found if _index(python, entry) > position]
    shadowed = after[0] if after else None
    return Place(file, python, shadowed, before[0] if before else None)


def _index(python: Interpreter, entry: str) -> int:
    return python.path.index(entry)


def _position(python: Interpreter, folder: Path) -> int | None:
    for index, entry in enumerate(python.path):
        if _same(entry, folder):
            return index
    return None


def _same(one: str | Path, other: str | Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _same_folder(python: Interpreter, folder: Path) -> str | None:
    return next((origin for entry, origin in python.found if _same(entry, folder)), None)


def _writable(file: Path) -> Path:
    if file.suffix != ".py":
        raise MachineRefused(f"{file} is no Python text", mend="choose another file with --path")
    return file


def compiles(executable: str, content: bytes) -> str | None:
    """Why the interpreter cannot compile ``content``, or None when it can.

    Raises as ``child`` does where the interpreter cannot be asked.
    """
    done = run([executable, "-I", "-S", "-c", _COMPILE], mend=_NAME_ONE, content=content)
    told = done.errors.decode("utf-8", "backslashreplace").strip().splitlines()
    return None if done.code == 0 else (told[-1] if told else f"exit {done.code}")
