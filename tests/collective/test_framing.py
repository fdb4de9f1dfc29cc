"""Lines of JSON between gamekit and the ranks, in whatever pieces they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.collective.framing import JsonLines

OBJECTS = st.lists(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8)))


@given(OBJECTS, st.data())
def test_pieces_of_any_size_give_the_same_objects(
    objects: list[dict[str, Any]], data: st.DataObject
) -> None:
    """A stream cut anywhere, also within a character, gives what was written."""
    stream = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in objects)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    lines = JsonLines()
    found: list[dict[str, Any]] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += lines.feed(stream[begin:end])
    assert found == objects


@pytest.mark.parametrize("piece", [b"hello\n", b"[1]\n", b"\xff\n", b"x" * (1 << 21)])
def test_what_is_no_line_of_json_is_refused(piece: bytes) -> None:
    """Also a line that never ends: nobody writes so much."""
    with pytest.raises(ValueError, match=r".+"):
        JsonLines().feed(piece)
