"""Interval arithmetic in floats, rounded outward: the result holds every value of the operation.

An interval is a pair (low, high); an end may be infinite, and 0 times infinity is 0 here, since the
infinite end only stands for "no bound". Rules and directed rounding as in Moore, Kearfott, Cloud
2009, "Introduction to Interval Analysis", chapters 2 and 6.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from gamekit import speculation

Interval = tuple[float, float]

ZERO: Interval = (0.0, 0.0)
ONE: Interval = (1.0, 1.0)
LINE: Interval = (-math.inf, math.inf)
_LARGEST = sys.float_info.max
_WHOLE = 2.0**53


def enclosing(value: Fraction) -> Interval:
    """The narrowest interval of floats around a rational number of at most 1e308."""
    nearest = float(value)
    as_fraction = Fraction(nearest)
    return (
        nearest if as_fraction <= value else math.nextafter(nearest, -math.inf),
        nearest if as_fraction >= value else math.nextafter(nearest, math.inf),
    )


def add(u: Interval, v: Interval) -> Interval:
    """Sums of a number of ``u`` and one of ``v``."""
    return (_sum_down(u[0], v[0]), -_sum_down(-u[1], -v[1]))


def negate(u: Interval) -> Interval:
    """Negatives of the numbers of ``u``."""
    return (-u[1], -u[0])


def multiply(u: Interval, v: Interval) -> Interval:
    """Products of a number of ``u`` and one of ``v``."""
    pairs = ((u[0], v[0]), (u[0], v[1]), (u[1], v[0]), (u[1], v[1]))
    return (
        min(_product_down(x, y) for x, y in pairs),
        max(-_product_down(-x, y) for x, y in pairs),
    )


def divide(u: Interval, v: Interval) -> Interval:
    """Quotients of a number of ``u`` and one of ``v``; the whole line where ``v`` reaches 0."""
    if v[0] <= 0 <= v[1]:
        return LINE
    if v == ONE:
        return u
    return multiply(u, (_below(1 / v[1]), _above(1 / v[0])))


def power(u: Interval, exponent: int) -> Interval:
    """Whole powers >= 0 of the numbers of ``u``."""
    result = ONE
    for _ in range(exponent):
        result = multiply(result, u)
    if exponent % 2 == 0:
        # The factors are one number, so an even power is never negative, whatever the rounding.
        return (max(0.0, result[0]), result[1])
    return result


def meet(u: Interval, v: Interval) -> Interval:
    """What two enclosures of one number leave it."""
    return (max(u[0], v[0]), min(u[1], v[1]))


def hull(u: Interval, v: Interval) -> Interval:
    """The smallest interval around both."""
    return (min(u[0], v[0]), max(u[1], v[1]))


def accept_length(accuracy: Interval, steps: int) -> Interval:
    """Accept lengths for accuracies within 0..1: rises with the accuracy."""
    result = ONE
    for _ in range(steps):
        result = add(ONE, multiply(accuracy, result))
    return result


def accept_length_slope(accuracy: Interval, steps: int) -> Interval:
    """Derivatives of the accept length by the accuracy, sum of i a^(i-1): rises with it too."""
    length, slope = ONE, ZERO
    for _ in range(steps):
        length, slope = (
            add(ONE, multiply(accuracy, length)),
            add(length, multiply(accuracy, slope)),
        )
    return slope


def accuracy_for(accept_length: Interval, steps: int) -> Interval:
    """Accuracies that give accept lengths within 1..steps + 1: rises with the length."""
    # The solver's residual is at most (2k + 2) eps L, and dL/da >= max(1, L - 1) >= L/2.
    margin = (4 * steps + 16) * sys.float_info.epsilon
    return (
        max(0.0, speculation.accuracy_for(accept_length[0], steps) - margin),
        min(1.0, speculation.accuracy_for(accept_length[1], steps) + margin),
    )


def steps_needed(accept_length: Interval) -> Interval:
    """Fewest steps for accept lengths of at least 1."""
    return (
        float(speculation.steps_needed(accept_length[0])),
        math.inf
        if accept_length[1] == math.inf
        else float(speculation.steps_needed(accept_length[1])),
    )


def _below(x: float) -> float:
    return math.nextafter(x, -math.inf)


def _above(x: float) -> float:
    return math.nextafter(x, math.inf)


def _sum_down(x: float, y: float) -> float:
    total = x + y
    if total == math.inf and math.inf not in (x, y):
        return _LARGEST
    # Knuth's two-sum: the rounding error of the sum, itself exact; NaN beside an infinite end.
    part = total - x
    error = (x - (total - part)) + (y - part)
    return _below(total) if error < 0 else total


def _product_down(x: float, y: float) -> float:
    if x == 0 or y == 0:
        return 0.0
    product = x * y
    if abs(x) == 1 or abs(y) == 1:
        return product
    if abs(product) < _WHOLE and x.is_integer() and y.is_integer():
        return product
    return product if product == -math.inf else _below(product)
