"""Interval arithmetic holds every value of the operation, whatever the floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gamekit.formula import exact, intervals
from gamekit.formula.intervals import Interval

finite = st.floats(-1e200, 1e200)
pairs = st.tuples(finite, finite).map(lambda ends: (min(ends), max(ends)))
shares = st.fractions(0, 1)


def inside(interval: Interval, share: Fraction) -> Fraction:
    low, high = map(Fraction, interval)
    return low + (high - low) * share


def holds(interval: Interval, value: Fraction) -> bool:
    low, high = interval
    return (low == -math.inf or low <= value) and (high == math.inf or value <= high)


@pytest.mark.parametrize(
    ("operation", "exactly"),
    [
        (intervals.add, lambda x, y: x + y),
        (intervals.multiply, lambda x, y: x * y),
        (intervals.divide, lambda x, y: x / y),
    ],
)
@given(u=pairs, v=pairs, s=shares, t=shares)
def test_operations_hold_the_exact_result(
    operation: Callable[[Interval, Interval], Interval],
    exactly: Callable[[Fraction, Fraction], Fraction],
    u: Interval,
    v: Interval,
    s: Fraction,
    t: Fraction,
) -> None:
    """Any two members' exact sum, product or quotient lies in the interval's."""
    x, y = inside(u, s), inside(v, t)
    assume(y != 0)
    assert holds(operation(u, v), exactly(x, y))


@given(pairs, shares, st.integers(0, 7))
def test_powers_hold_the_exact_result(u: Interval, share: Fraction, exponent: int) -> None:
    """Any member's power lies in the interval's, and an even one never reaches below 0."""
    found = intervals.power(u, exponent)
    assert holds(found, inside(u, share) ** exponent)
    if exponent % 2 == 0:
        assert found[0] >= 0


@given(st.fractions(), pairs)
def test_enclosing_and_negating(value: Fraction, u: Interval) -> None:
    """A rational number lies between two floats at most one step apart."""
    assume(abs(value) < 10**300)
    low, high = intervals.enclosing(value)
    assert low <= value <= high <= math.nextafter(low, math.inf)
    assert intervals.negate(intervals.negate(u)) == u


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 40), shares)
def test_chain_functions_hold_the_exact_result(
    one: float, other: float, steps: int, share: Fraction
) -> None:
    """Accept length, its slope and its inverse enclose the values of exact arithmetic."""
    accuracies = (min(one, other), max(one, other))
    accuracy = inside(accuracies, share)
    length = sum((accuracy**i for i in range(steps + 1)), Fraction(0))
    slope = sum((i * accuracy ** (i - 1) for i in range(1, steps + 1)), Fraction(0))
    lengths = intervals.accept_length(accuracies, steps)
    assert holds(lengths, length)
    assert holds(intervals.accept_length_slope(accuracies, steps), slope)
    clipped = intervals.meet(lengths, (1.0, steps + 1.0))
    assert holds(intervals.accuracy_for(clipped, steps), accuracy)


@given(st.floats(1, 41), st.integers(1, 40))
def test_the_exact_inverse_is_exact_to_fifty_digits(length: float, steps: int) -> None:
    """accuracy_for in rational numbers solves the chain far beyond a float's digits."""
    target = Fraction(length)
    assume(target <= steps + 1)
    accuracy = exact.apply("accuracy_for", [target, Fraction(steps)])
    assert abs(sum((accuracy**i for i in range(steps + 1)), Fraction(0)) - target) < Fraction(
        1, 10**50
    )


@given(st.integers(0, 10**9), st.integers(1, 8))
def test_the_exact_inverse_of_a_decimal_accuracy_is_that_decimal(digits: int, steps: int) -> None:
    """The accept length of a decimal accuracy leads back to the decimal itself."""
    accuracy = Fraction(digits, 10**9)
    length = exact.apply("accept_length", [accuracy, Fraction(steps)])
    assert exact.apply("accuracy_for", [length, Fraction(steps)]) == accuracy


@given(st.floats(-1e300, 1e300))
def test_a_float_is_the_decimal_it_is_written_as(value: float) -> None:
    """0.64 is 64/100 and comes back as the same float."""
    assert float(exact.decimal(value)) == value
    assert exact.decimal(0.64) == Fraction(64, 100)
