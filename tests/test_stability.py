"""Drift, two modes and outliers in samples, and how often plain noise is taken for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gamekit.stability import drift, instabilities, outliers, trend_p, two_modes

rows = st.lists(st.integers(1, 400).map(float), min_size=5, max_size=25)
# Whole-request rates of one idle server, one after another: real, not made up.
RECORDED = [477.7, 498.9, 496.3, 772.5, 817.0]
STEADY = [701.0, 642.1, 697.7, 723.2, 713.0]


def test_the_recorded_baseline_is_of_two_states() -> None:
    """The five requests of the recordings have two modes, told with figures and with the place."""
    (found,) = instabilities(RECORDED)
    assert found.matters
    assert found.in_words("tok/s") == (
        "has two modes, 491 (n = 3) and 794.8 tok/s (n = 2), and changes over at sample 4"
    )


def test_the_recorded_speculative_server_is_steady() -> None:
    """Five requests that differ by 12 % without order are noise."""
    assert instabilities(STEADY) == []


def test_a_drift_is_told_with_its_ends() -> None:
    """A rate that rises over 15 requests drifts, and the ends are those of the fitted line."""
    found = drift([478 + 339 / 14 * number for number in range(15)])
    assert found is not None
    assert found.matters
    assert found.in_words("tok/s") == "drifts from 478 to 817 tok/s over 15 samples"


def test_many_samples_drift_as_few_do() -> None:
    """The slope of 5000 samples is taken over blocks, and has the same ends."""
    noise = np.random.default_rng(4).normal(0, 3, 5000)
    found = drift((np.linspace(80, 100, 5000) + noise).tolist())
    assert found is not None
    assert found.levels == pytest.approx((80, 100), abs=0.5)
    assert found.size == pytest.approx(20 / 90, rel=0.05)


def test_a_drift_of_half_a_percent_is_seen_and_does_not_matter() -> None:
    """What is certain need not be large: a tiny trend is no reason against a figure."""
    found = drift([79.8, 79.9, 80.0, 80.1, 80.2])
    assert found is not None
    assert not found.matters


def test_an_outlier_matters_by_how_far_it_moves_the_mean() -> None:
    """One sample of twelve at twice the rate moves the mean by 8 %; at 1.2 times by less than 2."""
    rest = [80.0, 80.4, 79.7, 80.1, 79.9, 80.2, 80.3, 79.8, 80.5, 79.6, 80.0]
    far, near = outliers([*rest, 160.0]), outliers([*rest, 96.0])
    assert far is not None
    assert near is not None
    assert (far.levels, far.matters) == ((160.0,), True)
    assert far.in_words("tok/s") == (
        "1 of 12 samples stands apart (160 tok/s) and moves the mean by 8.3%"
    )
    assert (near.levels, near.matters) == ((96.0,), False)


def test_modes_in_turn_have_no_place_where_they_change_over() -> None:
    """Samples that jump to and fro have two modes and no step."""
    found = two_modes([80.0, 95.1, 80.2, 95.0, 80.1, 95.2, 80.3, 95.3])
    assert found is not None
    assert (found.counts, found.step) == ((4, 4), None)


def test_a_single_far_sample_is_no_mode() -> None:
    """A mode has at least two samples and a fifth of all."""
    assert two_modes([80.0, 80.1, 80.2, 79.9, 160.0]) is None
    assert two_modes([*(80 + 0.01 * n for n in range(18)), 160.0, 160.1]) is None


def test_too_few_samples_tell_nothing() -> None:
    """Four samples are not judged, however they lie."""
    assert instabilities([1.0, 2.0, 100.0, 200.0]) == []


@pytest.mark.parametrize("count", [5, 8, 12, 20, 50])
@pytest.mark.parametrize("noise", ["standard_normal", "random", "exponential"])
def test_plain_noise_is_rarely_taken_for_a_fault(count: int, noise: str) -> None:
    """Of 2000 rows of noise at most 5 % drift, and as few have two modes.

    Outliers are held to that on normal noise alone: a skewed distribution does have far samples.
    """
    draws = 10 + getattr(np.random.default_rng(count), noise)(size=(2000, count))
    found = [row.tolist() for row in draws]
    assert sum(drift(row) is not None for row in found) <= 0.05 * 2000
    assert sum(two_modes(row) is not None for row in found) <= 0.05 * 2000
    if noise == "standard_normal":
        assert sum(outliers(row) is not None for row in found) <= 0.05 * 2000


def test_a_real_drift_and_real_modes_are_found() -> None:
    """The tests have power: rows of 15 that drift by 20 %, or switch between modes, are told."""
    random = np.random.default_rng(5)
    noise = random.normal(0, 2, size=(500, 15))
    drifting = 100 + np.linspace(-10, 10, 15) + noise
    switching = np.where(random.random((500, 15)) < 0.5, 90.0, 120.0) + noise
    assert sum(drift(row.tolist()) is not None for row in drifting) > 490
    assert sum(two_modes(row.tolist()) is not None for row in switching) > 450


@given(st.permutations(range(9)), st.integers(5, 9))
def test_the_exact_p_is_that_of_kendalls_tau(order: list[int], count: int) -> None:
    """Without ties the p of the trend is the exact one that scipy gives."""
    row = [float(x) for x in order[:count]]
    expected = stats.kendalltau(range(count), row, method="exact").pvalue
    assert trend_p(row) == pytest.approx(expected, abs=1e-12)


@given(rows)
def test_the_reverse_order_drifts_the_other_way(row: list[float]) -> None:
    """Turned around, a row has the same p, and a drift goes from its end to its begin."""
    there, back = drift(row), drift(row[::-1])
    assert trend_p(row) == trend_p(row[::-1])
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert back.levels == pytest.approx(there.levels[::-1], abs=1e-6)


@given(rows, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_does_not_matter(row: list[float], factor: float) -> None:
    """Ten times the numbers have the same faults of the same size."""
    one, other = instabilities(row), instabilities([x * factor for x in row])
    assert [(f.fault, f.counts, f.step) for f in one] == [
        (f.fault, f.counts, f.step) for f in other
    ]
    assert [f.size for f in one] == pytest.approx([f.size for f in other])


@given(rows, st.randoms())
def test_modes_and_outliers_do_not_depend_on_the_order(row: list[float], random) -> None:
    """Only drift, and the place of a step, look at the order."""
    mixed = list(row)
    random.shuffle(mixed)
    one, other = two_modes(row), two_modes(mixed)
    assert (None if one is None else one.counts) == (None if other is None else other.counts)
    one, other = outliers(row), outliers(mixed)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert sorted(one.levels) == sorted(other.levels)


@given(st.floats(-1e6, 1e6), st.integers(5, 40))
def test_equal_samples_have_no_fault(value: float, count: int) -> None:
    """What never changes is stable."""
    assert instabilities([value] * count) == []
    assert math.isclose(trend_p([value] * count), 1.0)
