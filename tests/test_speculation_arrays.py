"""The speculation model over arrays, against the one over single numbers and a simulated chain."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit import speculation
from gamekit.speculation import NoSuchChain, arrays

accuracies = st.floats(0, 1)
steps_counts = st.integers(1, 60)
rates = st.floats(1, 500)
cycles = st.floats(1, 200)


def exact_accept_length(accuracy: float, steps: int) -> Fraction:
    """1 + a + ... + a^k in rational numbers, term by term."""
    a = Fraction(accuracy)
    return sum((a**i for i in range(steps + 1)), Fraction(0))


@given(st.lists(st.tuples(accuracies, steps_counts), min_size=1, max_size=20))
def test_accept_lengths_are_the_exact_sums(chains: list[tuple[float, int]]) -> None:
    """Whatever the mixture of accuracies and steps, each is the sum in rational numbers."""
    a, k = np.array([chain[0] for chain in chains]), np.array([chain[1] for chain in chains])
    expected = [float(exact_accept_length(*chain)) for chain in chains]
    np.testing.assert_allclose(arrays.accept_length(a, k), expected, rtol=1e-13)


@pytest.mark.parametrize("below", [1e-16, 1e-15, 1e-9, 1e-6, 1e-3])
def test_accept_lengths_close_to_an_accuracy_of_one(below: float) -> None:
    """Near 1, where numerator and denominator of the closed form vanish, no digit is lost."""
    accuracy = 1 - below
    for steps in (1, 2, 3, 100, 10_000):
        length = float(arrays.accept_length(accuracy, steps))
        assert length == pytest.approx(math.fsum(accuracy**i for i in range(steps + 1)), rel=1e-12)


def test_long_chains_tend_to_the_one_without_end() -> None:
    """At a million steps the accept length is 1/(1 - a), and not more at an infinite number."""
    a = np.array([0.0, 0.3, 0.78, 0.999])
    np.testing.assert_allclose(arrays.accept_length(a, 1_000_000), 1 / (1 - a), rtol=1e-12)
    assert np.isnan(arrays.accept_length(0.5, math.inf))


@given(st.lists(st.lists(accuracies, min_size=4, max_size=4), min_size=1, max_size=8))
def test_accept_lengths_per_step_are_those_of_each_chain(chains: list[list[float]]) -> None:
    """An accuracy a step gives the same as one chain at a time; padding with 0 changes nothing."""
    expected = [speculation.accept_length(chain, 4) for chain in chains]
    conditional = np.array(chains)
    np.testing.assert_allclose(arrays.accept_length_per_step(conditional), expected, rtol=1e-14)
    padded = np.pad(conditional, ((0, 0), (0, 3)))
    np.testing.assert_allclose(arrays.accept_length_per_step(padded), expected, rtol=1e-14)


def test_accept_lengths_are_the_means_of_simulated_chains() -> None:
    """Drawn acceptances, tokens counted until the first refusal, average to each accept length."""
    random = np.random.default_rng(7)
    conditional = random.random((30, 5))
    draws = 40_000
    accepted = random.random((draws, *conditional.shape)) < conditional
    tokens = 1 + np.cumprod(accepted, axis=-1).sum(axis=-1)
    standard_error = tokens.std(axis=0, ddof=1) / math.sqrt(draws)
    away = np.abs(tokens.mean(axis=0) - arrays.accept_length_per_step(conditional))
    assert (away <= 4.5 * standard_error).all()
    # The same draws tell the two kinds of rate apart: steps reached, and steps passed once reached.
    passed = np.cumprod(accepted, axis=-1).mean(axis=0)
    cumulative = arrays.cumulative_rates(conditional)
    error = np.sqrt(cumulative * (1 - cumulative) / draws)
    assert (np.abs(passed - cumulative) <= 5 * error + 1e-12).all()


@given(st.lists(st.tuples(st.floats(0, 1), steps_counts), min_size=1, max_size=20))
def test_accuracies_are_those_of_the_solver_for_one_number(
    drawn: list[tuple[float, int]],
) -> None:
    """For accept lengths anywhere between 1 and k + 1 both solvers agree, and L(a, k) is met."""
    k = np.array([steps for _, steps in drawn])
    lengths = np.array([min(1 + share * steps, steps + 1.0) for share, steps in drawn])
    solved = arrays.accuracy_for(lengths, k)
    assert solved.possible.all()
    expected = [
        speculation.accuracy_for(length, int(steps))
        for length, steps in zip(lengths, k, strict=True)
    ]
    np.testing.assert_allclose(solved.values, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(arrays.accept_length(solved.values, k), lengths, rtol=1e-12)


def test_accuracies_over_more_than_one_chunk_stand_in_their_places() -> None:
    """A large array of mixed steps is solved element by element, in the given order."""
    random = np.random.default_rng(3)
    accuracy = random.random(100_000)
    steps = random.integers(1, 9, 100_000)
    solved = arrays.accuracy_for(arrays.accept_length(accuracy, steps), steps)
    np.testing.assert_allclose(solved.values, accuracy, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("length", "steps"),
    [(3.2, 2), (0.9, 2), (math.nan, 2), (math.inf, 2), (1.5, 0), (1.5, 2.5), (2, math.inf)],
)
def test_what_no_chain_gives_is_nan_and_marked(length: float, steps: float) -> None:
    """Above the ceiling, below 1, and for what is no number of steps there is no accuracy."""
    solved = arrays.accuracy_for([length, 2.0], [steps, 2])
    assert solved.possible.tolist() == [False, True]
    assert np.isnan(solved.values[0])
    assert solved.values[1] == pytest.approx((math.sqrt(5) - 1) / 2)


@pytest.mark.parametrize("accuracy", [-0.1, 1.1, math.nan])
def test_an_accuracy_that_is_none_gives_nan(accuracy: float) -> None:
    """Outside 0..1 there is no accept length, no rate and no number of steps."""
    assert np.isnan(arrays.accept_length(accuracy, 3))
    assert np.isnan(arrays.accept_length_per_step([0.5, accuracy]))
    assert np.isnan(arrays.cumulative_rates([accuracy, 0.5])).all()
    assert np.isnan(arrays.conditional_rates([accuracy, 0.5])).all()
    assert not arrays.steps_needed(1.5, accuracy).possible


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_rates_convert_both_ways(conditional: list[float]) -> None:
    """Cumulative and conditional rates are each other's inverse, and those of single chains."""
    cumulative = arrays.cumulative_rates(conditional)
    np.testing.assert_allclose(cumulative, speculation.cumulative_rates(conditional), rtol=1e-14)
    np.testing.assert_allclose(arrays.conditional_rates(cumulative), conditional, rtol=1e-12)


