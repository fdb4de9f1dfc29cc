"""The kinds of failure: each a class that knows its exit code, its place and how to mend it.

Nothing else in gamekit prints an error or picks an exit code: code raises one of these, and
``gamekit.commands`` turns it into one line on stderr (``file:line: finding id: what; how to mend``)
or, under ``--json``, into one object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

_LONGEST = 4_000
# A longer word is a name or a value that somebody gave: its beginning is enough to know it again.
_LONG_WORD = re.compile(r"(\S{300})\S{200,}")


class GamekitError(Exception):
    """Base of all failures. ``exit_code`` is the process's exit code (the command contract)."""

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        finding: str | None = None,
        mend: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.finding = finding
        self.mend = mend

    def __str__(self) -> str:
        place = ""
        if self.file is not None:
            place = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        finding = f"finding {_short(self.finding)}: " if self.finding else ""
        mend = f"; {self.mend}" if self.mend else ""
        # One line, whatever a hostile file or file name put into it.
        if len(place) > _LONGEST:  # longer than any path
            place = _short(place)
        return _one_line(f"{place}{finding}{_short(self.message)}{_short(mend)}")

    def as_dict(self) -> dict[str, Any]:
        """The error as the JSON object that ``--json`` prints."""
        return {
            "error": type(self).__name__,
            "message": _short(self.message),
            "mend": self.mend and _short(self.mend),
            "file": self.file,
            "line": self.line,
            "finding": self.finding,
            "exit_code": self.exit_code,
        }


def _short(text: str) -> str:
    """A text as it is shown: a name of a million characters in it, or a million names, is cut."""
    text = _LONG_WORD.sub(r"\1…", text)
    return (
        text if len(text) <= _LONGEST else f"{text[: _LONGEST * 3 // 4]} … {text[-_LONGEST // 4 :]}"
    )


def _one_line(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


class KnowledgeError(GamekitError):
    """The knowledge base is wrong: a file, a finding or what connects them."""

    exit_code = 1


class YamlError(KnowledgeError):
    """A YAML file that cannot be read, or that two YAML readers would read differently."""


class FindingError(KnowledgeError):
    """A finding that its model refuses: a missing, unknown or impossible field."""


class ReferenceFault(KnowledgeError):
    """An id that names nothing, two findings of one id, or references that run in a circle."""


class FormulaError(KnowledgeError):
    """A formula that is malformed or names what does not exist."""


class TemplateFault(KnowledgeError):
    """A template that cannot be rendered, with the finding it was rendering."""


class KnowledgeErrors(KnowledgeError):
    """Several faults of one knowledge base, told together; ``problems`` is in file order."""

    def __init__(self, problems: Sequence[GamekitError]) -> None:
        self.problems = list(problems)
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        """All problems, each as its own object."""
        return {
            "error": "KnowledgeErrors",
            "exit_code": self.exit_code,
            "problems": [problem.as_dict() for problem in self.problems],
        }


class UsageFault(GamekitError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


class NotApplicable(UsageFault):
    """A benchmark has nothing to measure at this engine: left out where nobody asked for it."""


class DocumentsDiffer(GamekitError):
    """Documents that are stale, edited by hand or orphaned."""

    exit_code = 3


class AnswerIsNo(GamekitError):
    """The question was answered, and the answer is no (worse, incompatible)."""

    exit_code = 4


class NoAnswer(GamekitError):
    """The question has no answer yet (inconclusive, insufficient)."""

    exit_code = 5


class BenchmarkFailed(GamekitError):
    """A benchmark failed, or nothing was measured."""

    exit_code = 6


class MachineRefused(GamekitError):
    """The machine said no: disk, permission, network."""

    exit_code = 7


class ModuleMissing(MachineRefused):
    """The Python that runs gamekit lacks a module that gamekit needs."""
