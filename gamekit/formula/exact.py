"""Exact arithmetic at one point: what each operation of a formula gives on rational numbers.

Figures are decimals (0.64 is 64/100), so sums, products and accept lengths of them are exact, and a
comparison at the edge of a rounding is decided by the figures and not by a binary float's last bit.
"""

from __future__ import annotations

import math
from fractions import Fraction

from gamekit import speculation
from gamekit.speculation import NoSuchChain

CHAIN_FUNCTIONS = (
    "accept_length",
    "accuracy_for",
    "accept_length_without_end",
    "accuracy_without_end",
    "steps_needed",
)
MAX_STEPS = 100
# Beyond this many binary digits a number keeps its first 256: no figure needs more, and the
# integers of a hostile formula stay small.
_MAX_BITS = 2000
_KEPT_BITS = 256
_MAX_EXPONENT = 1000
_FINE = 1 << 200


class NoValue(ValueError):
    """The operation has no value here; ``reason`` says in plain words why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decimal(value: float) -> Fraction:
    """The decimal number that ``value`` is written as, exactly."""
    return Fraction(repr(float(value)))


def apply(operation: str, arguments: list[Fraction], exponent: int = 0) -> Fraction:
    """The value of ``operation``; raises ``NoValue`` where it has none."""
    try:
        return _kept(_applied(operation, arguments, exponent))
    except NoSuchChain as fault:
        raise NoValue(fault.reason) from None


def steps_of(value: Fraction) -> int:
    """A number of draft steps; raises ``NoValue`` unless it is whole and 0 to 100."""
    if value.denominator != 1:
        raise NoValue(f"the number of steps must be whole, not {float(value):.12g}")
    if not 0 <= value <= MAX_STEPS:
        raise NoValue(f"the number of steps must be 0 to {MAX_STEPS}, not {float(value):.12g}")
    return int(value)


def _applied(  # noqa: C901, PLR0911, PLR0912 - one case an operation
    operation: str, arguments: list[Fraction], exponent: int
) -> Fraction:
    first, second = arguments[0], arguments[-1]
    match operation:
        case "add":
            return first + second
        case "negate":
            return -first
        case "multiply":
            return first * second
        case "divide":
            if second == 0:
                raise NoValue("division by 0")
            return first / second
        case "power":
            return first**exponent
        case "min":
            return min(first, second)
        case "max":
            return max(first, second)
        case "accept_length":
            return _accept_length(first, steps_of(second))
        case "accuracy_for":
            return _accuracy_for(first, steps_of(second))
        case "accept_length_without_end":
            speculation.require_accuracy(first, without_end=True)
            return 1 / (1 - first)
        case "accuracy_without_end":
            speculation.require_accept_length(first)
            return 1 - 1 / first
        case "steps_needed":
            speculation.require_accept_length(first)
            return Fraction(math.ceil(first * (1 - Fraction(speculation.SAME_LENGTH))) - 1)
    raise AssertionError(f"no operation {operation}")


def _accept_length(accuracy: Fraction, steps: int) -> Fraction:
    speculation.require_accuracy(accuracy)
    p, q = accuracy.numerator, accuracy.denominator
    # Horner's rule over the common denominator q^steps.
    above, below = 1, 1
    for _ in range(steps):
        above, below = above * p + below * q, below * q
    return Fraction(above, below)


def _accuracy_for(accept_length: Fraction, steps: int) -> Fraction:
    """Within 1e-55 of the root of a polynomial, and the root itself where it is a short decimal."""
    speculation.require_steps(steps, at_least=1)
    speculation.require_accept_length(accept_length, steps)
    if accept_length >= steps + 1:
        return Fraction(1)
    # The float, then Newton in fixed point: each step doubles the digits.
    clamped = min(max(float(accept_length), 1.0), steps + 1.0)
    root = int(Fraction(speculation.accuracy_for(clamped, steps)) * _FINE)
    target = int(accept_length * _FINE)
    for _ in range(3):
        length, slope = _FINE, 0
        for _ in range(steps):
            length, slope = _FINE + root * length // _FINE, length + root * slope // _FINE
        root -= (length - target) * _FINE // slope
    accuracy = min(max(Fraction(root, _FINE), Fraction(0)), Fraction(1))
    short = accuracy.limit_denominator(10**9)
    return short if _accept_length(short, steps) == accept_length else accuracy


def _kept(value: Fraction) -> Fraction:
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if value != 0 and abs(above - below) > _MAX_EXPONENT:
        raise NoValue("a number beyond 1e300, or closer to 0 than 1e-300")
    if above + below <= _MAX_BITS:
        return value
    shift = _KEPT_BITS - (above - below)
    scaled = value * Fraction(2) ** shift
    return Fraction(round(scaled)) / Fraction(2) ** shift
