"""Bandwidths of an all-reduce, and how far its verified values reach."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.collective.arithmetic import (
    LEAD,
    SMALLEST_EXPONENT,
    bandwidths,
    bus_factor,
    decode_message_bytes,
    most_iterations,
)


@pytest.mark.parametrize(("ranks", "factor"), [(1, 0), (2, 1), (4, 1.5), (8, 1.75)])
def test_the_factor_of_the_bus_bandwidth_is_the_standard_one(ranks: int, factor: float) -> None:
    """0, 1, 1.5 and 1.75 for 1, 2, 4 and 8 ranks."""
    assert bus_factor(ranks) == factor


def test_bandwidths_are_in_units_of_ten_to_the_nine() -> None:
    """1 MB in 10 us is 100 GB/s; four ranks move one and a half times as much."""
    assert bandwidths(10**6, 10.0, 4) == pytest.approx((100.0, 150.0))


def test_a_decode_step_of_four_tokens_sends_57_kb() -> None:
    """1 request, 4 tokens, 7168 values of two bytes."""
    assert decode_message_bytes(1, 4, 7168) == 57344


@given(st.integers(1, 2**33), st.floats(0.1, 1e7), st.integers(1, 1024))
def test_bus_and_algorithm_bandwidth_keep_their_ratio(
    size: int, latency_us: float, ranks: int
) -> None:
    """The bus bandwidth is the factor times the algorithm bandwidth, and less than its double."""
    algorithm, bus = bandwidths(size, latency_us, ranks)
    assert algorithm * latency_us * 1e3 == pytest.approx(size)
    assert bus == pytest.approx(algorithm * bus_factor(ranks))
    assert bus < 2 * algorithm


@pytest.mark.parametrize("latency_us", [0.0, -1.0, math.nan])
def test_no_time_gives_no_bandwidth(latency_us: float) -> None:
    """A time that is none is refused."""
    with pytest.raises(ValueError, match="all-reduce"):
        bandwidths(8, latency_us, 2)


def test_no_ranks_have_no_factor() -> None:
    """A group has at least one rank."""
    with pytest.raises(ValueError, match="0 ranks"):
        bus_factor(0)


@given(st.integers(2, 128))
def test_values_stay_below_what_bfloat16_holds(ranks: int) -> None:
    """The longest row of all-reduces ends below 2^127, and one more may not."""
    most = most_iterations(ranks)
    assert most >= 20
    kinds = max(1, min(7, 256 // ranks))
    times = LEAD + most
    assert math.log2(ranks * kinds) + (times - 1) * math.log2(ranks) + SMALLEST_EXPONENT < 128
