"""Intervals of measured figures and the ranges they give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gamekit.ranges import Range
from gamekit.statistics import (
    Contrast,
    mean_interval,
    paired,
    pooled,
    pooled_deviation,
    relative_half_width,
    slope_interval,
    welch,
)

figures = st.floats(-1e6, 1e6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.floats(0.5, 0.999))
def test_mean_interval_is_that_of_the_t_distribution(samples: list[float], level: float) -> None:
    """Mean and ends agree with scipy's own interval of Student's distribution."""
    found = mean_interval(samples, level)
    spread = np.std(samples, ddof=1) / math.sqrt(len(samples))
    half = stats.t.ppf((1 + level) / 2, len(samples) - 1) * spread
    assert found.mid == pytest.approx(np.mean(samples), abs=1e-9)
    assert found.high - found.mid == pytest.approx(half, rel=1e-6, abs=1e-9)
    assert found.mid - found.low == pytest.approx(half, rel=1e-6, abs=1e-9)


def test_mean_interval_of_a_textbook_sample() -> None:
    """1 to 5 has mean 3, s = sqrt(2.5), and t(0.975, 4) = 2.776."""
    found = mean_interval([1, 2, 3, 4, 5])
    assert (found.low, found.mid, found.high) == pytest.approx((1.0367, 3, 4.9633), abs=1e-4)


def test_mean_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Of 2000 samples of five normal figures, 95 % of the intervals hold the true mean."""
    random = np.random.default_rng(3)
    draws = random.normal(82.0, 1.5, size=(2000, 5))
    held = [(found := mean_interval(row.tolist())).low <= 82.0 <= found.high for row in draws]
    assert abs(np.mean(held) - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_one_sample_has_no_interval() -> None:
    """A single sample gives its value without a width."""
    assert mean_interval([82.4]) == Range.exact(82.4)


def test_no_samples_are_refused() -> None:
    """There is no mean of nothing."""
    with pytest.raises(ValueError, match="no samples"):
        mean_interval([])


def test_samples_that_are_no_numbers_are_refused() -> None:
    """NaN and infinity never become a figure."""
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, math.nan])


def test_relative_half_width() -> None:
    """81 to 85 about 83 is 2/83; about 0 it is infinite unless the figure is exact."""
    assert relative_half_width(Range(81, 83, 85)) == pytest.approx(2 / 83)
    assert relative_half_width(Range(-85, -83, -81)) == pytest.approx(2 / 83)
    assert relative_half_width(Range(-1, 0, 1)) == math.inf
    assert relative_half_width(Range.exact(0)) == 0


@given(figures, figures, figures)
def test_a_range_is_ordered_or_refused(low: float, mid: float, high: float) -> None:
    """Only low <= mid <= high is a range."""
    if low <= mid <= high:
        assert Range(low, mid, high).is_exact == (low == high)
    else:
        with pytest.raises(ValueError, match="does not hold"):
            Range(low, mid, high)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_range_is_finite(bad: float) -> None:
    """No end and no middle may be infinite or NaN."""
    for ends in ((bad, 0, 1), (0, bad, 1), (0, 0, bad)):
        with pytest.raises(ValueError, match="finite"):
            Range(*ends)


@given(st.tuples(figures, figures), st.tuples(figures, figures))
def test_ranges_overlap_when_some_number_lies_in_both(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    """Overlap is symmetric, counts touching ends, and is that the larger low is in both."""
    first = Range(min(one), min(one), max(one))
    second = Range(min(other), min(other), max(other))
    shared = max(first.low, second.low)
    assert first.overlaps(second) == (shared <= first.high and shared <= second.high)
    assert first.overlaps(second) == second.overlaps(first)


some = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(some, some)
def test_a_contrast_of_two_groups_is_welchs_interval(one: list[float], other: list[float]) -> None:
    """With weights 1 and -1, middle and ends are those of scipy's test without equal variances."""
    found = welch([one, other], [1, -1]).interval()
    assert found.mid == pytest.approx(np.mean(one) - np.mean(other), abs=1e-9)
    if min(np.std(one), np.std(other)) > 1e-3:
        theirs = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6)


