"""Server-Sent Events, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import NAMES, recording

from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.sse import ServerSentEvents

TRICKY = (
    b'\xef\xbb\xbf: a comment\r\n\r\ndata: {"text":"gr\xc3\xbc\xc3\x9fe \xf0\x9f\x8e\xb2"}\r\n\r\n'
    b"data:no space\n\ndata: one\ndata: two\n\n"
    b": ping\n\nevent: x\nid: 7\nretry: 10\ndata:  two spaces\r\r"
    b"data\n\ndata:\n\nnonsense\n\ndata: [DONE]\n\n"
)
TRICKY_EVENTS = [
    '{"text":"grüße 🎲"}'.encode(),
    b"no space",
    b"one\ntwo",
    b" two spaces",
    b"",
    b"",
    b"[DONE]",
]


def events_of(*pieces: bytes) -> list[bytes]:
    parser = ServerSentEvents()
    return [data for piece in pieces for data in parser.feed(piece)]


def body_of(name: str) -> bytes:
    response = HttpResponse()
    for at, data in recording(name).reads:
        response.feed(at, data)
    assert response.complete
    return response.body()


def test_the_tricky_stream_reads_as_the_standard_says() -> None:
    """Comments, fields without data, a BOM and all three line ends give the standard's events."""
    assert events_of(TRICKY) == TRICKY_EVENTS


def test_every_cut_of_the_tricky_stream_gives_the_same_events() -> None:
    """Two pieces, cut at any byte (inside characters and CRLF too), change nothing."""
    for cut in range(len(TRICKY) + 1):
        assert events_of(TRICKY[:cut], TRICKY[cut:]) == TRICKY_EVENTS, cut


@given(st.lists(st.integers(0, len(TRICKY)), max_size=12))
def test_any_cuts_of_the_tricky_stream_give_the_same_events(cuts: list[int]) -> None:
    """Any number of cuts, empty pieces included, change nothing."""
    bounds = [0, *sorted(cuts), len(TRICKY)]
    pieces = [TRICKY[a:b] for a, b in pairwise(bounds)]
    assert events_of(*pieces) == TRICKY_EVENTS


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_events_of_any_text_survive_any_line_end_and_cut(
    texts: list[str], line_end: bytes, data: st.DataObject
) -> None:
    """What is written as events with any of the three line ends reads back, wherever it is cut."""
    stream = b"".join(b"data: " + text.encode() + line_end + line_end for text in texts)
    cut = data.draw(st.integers(0, len(stream)))
    assert events_of(stream[:cut], stream[cut:]) == [text.encode() for text in texts]


def test_an_event_that_no_blank_line_ends_is_discarded() -> None:
    """Half an event at the end of a stream is none."""
    assert events_of(b"data: whole\n\ndata: half\n") == [b"whole"]


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_offset_of_a_recorded_stream_is_a_harmless_cut(name: str) -> None:
    """A recorded body cut at each offset gives the same events as whole.

    The parser keeps nothing from before an event's blank line, so each cut is tried within the
    event it falls into and its neighbours; a feed byte by byte then cuts everywhere at once.
    """
    body = body_of(name)
    whole = events_of(body)
    blocks = [block + b"\n\n" for block in body.split(b"\n\n")[:-1]]
    assert b"".join(blocks) == body
    assert len(blocks) == len(whole)
    for index, block in enumerate(blocks):
        around = b"".join(blocks[max(index - 1, 0) : index + 2])
        expected = whole[max(index - 1, 0) : index + 2]
        start = len(blocks[index - 1]) if index else 0
        for cut in range(start, start + len(block)):
            assert events_of(around[:cut], around[cut:]) == expected, (index, cut)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_stream_fed_byte_by_byte_gives_the_same_events(name: str) -> None:
    """Every offset is a cut at once."""
    body = body_of(name)
    assert events_of(*(body[i : i + 1] for i in range(len(body)))) == events_of(body)
