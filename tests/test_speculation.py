"""The chain of draft steps, checked by other routes than its own code."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.speculation import (
    NoSuchChain,
    accept_length,
    accept_length_of_cumulative,
    accept_length_without_end,
    accuracy_for,
    accuracy_without_end,
    conditional_rates,
    cumulative_rates,
    steps_needed,
)

accuracies = st.floats(0, 1)
steps_counts = st.integers(1, 60)


def polynomial_root(length: float, steps: int) -> float:
    """The real root in 0..1 of a^k + ... + a + 1 - L, by the eigenvalues that numpy takes."""
    roots = np.roots([1.0] * steps + [1.0 - length])
    (root,) = [r.real for r in roots if abs(r.imag) < 1e-9 and -1e-9 <= r.real <= 1 + 1e-9]
    return float(root)


@pytest.mark.parametrize(("accuracy", "steps", "length"), [(0.64, 2, 2.0496), (0.5, 3, 1.875)])
def test_accept_length_of_known_chains(accuracy: float, steps: int, length: float) -> None:
    """64 % over two steps is 1 + 0.64 + 0.64^2 tokens a cycle."""
    assert accept_length(accuracy, steps) == pytest.approx(length, abs=1e-14)


@pytest.mark.parametrize(
    ("length", "steps", "percent"),
    [(2.46, 2, 80.8), (2.46, 3, 68.1), (3.2, 3, 85), (3.5, 3, 91), (2.0496, 2, 64)],
)
def test_accuracy_for_known_accept_lengths(length: float, steps: int, percent: float) -> None:
    """The accuracies that the published and the break-even accept lengths ask for."""
    assert accuracy_for(length, steps) == pytest.approx(polynomial_root(length, steps), abs=1e-12)
    places = 1 if isinstance(percent, float) else 0
    assert round(100 * accuracy_for(length, steps), places) == percent


@given(accuracies, steps_counts)
def test_accept_length_is_the_closed_form(accuracy: float, steps: int) -> None:
    """The sum equals (1 - a^(k+1))/(1 - a), the form it was published in, and k + 1 at a = 1."""
    length = accept_length(accuracy, steps)
    if accuracy < 0.999:
        assert length == pytest.approx((1 - accuracy ** (steps + 1)) / (1 - accuracy), rel=1e-11)
    assert 1 <= length <= steps + 1
    assert accept_length(1.0, steps) == steps + 1


@given(st.lists(accuracies, max_size=12))
def test_accept_length_of_different_steps_is_one_plus_the_cumulative_rates(
    conditional: list[float],
) -> None:
    """With an accuracy a step, each adds the product of those up to it."""
    products = [math.prod(conditional[: i + 1]) for i in range(len(conditional))]
    length = accept_length(conditional, len(conditional))
    assert length == pytest.approx(1 + sum(products), rel=1e-12)
    cumulative = cumulative_rates(conditional)
    assert cumulative == pytest.approx(products, rel=1e-12)
    assert accept_length_of_cumulative(cumulative) == pytest.approx(length, rel=1e-12)


@pytest.mark.parametrize(
    "conditional", [[0.64, 0.64], [0.648, 0.647, 0.663], [0.9, 0.2, 0.7, 0.5], [1.0, 0.0, 1.0]]
)
def test_accept_length_is_the_mean_of_a_simulated_chain(conditional: list[float]) -> None:
    """Drawing each step's acceptance and counting tokens until the first refusal gives L."""
    random = np.random.default_rng(20240607)
    accepted = random.random((200_000, len(conditional))) < np.array(conditional)
    tokens = 1 + np.cumprod(accepted, axis=1).sum(axis=1)
    standard_error = tokens.std(ddof=1) / math.sqrt(len(tokens))
    expected = accept_length(conditional, len(conditional))
    assert abs(tokens.mean() - expected) <= 4.5 * standard_error + 1e-12


@given(accuracies, steps_counts)
def test_accuracy_for_gives_back_the_accuracy(accuracy: float, steps: int) -> None:
    """accuracy_for undoes accept_length to 1e-12."""
    length = accept_length(accuracy, steps)
    assert accuracy_for(length, steps) == pytest.approx(accuracy, abs=1e-12)


@given(st.data(), steps_counts)
def test_accept_length_gives_back_the_accept_length(data: st.DataObject, steps: int) -> None:
    """accept_length undoes accuracy_for over the whole range from 1 to steps + 1."""
    length = data.draw(st.floats(1, steps + 1))
    accuracy = accuracy_for(length, steps)
    assert 0 <= accuracy <= 1
    assert accept_length(accuracy, steps) == pytest.approx(length, rel=1e-12)


