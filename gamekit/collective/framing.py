"""Lines of JSON on a stream: whole lines out of pieces of any size."""

from __future__ import annotations

import json
from typing import Any

# No answer of a rank is nearly as long.
_LONGEST = 1 << 20


class JsonLines:
    """Takes pieces of a stream and gives the objects of the lines that are whole."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The objects that end in ``piece``. Raises ``ValueError`` for what is no such line."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _LONGEST:
            raise ValueError("a line without an end")
        return [_object(line) for line in lines]


def _object(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError(f"{found!r:.100} is no object")
    return found
