"""When requests of an open loop arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.load.arrivals import Arrivals, arrival_times

RATES = st.floats(0.1, 1000)


def test_uniform_arrivals_are_evenly_spaced_from_0() -> None:
    """One every 1/rate, the first at once, none at or behind the duration."""
    assert arrival_times(4, "uniform", 1, requests=3) == [0, 0.25, 0.5]
    assert arrival_times(4, "uniform", 1, duration_s=1.0) == [0, 0.25, 0.5, 0.75]


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential_distribution() -> None:
    """Mean and standard deviation of the gaps are both 1/rate, within 4 standard errors."""
    times = arrival_times(10, "poisson", 7, requests=20_000)
    gaps = [after - before for before, after in pairwise([0.0, *times])]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(0.1, rel=4 / 20_000**0.5)
    assert deviation == pytest.approx(0.1, rel=4 * (2 / 20_000) ** 0.5)


@given(RATES, st.integers(0, 99), st.floats(0.1, 5))
def test_as_many_arrive_in_a_duration_as_the_rate_says(
    rate: float, seed: int, duration_s: float
) -> None:
    """Loads of other seeds are equally large: throughput differs by the engine, not by chance."""
    times = arrival_times(rate, "poisson", seed, duration_s=duration_s)
    assert len(times) == round(rate * duration_s)
    assert all(0 <= at < duration_s for at in times)
    requests = max(1, len(times))
    assert all(
        at < requests / rate for at in arrival_times(rate, "poisson", seed, requests=requests)
    )


def test_poisson_arrivals_come_at_any_time_alike() -> None:
    """Over many seeds each third of the time has a third of the arrivals, ends included."""
    times = [at for seed in range(2000) for at in arrival_times(2, "poisson", seed, requests=6)]
    for third in range(3):
        within = sum(third <= at < third + 1 for at in times) / len(times)
        assert within == pytest.approx(1 / 3, abs=4 * (2 / 9 / len(times)) ** 0.5)


@given(RATES, st.sampled_from(["poisson", "uniform"]), st.integers(0, 99), st.integers(1, 50))
def test_arrivals_never_go_back_and_depend_on_the_seed_alone(
    rate: float, arrivals: Arrivals, seed: int, requests: int
) -> None:
    """As many as asked for, in order, and the same ones for the same seed."""
    times = arrival_times(rate, arrivals, seed, requests=requests)
    assert len(times) == requests
    assert times == sorted(times)
    assert times[0] >= 0
    assert times == arrival_times(rate, arrivals, seed, requests=requests)


def test_seeds_differ() -> None:
    """Another seed is another sequence."""
    one, other = (arrival_times(5, "poisson", seed, requests=5) for seed in (1, 2))
    assert one != other


def test_a_load_without_rate_or_end_is_refused() -> None:
    """No rate sends nothing, and the end is given once."""
    with pytest.raises(ValueError, match="sends nothing"):
        arrival_times(0, "uniform", 1, requests=1)
    for ends in ({}, {"requests": 1, "duration_s": 1.0}):
        with pytest.raises(ValueError, match="or the duration"):
            arrival_times(1, "uniform", 1, **ends)  # type: ignore[arg-type]
