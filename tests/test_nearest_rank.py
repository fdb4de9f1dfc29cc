"""Percentiles of samples by the nearest rank, and everybody who reports one."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit import event_loop
from gamekit.event_loop import LoopLag, PreciseSelector
from gamekit.nearest_rank import quantile
from gamekit.streaming.receiver import ReceiveLoad, Receiver


def test_percentiles_are_nearest_rank() -> None:
    """The smallest sample that at least the given part does not exceed."""
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [quantile(samples, f) for f in (0.01, 0.5, 0.6, 0.61, 1.0)] == [1, 3, 3, 4, 5]


@given(st.integers(1, 100), st.integers(1, 3000))
def test_the_rank_of_a_whole_percentage_is_that_of_integers(percent: int, count: int) -> None:
    """No rounding of floats moves the rank: it is ceil(percent * n / 100) for every n."""
    assert quantile(range(1, count + 1), percent / 100) == -(-percent * count // 100)


def test_a_fraction_that_floats_round_up_keeps_its_rank() -> None:
    """0.07 times 100 is above 7 as a float, and its rank is the 7th all the same."""
    assert 0.07 * 100 > 7
    assert quantile(range(1, 101), 0.07) == 7


def test_no_samples_have_no_percentile() -> None:
    """Nothing is made up."""
    with pytest.raises(ValueError, match="no samples"):
        quantile([], 0.5)


def test_the_lag_of_a_loop_reports_the_99th_of_100_turns() -> None:
    """One turn of a hundred that lasted long is the maximum, and not the p99."""

    async def main(selector: PreciseSelector) -> LoopLag:
        selector._busy_ns = array("q", [1_000_000 * n for n in range(1, 101)])
        return selector.lag()

    lag = event_loop.run(main)
    assert (lag.turns, lag.p99_ms, lag.max_ms) == (100, 99, 100)


def test_the_load_of_a_receiver_reports_the_99th_of_100_waits() -> None:
    """One read of a hundred that waited long is the maximum, and not the p99."""

    async def main(_: PreciseSelector) -> ReceiveLoad:
        receiver = Receiver()
        receiver._waits_ns = array("q", [1_000_000 * n for n in range(1, 101)])
        load = receiver.load()
        receiver.close()
        return load

    load = event_loop.run(main)
    assert (load.stamped, load.wait_p99_ms, load.wait_max_ms) == (100, 99, 100)
