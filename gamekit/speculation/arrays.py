"""The speculation model over arrays: as many scenarios at once as numpy holds.

Arguments broadcast against each other. Units as in ``chain``: accept lengths in tokens a cycle,
cycle times in ms, rates in tok/s, accuracies conditional and 0 to 1. What no chain can have is nan;
where a scenario asks for something (an accuracy, a number of steps) that may not exist, ``Solved``
says where it does. Nothing here raises for a number; arguments that do not broadcast do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gamekit.speculation.chain import SAME_LENGTH

Numbers = NDArray[np.float64]

# Small enough that a chunk and what is computed from it stay in the processor's cache.
_CHUNK = 1 << 14
_NEWTON_ROUNDS = 200
_SETTLED = 4 * np.finfo(np.float64).eps


class Solved(NamedTuple):
    """Solutions, and where there is one: ``values`` is nan where ``possible`` is False."""

    values: Numbers
    possible: NDArray[np.bool_]


def accept_length(accuracy: ArrayLike, steps: ArrayLike) -> Numbers:
    """Accept lengths of chains with one accuracy for all their steps: (1 - a^(k+1)) / (1 - a).

    Source: Leviathan, Kalman, Matias 2023, equation 1; k + 1 at a = 1. nan outside 0 <= a <= 1 and
    where ``steps`` is not a whole number >= 0.
    """
    a, k = np.broadcast_arrays(_numbers(accuracy), _numbers(steps))
    # By expm1 and log, so that nothing cancels where a is close to 1.
    with np.errstate(divide="ignore", invalid="ignore"):
        length = -np.expm1((k + 1) * np.log(a)) / (1 - a)
    length = np.where(a == 1, k + 1, np.clip(length, 1, k + 1))
    return np.where((a >= 0) & (a <= 1) & _is_count(k), length, np.nan)


def accept_length_per_step(accuracies: ArrayLike) -> Numbers:
    """Accept lengths of chains whose steps, along the last axis, have accuracies of their own.

    A chain that is shorter than the others is filled up with 0: a step that is never accepted adds
    nothing. nan where an accuracy lies outside 0..1.
    """
    conditional = _numbers(accuracies)
    length = np.ones(conditional.shape[:-1])
    for step in reversed(range(conditional.shape[-1])):
        length = 1 + conditional[..., step] * length
    return np.where(_are_rates(conditional), length, np.nan)


def accuracy_for(accept_length: ArrayLike, steps: ArrayLike) -> Solved:
    """The one accuracy of all steps that gives an accept length; none above k + 1 and below 1.

    ``steps`` are whole numbers >= 1. The result differs from that of ``chain.accuracy_for`` by no
    more than 1e-12 for k up to 100.
    """
    wanted, k = np.broadcast_arrays(_numbers(accept_length), _numbers(steps))
    possible = (wanted >= 1) & (wanted <= (k + 1) * (1 + SAME_LENGTH)) & _is_count(k) & (k >= 1)
    values = np.full(wanted.shape, np.nan)
    for count in np.unique(k[possible]):
        chosen = possible & (k == count)
        values[chosen] = _accuracies_for(wanted[chosen], int(count))
    return Solved(values, possible)


def _accuracies_for(wanted: Numbers, steps: int) -> Numbers:
    chunks = (wanted[at : at + _CHUNK] for at in range(0, len(wanted), _CHUNK))
    return np.concatenate([_accuracy_for(chunk, steps) for chunk in chunks])


def _accuracy_for(wanted: Numbers, steps: int) -> Numbers:
    """Newton's method from above: L(a) rises and is convex, so it falls onto the root."""
    # Two bounds from above: L >= 1 + a, and by the means' inequality L - 1 >= k a^((k+1)/2).
    by_means = ((wanted - 1) / steps) ** (2 / (steps + 1))
    accuracy: Numbers = np.minimum(by_means, np.minimum(wanted - 1, 1))
    floor = (wanted - 1) / wanted  # the accuracy of a chain without end
    for _ in range(_NEWTON_ROUNDS):
        length, slope = np.ones_like(accuracy), np.zeros_like(accuracy)
        for _ in range(steps):
            slope *= accuracy
            slope += length
            length *= accuracy
            length += 1
        following = np.clip(accuracy - (length - wanted) / slope, floor, 1)
        moved = np.abs(following - accuracy).max()
        accuracy = following
        if moved <= _SETTLED:
            break
    return np.where(wanted >= steps + 1, 1.0, accuracy)