@given(st.floats(1, 1000), st.integers(1, 40))
def test_a_finite_chain_needs_more_accuracy_than_one_without_end(length: float, steps: int) -> None:
    """1 - 1/L is below what any chain with an end needs, and is approached by longer ones."""
    if length <= steps + 1:
        finite = accuracy_for(length, steps)
        assert finite >= accuracy_without_end(length) - 1e-12
        assert accuracy_for(length, steps + 1) <= finite + 1e-12


def test_the_chain_without_end_is_the_limit_of_long_ones() -> None:
    """1/(1 - a) is what accept_length tends to, and the texts' 78 % for 4.5 is its inverse."""
    assert accept_length_without_end(0.78) == pytest.approx(accept_length(0.78, 400), rel=1e-12)
    assert accuracy_without_end(4.5) == pytest.approx(0.7778, abs=1e-4)
    lengths = [accept_length(0.78, k) for k in range(1, 60)]
    assert all(a < b < accept_length_without_end(0.78) for a, b in pairwise(lengths))


@given(st.floats(0, 1 - 1e-6))
def test_the_limits_are_each_others_inverse(accuracy: float) -> None:
    """accuracy_without_end undoes accept_length_without_end."""
    length = accept_length_without_end(accuracy)
    assert accuracy_without_end(length) == pytest.approx(accuracy, abs=1e-12)


@pytest.mark.parametrize(
    ("length", "steps"), [(1, 0), (1.0001, 1), (2, 1), (2.46, 2), (3, 2), (4.5, 4), (5.0, 4)]
)
def test_steps_needed_is_the_first_ceiling_that_reaches(length: float, steps: int) -> None:
    """4.5 tokens a cycle need four steps, and a length at a ceiling needs no step more."""
    assert steps_needed(length) == steps
    assert next(k for k in range(100) if k + 1 >= length) == steps


def test_rates_called_conditional_that_are_cumulative() -> None:
    """0.648, 0.419, 0.278 sum to the published 2.345 only as cumulative rates."""
    assert accept_length_of_cumulative([0.648, 0.419, 0.278]) == pytest.approx(2.345, abs=1e-12)
    assert conditional_rates([0.648, 0.419, 0.278]) == pytest.approx(
        [0.648, 0.6466, 0.6635], abs=1e-4
    )


@given(st.lists(st.floats(0.01, 1), max_size=8))
def test_conditional_and_cumulative_rates_convert_both_ways(conditional: list[float]) -> None:
    """conditional_rates undoes cumulative_rates."""
    assert conditional_rates(cumulative_rates(conditional)) == pytest.approx(conditional, rel=1e-9)


def test_after_a_cumulative_rate_of_zero_the_accuracy_is_not_known() -> None:
    """A step that nothing reaches has no accuracy, and it is not taken to be 0."""
    assert conditional_rates([0.5, 0.0, 0.0]) == [0.5, 0.0, None]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: accuracy_for(3.2, 2), "3.2 is above the ceiling of 3 for 2 steps"),
        (lambda: accuracy_for(0.9, 2), "every cycle gives at least 1 token"),
        (lambda: accuracy_for(math.nan, 2), "does not exist"),
        (lambda: accuracy_for(1.0, 0), "a chain of 0 steps is too short"),
        (lambda: accept_length(1.2, 2), "between 0 and 1, not at 1.2"),
        (lambda: accept_length(-0.1, 0), "between 0 and 1"),
        (lambda: accept_length(math.nan, 2), "between 0 and 1"),
        (lambda: accept_length([0.5, 1.5], 2), "between 0 and 1"),
        (lambda: accept_length([0.5], 2), "1 accuracies do not fit a chain of 2 steps"),
        (lambda: accept_length(0.5, -1), "too short"),
        (lambda: accept_length_without_end(1.0), "never stops"),
        (lambda: accuracy_without_end(math.inf), "does not exist"),
        (lambda: steps_needed(0.5), "every cycle gives at least 1 token"),
        (lambda: conditional_rates([0.4, 0.5]), "are they conditional rates"),
        (lambda: accept_length_of_cumulative([0.4, 0.5]), "never rise"),
        (lambda: cumulative_rates([2.0]), "between 0 and 1"),
    ],
)
def test_figures_of_no_chain_are_refused_in_words(call, why: str) -> None:  # type: ignore[no-untyped-def]
    """What no chain can have raises NoSuchChain, a ValueError whose reason a reader understands."""
    with pytest.raises(NoSuchChain) as caught:
        call()
    assert why in caught.value.reason
    assert isinstance(caught.value, ValueError)
