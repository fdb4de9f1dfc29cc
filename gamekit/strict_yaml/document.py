"""What was read from one YAML file, with the line and the source text of every field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]

_WORD = re.compile(r"[^\W\d][\w-]*")


@dataclass(frozen=True)
class Document:
    """One file: ``data`` is plain dicts (str keys), lists, str, int, float, bool and None.

    ``lines`` has the 1-based line of every key and every list item, by path; ``()`` is the line on
    which the document's content begins. ``raw`` has the text that stood in the file for every
    unquoted number, boolean and null (an unquoted text is its own source), so that 3.10 can be
    told from 3.1. ``text`` is the whole file, decoded, without byte order mark.
    """

    data: Any
    file: str
    lines: Mapping[FieldPath, int]
    raw: Mapping[FieldPath, str]
    text: str

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line of ``path`` or, where the file has no such field, of its nearest parent."""
        at = tuple(path)
        while at and at not in self.lines:
            at = at[:-1]
        return self.lines[at]


def field_name(path: Sequence[str | int]) -> str:
    """A path as people write it, ``findings[3].value.low``; the empty path is ``the document``."""
    if not path:
        return "the document"
    name = ""
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        elif _WORD.fullmatch(step):
            name += f".{step}" if name else step
        else:
            name += f"[{shortened(step)!r}]"
    return name


def shortened(text: str, limit: int = 60) -> str:
    """The text, or its beginning with an ellipsis when it is longer than ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
