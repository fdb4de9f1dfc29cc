"""Ranges around 0: what comes close to it is bounded, and never too small to have a value."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gamekit.formula import parse
from gamekit.ranges import Range

from .by_points import exactly, plain
from .test_evaluation import ends


@given(
    st.integers(-1000, 0),
    st.integers(0, 1000),
    st.integers(0, 100),
    st.sampled_from(["[a]^2", "[a]*[a]", "[a]^2 + [a]*[a]", "[a]^4", "max([a], -[a])^2"]),
)
def test_the_least_even_power_around_0_is_0(low: int, high: int, part: int, text: str) -> None:
    """A box around 0 is halved until what is left counts as 0, never until it has no value."""
    assume(low < high)
    figure = Range(low / 100, round((low + (high - low) * part / 100) / 100, 4), high / 100)
    least, _, greatest = ends(text, a=figure)
    largest = plain(parse(text).root, {"a": exactly(max(high, -low) / 100)})  # type: ignore[arg-type]  # no comparison
    assert -1e-14 * float(largest) <= least <= 0
    assert greatest == pytest.approx(float(largest), rel=1e-9)


@pytest.mark.parametrize("low", [-1.0, -1e-200])
def test_an_end_that_cannot_be_told_from_0_is_enclosed(low: float) -> None:
    """The square of an end beyond the smallest numbers bounds the range as 0 would."""
    least, _, greatest = ends("[a]^2", a=Range(low, low / 2 if low == -1.0 else 0.0, 1e-200))
    assert -1e-300 <= least <= 0
    assert low**2 <= greatest <= low**2 + 1e-300