def steps_needed(accept_length: ArrayLike, accuracy: ArrayLike = 1.0) -> Solved:
    """The fewest draft steps that give at least an accept length, at one accuracy for all steps.

    At accuracy 1 the fewest whose ceiling k + 1 reaches it. None where even a chain without end
    stays below it: the accept length is 1/(1 - a) or more.
    """
    wanted, a = np.broadcast_arrays(_numbers(accept_length), _numbers(accuracy))
    enough = wanted * (1 - SAME_LENGTH)
    taken = enough * (1 - a)  # a^(k+1) must not be larger than 1 less this
    possible = (wanted >= 1) & np.isfinite(wanted) & (a >= 0) & (a <= 1)
    possible &= (taken < 1) | (wanted == 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        k = np.where(a == 1, np.ceil(enough), np.ceil(np.log1p(-taken) / np.log(a))) - 1
    k = np.where(wanted == 1, 0, np.maximum(k, 0))
    k = np.where(possible, k, 0)
    # The logarithms may miss a whole number by their last digit; the accept length itself decides.
    less = possible & (k >= 1) & (_accept_length_of(a, k - 1) >= enough)
    k = np.where(less, k - 1, k)
    k = np.where(possible & (_accept_length_of(a, k) < enough), k + 1, k)
    return Solved(np.where(possible, k, np.nan), possible)


def _accept_length_of(accuracy: Numbers, steps: Numbers) -> Numbers:
    return accept_length(accuracy, np.maximum(steps, 0))


def cycle_time(
    verify_ms: ArrayLike, draft_ms: ArrayLike, overhead_ms: ArrayLike, steps: ArrayLike
) -> Numbers:
    """T(k) = verify + k · draft + overhead in ms; ``draft_ms`` is that of one step."""
    return _numbers(verify_ms) + _numbers(steps) * _numbers(draft_ms) + _numbers(overhead_ms)


def throughput(accept_length: ArrayLike, cycle_ms: ArrayLike) -> Numbers:
    """Output rate S = L / T in tok/s."""
    return 1000 * _numbers(accept_length) / _positive(cycle_ms)


def ceiling(steps: ArrayLike, cycle_ms: ArrayLike) -> Numbers:
    """The rate (k + 1) / T in tok/s of a drafter that is always right."""
    return throughput(_numbers(steps) + 1, cycle_ms)


def required_accept_length(rate: ArrayLike, cycle_ms: ArrayLike) -> Numbers:
    """Accept length S · T that gives a rate in tok/s; with the baseline's rate, the break-even.

    Below 1 where every chain is faster than that; above k + 1 where none is.
    """
    return _positive(rate) * _positive(cycle_ms) / 1000


def break_even(baseline: ArrayLike, cycle_ms: ArrayLike) -> Numbers:
    """Accept length from which on speculation is faster than ``baseline`` (tok/s) without it."""
    return required_accept_length(baseline, cycle_ms)


def required_accuracy(rate: ArrayLike, cycle_ms: ArrayLike, steps: ArrayLike) -> Solved:
    """The one accuracy of all steps that gives a rate in tok/s; none above the ceiling.

    0 where every chain gives it, since a cycle brings at least 1 token.
    """
    return accuracy_for(np.maximum(required_accept_length(rate, cycle_ms), 1), steps)


def required_cycle(accept_length: ArrayLike, rate: ArrayLike) -> Numbers:
    """Cycle time L / S in ms at which an accept length gives a rate in tok/s."""
    return 1000 * _numbers(accept_length) / _positive(rate)


def required_steps(rate: ArrayLike, cycle_ms: ArrayLike, accuracy: ArrayLike = 1.0) -> Solved:
    """The fewest draft steps that give a rate in tok/s, if the cycle does not grow with them.

    That the cycle stays is an assumption: a longer chain drafts and verifies more.
    """
    return steps_needed(np.maximum(required_accept_length(rate, cycle_ms), 1), accuracy)


def cumulative_rates(conditional: ArrayLike) -> Numbers:
    """Probability that a step and all before it are accepted, along the last axis.

    All nan for a chain with an accuracy outside 0..1.
    """
    rates = _numbers(conditional)
    return np.where(_are_rates(rates)[..., np.newaxis], np.cumprod(rates, axis=-1), np.nan)


def conditional_rates(cumulative: ArrayLike) -> Numbers:
    """Conditional accuracies from cumulative rates c_i / c_(i-1), with c_0 = 1, on the last axis.

    nan after a cumulative rate of 0, where nothing is known; all nan for a chain whose rates rise
    or leave 0..1, which no chain's cumulative rates do.
    """
    rates = _numbers(cumulative)
    before = np.concatenate([np.ones((*rates.shape[:-1], 1)), rates[..., :-1]], axis=-1)
    is_chain = _are_rates(rates) & np.all(rates <= before, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        conditional = np.where(before > 0, rates / before, np.nan)
    return np.where(is_chain[..., np.newaxis], conditional, np.nan)


def _numbers(values: ArrayLike) -> Numbers:
    return np.asarray(values, dtype=np.float64)


def _positive(values: ArrayLike) -> Numbers:
    numbers = _numbers(values)
    return np.where(numbers > 0, numbers, np.nan)


def _is_count(values: Numbers) -> NDArray[np.bool_]:
    counts: NDArray[np.bool_] = np.isfinite(values) & (values >= 0) & (values == np.floor(values))
    return counts


def _are_rates(values: Numbers) -> NDArray[np.bool_]:
    return np.asarray(np.all((values >= 0) & (values <= 1), axis=-1), dtype=np.bool_)
