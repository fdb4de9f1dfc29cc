"""Which child interpreters the persisted values reach, and what stands in their place elsewhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gamekit.errors import MachineRefused, UsageFault
from gamekit.nccl.place import answering, child

PREFIX = "NCCL_"
_REPORT = (
    "import json, os, sys\n"
    "from importlib.machinery import PathFinder\n"
    f"names = {{n: v for n, v in os.environ.items() if n.startswith({PREFIX!r})}}\n"
    "module = sys.modules.get('sitecustomize')\n"
    # What failed is no module; Python found it where it would be found again.
    "path = sys.path[1:] if sys.path[:1] == [''] else sys.path\n"
    "spec = None\n"
    "if module is None and not sys.flags.no_site:\n"
    "    spec = PathFinder.find_spec('sitecustomize', path)\n"
    "failed = spec.origin if spec is not None and spec.loader is not None else None\n"
    + answering("[names, getattr(module, '__file__', None), failed]")
)
PLAIN, VENV = "plain", "venv"
# What each switch leaves out: the whole of site; variables and the user's folder; the variables of
# Python; the user's site-packages.
SWITCHES = ("-S", "-I", "-E", "-s")
_WHY = {"-S": "Python does not import sitecustomize then"}
ENVIRONMENT = "this environment"
# The children whose lack of a value is the answer no; the others are told.
DECISIVE = (PLAIN, ENVIRONMENT)


@dataclass(frozen=True)
class Reach:
    """How one child interpreter was started, and what it had of the values.

    ``missing`` has no value there, ``different`` another. ``imported`` is its sitecustomize, and
    ``import_error`` why that failed. ``failure`` says why the child could not be asked.
    """

    python: str
    started: str
    imported: str | None = None
    missing: tuple[str, ...] = ()
    different: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    import_error: str | None = None

    @property
    def reached(self) -> bool:
        """Whether all values are there."""
        return not (self.missing or self.different or self.failure)

    @property
    def why(self) -> str:
        """In words what is missing, different or failed, and why as far as known; else nothing."""
        if self.failure:
            return self.failure
        parts = [f"{name}={value} is set there" for name, value in self.different.items()]
        if self.missing:
            parts.append(f"without {', '.join(self.missing)}")
        if self.import_error:
            parts.append(f"{self.imported or 'its sitecustomize'} fails: {self.import_error}")
        elif self.missing:
            parts.append(
                _WHY.get(self.started)
                or (f"imports {self.imported}" if self.imported else "no sitecustomize is imported")
            )
        return "; ".join(parts)


def reaches(python: str, values: Mapping[str, str]) -> Iterator[Reach]:
    """Start one child of each sort with no NCCL variable set, and tell what each has.

    Last, where this process's environment sets another value: what a child of it has.
    """
    # Under PYTHONVERBOSE Python tells a failure in another way, among many lines.
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(PREFIX) and name != "PYTHONVERBOSE"
    }
    yield _ask(python, PLAIN, python, (), values, clean)
    yield _in_a_venv(python, values, clean)
    for switch in SWITCHES:
        yield _ask(python, switch, python, (switch,), values, clean)
    # A value that is the persisted one may be here because of it; another one cannot.
    others = {name: os.environ[name] for name in values if name in os.environ}
    if any(values[name] != value for name, value in others.items()):
        yield _ask(python, ENVIRONMENT, python, (), values, {**clean, **others})


def _in_a_venv(python: str, values: Mapping[str, str], clean: Mapping[str, str]) -> Reach:
    with tempfile.TemporaryDirectory(prefix="gamekit-nccl-") as folder:
        program = (
            "import json, venv, sys\n"
            f"venv.EnvBuilder(with_pip=False, symlinks=True).create({folder!r})\n"
        )
        try:
            child(python, ["-c", program + answering("None")], lambda answer: answer is None, clean)
        except MachineRefused as error:
            failure = f"no virtual environment could be made: {error.message}"
            return Reach(python, VENV, failure=failure)
        inner = str(Path(folder, "bin", "python"))
        try:
            return _ask(python, VENV, inner, (), values, clean)
        except UsageFault:
            return Reach(python, VENV, failure="a virtual environment made of it does not start")


def _ask(
    python: str,
    started: str,
    executable: str,
    switches: tuple[str, ...],
    values: Mapping[str, str],
    environment: Mapping[str, str],
) -> Reach:
    try:
        told = child(executable, [*switches, "-c", _REPORT], _is_a_report, environment)
    except MachineRefused as error:
        return Reach(python, started, failure=error.message)
    there, imported, failed = told.answer
    # An ImportError that names sitecustomize itself is passed over by Python in silence.
    silent = "Python passes over its ImportError in silence" if failed else None
    return Reach(
        python,
        started,
        imported or failed,
        import_error=told.failure or silent,
        missing=tuple(name for name in values if name not in there),
        different={n: there[n] for n, v in values.items() if n in there and there[n] != v},
    )


def _is_a_report(answer: Any) -> bool:
    match answer:
        case [dict() as names, str() | None, str() | None]:
            return all(isinstance(value, str) for value in names.values())
    return False