def test_a_contrast_of_groups_without_spread_is_exact() -> None:
    """What does not vary leaves no width, and single samples are refused, not taken as exact."""
    assert welch([[3.0, 3.0], [1.0, 1.0]], [1, -1]).interval() == Range.exact(2.0)
    with pytest.raises(ValueError, match="fewer than two"):
        welch([[3.0], [1.0, 1.0]], [1, -1])


@given(st.lists(st.tuples(st.integers(1, 8), st.floats(0, 100)), min_size=3, max_size=12))
def test_a_slope_is_that_of_least_squares(points: list[tuple[int, float]]) -> None:
    """Slope and interval agree with scipy's regression."""
    xs, ys = [float(x) for x, _ in points], [y for _, y in points]
    if len(set(xs)) < 2:
        with pytest.raises(ValueError, match="two places"):
            slope_interval(list(zip(xs, ys, strict=True)))
        return
    found, has_interval = slope_interval(list(zip(xs, ys, strict=True)))
    theirs = stats.linregress(xs, ys)
    assert has_interval
    assert found.mid == pytest.approx(theirs.slope, rel=1e-6, abs=1e-6)
    if np.std(ys) > 1e-3:  # scipy gives no error for a level line
        half = stats.t.ppf(0.975, len(points) - 2) * theirs.stderr
        assert found.high - found.mid == pytest.approx(half, rel=1e-4, abs=1e-4)


def test_two_points_give_a_slope_without_an_interval() -> None:
    """A line through two points has no residual, so nothing is known of its error."""
    assert slope_interval([(2, 30.0), (3, 34.0)]) == (Range.exact(4.0), False)


@given(st.lists(some, min_size=1, max_size=4), st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_the_deviation_within_groups_knows_nothing_of_their_means(
    groups: list[list[float]], shifts: list[float]
) -> None:
    """Shifting whole groups leaves it as it is, and single samples tell nothing."""
    moved = [[x + by for x in group] for group, by in zip(groups, shifts, strict=False)]
    assert pooled_deviation(moved) == pytest.approx(pooled_deviation(groups), abs=1e-6)
    assert pooled_deviation([[1.0], [2.0]]) is None


@given(st.lists(figures, min_size=2, max_size=12), st.lists(figures, min_size=1, max_size=12))
def test_pooled_is_the_two_sample_interval_of_student(one: list[float], other: list[float]) -> None:
    """Samples taken to vary alike give scipy's statistic, also where the other is a single one."""
    found = pooled((one, other), (-1, 1))
    assert found.value == pytest.approx(np.mean(other) - np.mean(one), abs=1e-6)
    assert found.freedom == len(one) + len(other) - 2
    squares = sum(np.var(group) * len(group) for group in (one, other))
    error = math.sqrt(squares / found.freedom * (1 / len(one) + 1 / len(other)))
    assert found.error == pytest.approx(error, rel=1e-6, abs=1e-6)


def test_pairs_take_out_what_both_have_in_common() -> None:
    """Two rows that wander together differ by little, and the paired error says so."""
    common = [0.0, 5.0, 10.0, 15.0, 20.0]
    one = [80 + x for x in common]
    other = [81 + x + step for x, step in zip(common, (0.1, -0.1, 0.0, 0.1, -0.1), strict=True)]
    found = paired([b - a for a, b in zip(one, other, strict=True)])
    assert found.value == pytest.approx(1.0)
    assert found.interval().low > 0.8
    assert welch((one, other), (-1, 1)).interval().low < 0


def test_what_is_said_to_be_detectable_is_detected_as_often_as_said() -> None:
    """A true difference of the detectable size is seen in four of five comparisons."""
    random = np.random.default_rng(11)
    error = math.sqrt(2 / 8)
    size = Contrast(0, error, 14).detectable()
    draws = random.normal(0, 1, size=(2000, 2, 8))
    draws[:, 1] += size
    seen = [not welch(pair, (-1, 1)).interval().overlaps(Range.exact(0)) for pair in draws]
    assert abs(np.mean(seen) - 0.8) < 0.04


def test_too_few_samples_have_no_contrast() -> None:
    """One pair, two single samples and nothing at all are refused."""
    for call in (
        lambda: paired([1.0]),
        lambda: pooled(([1.0], [2.0]), (-1, 1)),
        lambda: pooled(([1, 2], []), (-1, 1)),
    ):
        with pytest.raises(ValueError, match="variance"):
            call()
