"""The chain of draft steps: accept length from accuracies, its inverse, and the limit without end.

A chain of k draft steps accepts step i with conditional probability a_i, given that every step
before it was accepted. One cycle emits the accepted tokens and one more from the target, so the
accept length (tokens a cycle, the bonus token counted, the prefill token not) is

    L = 1 + sum over i <= k of the product of a_1 .. a_i,    1 <= L <= k + 1.

Source: Leviathan, Kalman, Matias 2023, "Fast Inference from Transformers via Speculative Decoding",
equation 1, which for one accuracy a is L = (1 - a^(k+1)) / (1 - a). 1/(1 - a) is its limit for
k without end: a different model, named so wherever it is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul

Real = float | Fraction

# What is computed in floats may miss a whole number of tokens by its last digits: an accept length
# that is closer than this share to a ceiling is that ceiling.
SAME_LENGTH = 1e-12


class NoSuchChain(ValueError):
    """No chain of draft steps has these figures; ``reason`` says in plain words why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def accept_length(accuracy: float | Sequence[float], steps: int) -> float:
    """Accept length in tokens a cycle of a chain of ``steps`` draft steps.

    ``accuracy`` is the conditional acceptance (0 to 1) of every step, or one a step in order.
    Raises ``NoSuchChain`` for an accuracy outside 0..1 and where the steps do not fit.
    """
    require_steps(steps, at_least=0)
    accuracies = [accuracy] * steps if isinstance(accuracy, int | float) else list(accuracy)
    if len(accuracies) != steps:
        raise NoSuchChain(f"{len(accuracies)} accuracies do not fit a chain of {steps} steps")
    if isinstance(accuracy, int | float):
        require_accuracy(accuracy)
    length = 1.0
    for a in reversed(accuracies):
        require_accuracy(a)
        length = 1.0 + a * length
    return length


def accuracy_for(accept_length: float, steps: int) -> float:
    """The one accuracy of all ``steps`` draft steps that gives ``accept_length`` (tokens a cycle).

    Solves L(a, k) = ``accept_length`` to better than 1e-13 for k up to 100. Raises ``NoSuchChain``
    below 1 and above steps + 1.
    """
    require_steps(steps, at_least=1)
    require_accept_length(accept_length, steps)
    if accept_length >= steps + 1:
        return 1.0
    # A finite chain needs at least the accuracy of the endless one, and at most that of one step.
    low, high = accuracy_without_end(accept_length), min(1.0, accept_length - 1.0)
    accuracy = high
    while True:
        length, slope = 1.0, 0.0
        for _ in range(steps):
            length, slope = 1.0 + accuracy * length, length + accuracy * slope
        if length == accept_length:
            return accuracy
        if length < accept_length:
            low = accuracy
        else:
            high = accuracy
        following = accuracy - (length - accept_length) / slope
        # Newton's step where it stays inside the bracket and the bracket's middle where not, until
        # neither moves the last digits.
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - accuracy) <= 2 * math.ulp(1.0) * max(accuracy, 1e-3):
            return following
        accuracy = following


def accept_length_without_end(accuracy: float) -> float:
    """Accept length 1/(1 - a) in tokens a cycle of a chain without end: the limit for steps → ∞.

    Never a finite chain's figure, which is smaller. Raises ``NoSuchChain`` outside 0 <= a < 1.
    """
    require_accuracy(accuracy, without_end=True)
    return 1.0 / (1.0 - accuracy)


def accuracy_without_end(accept_length: float) -> float:
    """Accuracy 1 - 1/L at which a chain without end (the limit for steps → ∞) gives L.

    L in tokens a cycle. A finite chain needs more than this. Raises ``NoSuchChain`` below 1.
    """
    require_accept_length(accept_length)
    # (L - 1)/L rather than 1 - 1/L: exact near 1.
    return (accept_length - 1.0) / accept_length


def steps_needed(accept_length: float) -> int:
    """The fewest draft steps whose ceiling, steps + 1 tokens a cycle, reaches ``accept_length``.

    Raises ``NoSuchChain`` below 1.
    """
    require_accept_length(accept_length)
    return math.ceil(accept_length * (1 - SAME_LENGTH)) - 1


def cumulative_rates(conditional: Sequence[float]) -> list[float]:
    """Probability that step i and every step before it is accepted, from conditional accuracies.

    Raises ``NoSuchChain`` for an accuracy outside 0..1.
    """
    for a in conditional:
        require_accuracy(a)
    return list(accumulate(conditional, mul))


def conditional_rates(cumulative: Sequence[float]) -> list[float | None]:
    """Conditional accuracy of each step from cumulative rates: c_i / c_(i-1), with c_0 = 1.

    After a cumulative rate of 0 nothing is known of the later steps: None. Raises ``NoSuchChain``
    for a rate outside 0..1 and for one above the rate before it.
    """
    rates: list[float | None] = []
    before = 1.0
    for number, rate in enumerate(cumulative, start=1):
        require_accuracy(rate)
        if rate > before:
            raise NoSuchChain(
                f"cumulative rates never rise, but step {number} has {rate:.12g}"
                f" after {before:.12g} (are they conditional rates?)"
            )
        rates.append(rate / before if before > 0 else None)
        before = rate
    return rates


def accept_length_of_cumulative(cumulative: Sequence[float]) -> float:
    """Accept length in tokens a cycle from cumulative rates: 1 + their sum.

    Raises ``NoSuchChain`` where ``conditional_rates`` does.
    """
    conditional_rates(cumulative)
    return 1.0 + math.fsum(cumulative)


def require_steps(steps: int, *, at_least: int) -> None:
    """Raises ``NoSuchChain`` unless a chain can have so many draft steps."""
    if steps < at_least:
        raise NoSuchChain(f"a chain of {steps} steps is too short: at least {at_least} is needed")


def require_accuracy(accuracy: Real, *, without_end: bool = False) -> None:
    """Raises ``NoSuchChain`` outside 0..1, and at 1 for a chain without end. Exact on fractions."""
    if not 0 <= accuracy <= 1:
        raise NoSuchChain(f"an accuracy lies between 0 and 1, not at {float(accuracy):.12g}")
    if without_end and accuracy == 1:
        raise NoSuchChain("at an accuracy of 1 a chain without end never stops")


def require_accept_length(accept_length: Real, steps: int | None = None) -> None:
    """Raises ``NoSuchChain`` below 1, and above steps + 1 where ``steps`` is given.

    Above by less than the share ``SAME_LENGTH`` is not above.
    """
    if not 1 <= accept_length < math.inf:
        raise NoSuchChain(
            f"an accept length of {float(accept_length):.12g} does not exist:"
            " every cycle gives at least 1 token"
        )
    if steps is not None and accept_length > (steps + 1) * (1 + SAME_LENGTH):
        raise NoSuchChain(
            f"an accept length of {float(accept_length):.12g} is above the ceiling of {steps + 1}"
            f" for {steps} steps"
        )
