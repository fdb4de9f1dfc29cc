"""Recorded streams of a real engine, read with their own time stamps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import NAMES, RECORDINGS, recording

from gamekit.streaming.figures import stream_figures
from gamekit.streaming.reader import read_stream
from gamekit.streaming.record import StreamRecord


def table() -> dict[str, list[str]]:
    """The rows of the README's table, by stream."""
    lines = (RECORDINGS / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "/" in line]
    return {row[0]: row[1:] for row in rows if len(row) == 7}


def record_of(name: str) -> StreamRecord:
    return read_stream(recording(name).reads)


def test_the_table_has_a_row_for_each_recording() -> None:
    """No recording goes unchecked."""
    assert sorted(table()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_stream_gives_the_row_of_the_table(name: str) -> None:
    """Tokens, first and last token, counters and finish are those that were read by hand."""
    tokens, first, last, verifies, correct, finish = table()[name]
    record = record_of(name)
    assert record.failure is None
    assert (record.first_token_ms, record.last_token_ms) == (float(first), float(last))
    assert record.finish_reason == finish
    if tokens.startswith("unknown"):
        assert record.completion_tokens is None
        assert record.count_source == "unknown"
        assert f"({len(record.chunks)} chunks)" in tokens
    else:
        assert record.completion_tokens == int(tokens.split()[0])
        assert record.count_source == ("usage" if "usage" in tokens else "meta_info")
    if verifies.isdigit():
        assert record.speculation is not None
        assert record.speculation.verify_count == int(verifies)
        assert record.speculation.correct_drafts == int(correct)
    else:
        assert record.speculation is None


def test_the_speculative_generate_stream_knows_its_chunks_and_cycle() -> None:
    """Tokens per chunk are exact, and accept length and cycle follow from the counters."""
    record = record_of("eagle3-sim2.6/generate")
    counts = [chunk.tokens for chunk in record.chunks]
    assert counts[:3] == [1, 2, 3]
    assert sum(n for n in counts if n is not None) == 256
    assert len(counts) == 97
    assert record.speculation is not None
    assert record.speculation.histogram == (0, 31, 65)
    assert record.speculation.proposed_drafts == 288
    figures = stream_figures(record)
    assert figures.accept_length == pytest.approx(1 + 161 / 96)
    assert figures.cycle_ms == pytest.approx((541.348 - 53.444) / 96)
    assert figures.decode_rate == pytest.approx(255 / 0.487904)
    assert figures.first_chunk_source == "told"
    assert any("16 of 18 prompt tokens" in warning for warning in figures.warnings)


def test_a_chat_stream_without_a_count_per_chunk_says_what_it_assumed() -> None:
    """Over the chat route the first chunk's single token is an assumption, and it is said."""
    figures = stream_figures(record_of("eagle3-sim2.6/chat"))
    assert figures.decode_rate == pytest.approx(255 / (0.437697 - 0.022120))
    assert figures.first_chunk_source == "assumed"
    assert figures.accept_length is None


def test_a_chat_stream_with_a_chunk_a_token_needs_no_assumption() -> None:
    """256 chunks for 256 tokens are one token each."""
    figures = stream_figures(record_of("baseline/chat"))
    assert figures.first_chunk_source == "counted"
    assert figures.warnings == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_response_read_byte_by_byte_gives_the_same_record(name: str) -> None:
    """Headers, chunk framing and events cut at every offset at once: same record, same times."""
    reads = recording(name).reads
    single = [(at, data[i : i + 1]) for at, data in reads for i in range(len(data))]
    assert read_stream(single) == read_stream(reads)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_recorded_response_that_ends_anywhere_before_done_has_failed(data: st.DataObject) -> None:
    """A connection cut at any byte before the terminator is a failure, never a shorter answer."""
    reads = recording("eagle3-sim2.6/completions-no-usage").reads
    whole = b"".join(part for _, part in reads)
    end = whole.index(b"data: [DONE]\n\n") + len(b"data: [DONE]\n")
    cut = data.draw(st.integers(0, end))
    record = read_stream([(1.0, whole[:cut])])
    assert record.failure is not None
    assert record.failure.kind == "connection"
