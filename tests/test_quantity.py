"""The quantity of a finding: its forms, its stated range and its rounding."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gamekit.quantity import Quantity, rounding_step
from gamekit.ranges import Range
from gamekit.statistics import mean_interval


def quantity(**fields: Any) -> Quantity:
    return Quantity(unit="tok/s", **fields)


def test_a_value_is_exact_as_stated() -> None:
    """A figure that nobody gave a range has none."""
    assert quantity(value=82).stated() == Range.exact(82)
    assert quantity(value=82).interval is None


def test_a_range_has_its_middle_unless_a_value_is_stated() -> None:
    """59 to 61 has 60 in the middle; a stated value stands instead, wherever it lies."""
    assert quantity(low=59, high=61, range="observed").stated() == Range(59, 60, 61)
    stated = quantity(low=59, value=59.5, high=61, range="confidence")
    assert stated.stated() == Range(59, 59.5, 61)
    assert stated.interval == "confidence"


def test_samples_are_their_mean_and_its_interval() -> None:
    """Samples give Student's interval, count themselves and are not rounded."""
    samples = [82.1, 82.9, 83.0, 82.5, 82.2]
    figure = quantity(samples=samples)
    assert figure.stated() == mean_interval(samples)
    assert figure.with_rounding() == figure.stated()
    assert figure.sample_count == 5
    assert figure.interval == "confidence"
    assert quantity(samples=[82.1]).interval is None


def test_an_unknown_has_its_reason_and_no_figure() -> None:
    """An unknown quantity says why and raises where a figure is asked for."""
    figure = quantity(unknown="the texts do not say")
    assert not figure.is_known
    assert figure.sample_count is None
    for ask in (figure.stated, figure.with_rounding):
        with pytest.raises(ValueError, match="the texts do not say"):
            ask()


@pytest.mark.parametrize(
    ("fields", "low", "high"),
    [
        ({"value": 82}, 81.5, 82.5),
        ({"value": 2.0}, 1.95, 2.05),
        ({"value": 2.46}, 2.455, 2.465),
        ({"value": 2.0, "rounded_to": 0.01}, 1.995, 2.005),
        ({"value": 37000, "rounded_to": 1000.0}, 36500, 37500),
        ({"low": 82, "high": 83, "range": "observed"}, 81.5, 83.5),
        ({"low": 3.2, "high": 4, "range": "observed"}, 3.15, 4.5),
        ({"low": 81.5, "high": 82.5, "range": "rounded"}, 81.5, 82.5),
        ({"low": 81, "high": 83, "range": "confidence"}, 81, 83),
    ],
)
def test_rounding_widens_by_half_the_last_digit(
    fields: dict[str, Any], low: float, high: float
) -> None:
    """Each end moves by half its own step, exactly; roundings and confidence intervals stay."""
    found = quantity(**fields).with_rounding()
    assert (found.low, found.high) == (low, high)
    assert found.mid == quantity(**fields).stated().mid


@given(st.integers(-(10**6), 10**6), st.integers(1, 6))
def test_rounding_holds_every_figure_that_rounds_to_it(digits: int, places: int) -> None:
    """A figure whose last digit is not 0 is rounded by half that digit's step, exactly."""
    number = Decimal(digits).scaleb(-places)
    if digits % 10 != 0:
        found = quantity(value=float(number)).with_rounding()
        half = Decimal(5).scaleb(-places - 1)
        assert (found.low, found.high) == (float(number - half), float(number + half))


@pytest.mark.parametrize(
    ("value", "step"),
    [(82, 1.0), (0, 1.0), (-5, 1.0), (2.0, 0.1), (2.46, 0.01), (-0.125, 0.001), (1.5e-7, 1e-8)],
)
def test_rounding_step_is_the_last_digit_written(value: float, step: float) -> None:
    """An integer is rounded to 1 and a float to its last digit."""
    assert rounding_step(value) == step


@pytest.mark.parametrize(
    ("samples", "low", "high", "interval"),
    [
        ([20.0, 30.0], 20, 30, "observed"),
        ([1.0, 2.0, 30.0], 1, 30, "observed"),
        ([-30.0, -2.0, -1.0], -30, -1, "observed"),
        ([-1.0, 2.0, 30.0], None, None, "confidence"),
        ([20.0, 21.0, 22.0], None, None, "confidence"),
        ([20.0], 20, 20, None),
    ],
)
def test_no_interval_reaches_beyond_0_where_no_sample_does(
    samples: list[float], low: float | None, high: float | None, interval: str | None
) -> None:
    """Two samples, and those too far apart for an interval, have the range that was observed."""
    found = quantity(samples=samples)
    assert found.interval == interval
    interval_of_mean = mean_interval(samples)
    assert found.stated().low == (interval_of_mean.low if low is None else low)
    assert found.stated().high == (interval_of_mean.high if high is None else high)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "give one of"),
        ({"value": 1, "samples": [1]}, "give one of"),
        ({"value": 1, "unknown": "x"}, "give one of"),
        ({"low": 1, "range": "observed"}, "go together"),
        ({"low": 1, "high": 2}, "go together"),
        ({"value": 1, "range": "observed"}, "go together"),
        ({"low": 2, "high": 1, "range": "observed"}, "does not hold"),
        ({"low": 1, "high": 2, "value": 3, "range": "observed"}, "does not hold"),
        ({"samples": [1.0], "rounded_to": 0.1}, "samples are not rounded"),
        ({"samples": [1.0], "count": 3}, "samples count themselves"),
        ({"unknown": "x", "count": 3}, "samples count themselves"),
        ({"samples": []}, "at least 1 item"),
        ({"unknown": ""}, "at least 1 character"),
        ({"value": True}, "valid"),
        ({"value": "82"}, "valid"),
        ({"value": float("nan")}, "finite"),
        ({"value": float("inf")}, "finite"),
        ({"value": 10**400}, "a figure lies between"),
        ({"samples": [1.0, 1e200]}, "a figure lies between"),
        ({"value": 1, "count": 0}, "greater than or equal to 1"),
        ({"value": 1, "rounded_to": 0}, "greater than 0"),
        ({"value": 1, "sigma": 2}, "Extra inputs"),
    ],
)
def test_what_is_no_quantity_is_refused(fields: dict[str, Any], why: str) -> None:
    """Two forms at once, half a range, text, truth values and infinities have no figure."""
    with pytest.raises(ValidationError, match=why):
        quantity(**fields)


def test_a_quantity_has_a_unit() -> None:
    """Without a unit, or with an empty one, there is no quantity."""
    for fields in ({"value": 1}, {"value": 1, "unit": ""}):
        with pytest.raises(ValidationError):
            Quantity(**fields)


@given(st.lists(st.integers(-(10**9), 10**9) | st.floats(-1e99, 1e99), min_size=1, max_size=6))
def test_every_known_quantity_has_a_range(samples: list[float]) -> None:
    """Whatever a quantity accepts it can also state, rounded or not."""
    low, high = min(samples), max(samples)
    for figure in (quantity(samples=samples), quantity(low=low, high=high, range="observed")):
        stated, rounded = figure.stated(), figure.with_rounding()
        assert rounded.low <= stated.low <= stated.mid <= stated.high <= rounded.high