def test_cumulative_rates_that_rise_are_no_chains() -> None:
    """A chain whose rates rise is nan, others beside it stand, and 0 leaves nothing known."""
    given_rates = [[0.4, 0.5, 0.1], [0.648, 0.419, 0.278], [0.5, 0.0, 0.0]]
    told = arrays.conditional_rates(given_rates)
    assert np.isnan(told[0]).all()
    with pytest.raises(NoSuchChain):
        speculation.conditional_rates(given_rates[0])
    np.testing.assert_allclose(told[1], [0.648, 0.6466, 0.6635], atol=1e-4)
    assert told[2, :2].tolist() == [0.5, 0.0]
    assert np.isnan(told[2, 2])


@given(st.floats(1, 40), st.one_of(accuracies, st.just(1.0)))
def test_fewest_steps_reach_and_one_less_does_not(length: float, accuracy: float) -> None:
    """The number of steps gives the accept length, one less does not; none where no end does."""
    solved = arrays.steps_needed(length, accuracy)
    if not solved.possible:
        assert accuracy < 1
        assert length >= 1 / (1 - accuracy) * (1 - 1e-12)
        return
    steps = int(solved.values)
    if accuracy == 1:
        assert steps == speculation.steps_needed(length)
    assert float(exact_accept_length(accuracy, min(steps, 3000))) >= length * (1 - 1e-12)
    if 0 < steps < 3000:
        assert float(exact_accept_length(accuracy, steps - 1)) <= length * (1 + 1e-12)


@given(rates, cycles, steps_counts, accuracies)
def test_the_inverses_give_back_the_rate(
    rate: float, cycle_ms: float, steps: int, accuracy: float
) -> None:
    """Required accept length, cycle and accuracy, put in again, give the rate they are for."""
    length = arrays.required_accept_length(rate, cycle_ms)
    assert arrays.throughput(length, cycle_ms) == pytest.approx(rate, rel=1e-12)
    assert arrays.break_even(rate, cycle_ms) == length
    some = arrays.accept_length(accuracy, steps)
    assert arrays.throughput(some, arrays.required_cycle(some, rate)) == pytest.approx(rate)
    ceiling = arrays.ceiling(steps, cycle_ms)
    assert ceiling == pytest.approx((steps + 1) / cycle_ms * 1000, rel=1e-12)
    solved = arrays.required_accuracy(rate, cycle_ms, steps)
    assert bool(solved.possible) == (length <= steps + 1)
    if solved.possible:
        reached = arrays.throughput(arrays.accept_length(solved.values, steps), cycle_ms)
        assert reached == pytest.approx(max(rate, 1000 / cycle_ms), rel=1e-9)


def test_a_slow_baseline_needs_no_accuracy_and_no_step() -> None:
    """Where one token a cycle is enough, the required accuracy and number of steps are 0."""
    assert arrays.required_accuracy(20, 30, 2) == (0.0, True)
    assert arrays.required_steps(20, 30) == (0.0, True)


def test_a_cycle_is_verify_its_drafts_and_overhead() -> None:
    """Draft time counts once a step; a cycle of no length has no rate."""
    np.testing.assert_allclose(arrays.cycle_time(30, [1, 2], 0.5, [2, 3]), [32.5, 36.5])
    assert np.isnan(arrays.throughput(2, 0))


def test_fewest_steps_close_to_an_accuracy_of_one() -> None:
    """One unit in the last place below 1 costs no step that 1 itself would not need."""
    accuracy = np.nextafter(1, 0)
    lengths = np.array([1.5, 7.3, 39.5])
    assert arrays.steps_needed(lengths, accuracy).values.tolist() == [1, 7, 39]


def test_required_steps_of_the_first_investigation() -> None:
    """150 tok/s: 4 steps at 30 ms, also at 33.3 ms, and never at 64 %."""
    solved = arrays.required_steps(150, [30, 100 / 3, 30, 30], [1, 1, 0.64, 0.8])
    assert solved.possible.tolist() == [True, True, False, True]
    assert solved.values[[0, 1]].tolist() == [4, 4]
    # 1 + 0.8 + ... + 0.8^k first passes 4.5 at k = 10: (1 - 0.8^11)/0.2 = 4.57
    assert solved.values[3] == 10


def test_the_formulas_of_findings_do_without_numpy() -> None:
    """Importing the model for single numbers, and the formula language, does not load numpy."""
    program = "import sys, gamekit.formula, gamekit.speculation; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
