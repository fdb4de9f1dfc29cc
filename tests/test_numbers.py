"""Numbers as a reader sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit import numbers
from gamekit.quantity import Quantity
from gamekit.ranges import Range


@pytest.mark.parametrize(
    ("value", "text"),
    [(66.6667, "66.7"), (5.618, "5.62"), (2.0, "2"), (1234.5, "1234"), (0.00123, "0.00123")],
)
def test_a_computed_number_has_three_digits(value: float, text: str) -> None:
    """Three significant digits without trailing zeros; whole digits are never rounded away."""
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (82, 83, "82 to 83"),
        (2.46, 2.49, "2.46 to 2.49"),
        (2.404, 2.547, "2.40 to 2.55"),
        (4.49, 6.78, "4.5 to 6.8"),
        (88.5, 91.5, "88.5 to 91.5"),
        (25.61, 28.92, "26 to 29"),
        (-0.04, 0.04, "-0.04 to 0.04"),
        (81.5, 1234.5, "82 to 1234"),
        (5, 5, "5"),
    ],
)
def test_the_width_of_a_range_decides_its_digits(low: float, high: float, text: str) -> None:
    """Both ends have as many decimals as the width deserves, and share no trailing zeros."""
    assert numbers.span(Range(low, (low + high) / 2, high)) == text


def test_an_exact_figure_has_the_digits_that_its_roundings_leave() -> None:
    """94/89 is 5.6 % when the roundings make it 4.5 to 6.8 %, and 5.62 on its own."""
    exact = Range.exact(94 / 89 * 100 - 100)
    assert numbers.span(exact) == "5.62"
    assert numbers.span(exact, Range(4.49, exact.mid, 6.78)) == "5.6"


def test_the_mid_of_a_measured_range_has_the_digits_of_its_ends() -> None:
    """A mean is shown no finer than its interval."""
    assert numbers.middle(Range(69.804, 70.0123, 70.196)) == "70.0"  # beside 69.8 to 70.2
    assert numbers.middle(Range(82, 82.5, 83)) == "82.5"  # beside 82 to 83
    assert numbers.middle(Range(68.2, 70.37, 73.1)) == "70"
    assert numbers.middle(Range(69.94, 70.37, 70.8)) == "70.4"


def test_the_last_bits_of_a_float_are_no_width() -> None:
    """A range that only rounding errors gave a width is one number."""
    assert numbers.span(Range(0.3, 0.3, 0.1 + 0.2)) == "0.3"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"value": 2.0}, "2.0"),
        ({"value": 82}, "82"),
        ({"value": 1400000}, "1400000"),
        ({"value": 3.1, "rounded_to": 0.01}, "3.10"),
        ({"low": 82, "high": 83, "range": "observed"}, "82 to 83"),
        ({"low": 3.2, "high": 3.5, "range": "observed"}, "3.2 to 3.5"),
        ({"samples": [100, 101, 105]}, "95 to 109"),
    ],
)
def test_a_stated_figure_keeps_its_digits(fields: dict, text: str) -> None:
    """What somebody wrote is shown as written; samples by the interval of their mean."""
    assert numbers.stated(Quantity(unit="x", **fields)) == text


def test_an_unknown_figure_cannot_be_shown() -> None:
    """There is no text for a figure that nobody knows."""
    with pytest.raises(ValueError, match="nobody ran it"):
        numbers.stated(Quantity(unit="x", unknown="nobody ran it"))


def test_a_plain_ratio_shows_no_unit() -> None:
    """The unit 1 is not written."""
    assert numbers.with_unit("0.64", "1") == "0.64"
    assert numbers.with_unit("82", "tok/s") == "82 tok/s"


@pytest.mark.parametrize(
    ("share", "text"), [(-0.1515, "-15 %"), (0.056, "+5.6 %"), (0.0996, "+10 %")]
)
def test_a_change_is_signed_percent(share: float, text: str) -> None:
    """Whole percent from ten on, one decimal below."""
    assert numbers.percent(share) == text


ENDS = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(ENDS, ENDS)
def test_the_ends_shown_are_near_the_true_ones(one: float, other: float) -> None:
    """No end is shown further from the truth than half of the range's width."""
    figure = Range(min(one, other), min(one, other), max(one, other))
    shown = [float(part) for part in numbers.span(figure).split(" to ")]
    if len(shown) == 2:
        width = figure.high - figure.low
        assert abs(shown[0] - figure.low) <= width / 2 * (1 + 1e-6)
        assert abs(shown[1] - figure.high) <= width / 2 * (1 + 1e-6)
        assert shown[0] < shown[1]


@pytest.mark.parametrize(
    ("size", "text"),
    [(512, "512 B"), (57_344, "57 kB"), (4_194_304, "4.2 MB"), (67_108_864, "67 MB")],
)
def test_bytes_are_told_in_the_largest_unit_that_leaves_a_whole_one(size: int, text: str) -> None:
    """Decimal units, two digits: the exact number stands in the record."""
    assert numbers.bytes_in_words(size) == text
