"""At how many moments the chunks of an answer came, and what came at the first of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import NAMES, generated, recording, response

from gamekit.streaming.figures import cycle_ms, decode_rate, first_chunk_tokens, moments
from gamekit.streaming.reader import read_stream
from gamekit.streaming.record import StreamRecord


def came_at(*times: float, each: int = 1, **meta: int) -> StreamRecord:
    """An answer whose chunks of ``each`` tokens came at these milliseconds."""
    events = [(at, generated(each * n)) for n, at in enumerate(times, 1)]
    return read_stream(response(*events[:-1], (times[-1], generated(each * len(times), **meta))))


@pytest.mark.parametrize("name", NAMES)
def test_each_chunk_of_a_real_engine_comes_at_a_moment_of_its_own(name: str) -> None:
    """Neither jitter nor speculation makes bursts of a recorded stream."""
    record = read_stream(recording(name).reads)
    assert moments(record) == len(record.chunks)


@given(st.lists(st.integers(1, 20), min_size=2, max_size=12), st.floats(1, 1000))
def test_as_many_moments_as_bursts(sizes: list[int], gap_ms: float) -> None:
    """However many chunks a burst has, those that came together are one moment."""
    times = [5 + gap_ms * number for number, size in enumerate(sizes) for _ in range(size)]
    assert moments(came_at(*times)) == len(sizes)


def test_a_burst_in_several_reads_is_one_moment() -> None:
    """Reads a hundredth of a millisecond apart, and then nothing for fifty: two moments."""
    times = [10 + 0.01 * n for n in range(8)] + [60 + 0.01 * n for n in range(8)]
    assert moments(came_at(*times)) == 2


def test_all_at_once_is_one_moment() -> None:
    """Without any time between them there is one moment."""
    assert moments(came_at(9, 9, 9)) == 1


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 12), st.booleans())
def test_tokens_that_came_with_the_first_are_not_of_the_time_after_it(
    first: int, each: int, later: int, as_one: bool
) -> None:
    """The rate and the cycle are those after the first moment, of one chunk or of several then."""
    totals = [1 + each * number for number in range(first + later)]
    times = [20.0] * first + [20 + 10.0 * n for n in range(1, later + 1)]
    events = list(zip(times, totals, strict=True))[first - 1 if as_one else 0 :]
    (at, total), counters = events.pop(), {"spec_verify_ct": first - 1 + later}
    record = read_stream(
        response(*((t, generated(n)) for t, n in events), (at, generated(total, **counters)))
    )
    assert first_chunk_tokens(record) == (1 + each * (first - 1), "told")
    assert decode_rate(record) == pytest.approx(each * 100)
    assert cycle_ms(record) == pytest.approx(10)
