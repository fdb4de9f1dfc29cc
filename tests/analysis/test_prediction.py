"""The speculation model on given numbers: its figures by other routes, and what cannot be."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamekit.analysis.prediction import OUTPUTS, Prediction, predict
from gamekit.analysis.prediction_numbers import GivenNumbers
from gamekit.analysis.prediction_words import assumptions, conclusion
from gamekit.errors import UsageFault
from gamekit.ranges import Range


def between(low: float, high: float) -> Range:
    return Range(low, (low + high) / 2, high)


def predicted(**numbers: Any) -> Prediction:
    """A prediction on numbers; a plain one is exact, a pair a range, ``steps`` a count."""
    ranges = {
        name: value
        if name in ("steps", "accuracies")
        else between(*value)
        if isinstance(value, tuple)
        else Range.exact(value)
        for name, value in numbers.items()
    }
    return predict(GivenNumbers(**ranges).given())


def simulated_accept_length(accuracy: float, steps: int) -> tuple[float, float]:
    """Mean tokens of drawn cycles and its standard error: no formula of the chain is used."""
    random = np.random.default_rng(41)
    tokens = np.ones(200_000)
    going = np.ones(200_000, dtype=bool)
    for _ in range(steps):
        going &= random.random(200_000) < accuracy
        tokens += going
    return float(tokens.mean()), float(tokens.std(ddof=1) / math.sqrt(len(tokens)))


def three_ways(figure: Range) -> tuple[float, float, float]:
    return figure.low, figure.mid, figure.high


# --- The figures of the first investigation ------------------------------------------------------


def test_break_even_at_exactly_82_and_30() -> None:
    """82 tok/s and 30 ms: in the time of a cycle the baseline gives 2.46 tokens."""
    told = predicted(baseline=82, verify_ms=30, steps=2)
    assert told.figures["break_even_accept_len"] == Range.exact(2.46)
    rounded = predicted(baseline=(81.5, 83.5), verify_ms=(29.5, 30.5), steps=2)
    figure = rounded.figures["break_even_accept_len"]
    assert three_ways(figure) == pytest.approx((0.0815 * 29.5, 2.475, 0.0835 * 30.5), rel=1e-12)
    assert (round(figure.low, 2), round(figure.high, 2)) == (2.4, 2.55)


def test_calibrated_break_even() -> None:
    """A cycle of 2.0 tokens at 59 to 61 tok/s is 32.8 to 33.9 ms, and breaks even near 2.75."""
    told = predicted(baseline=(82, 83), cycle_ms=(2000 / 61, 2000 / 59), steps=2)
    assert three_ways(told.figures["break_even_accept_len"]) == pytest.approx(
        (164 / 61, 2.75, 166 / 59), rel=1e-3
    )


@pytest.mark.parametrize(("cycle_ms", "ceiling"), [(30, 100), (100 / 3, 90)])
def test_ceilings_at_two_steps(cycle_ms: float, ceiling: float) -> None:
    """Three tokens a cycle are 100 tok/s at 30 ms and 90 at 33.3, with whatever drafter."""
    told = predicted(cycle_ms=cycle_ms, steps=2, target=150)
    assert told.figures["ceiling_tok_s"].mid == pytest.approx(ceiling)
    assert told.reasons["required_accuracy"] == (
        f"no drafter can: the ceiling at 2 steps is {ceiling} tok/s, below the target of 150 tok/s"
    )
    always_right, _ = simulated_accept_length(1.0, 2)
    assert always_right / cycle_ms * 1000 == pytest.approx(ceiling)


@pytest.mark.parametrize(("cycle_ms", "needed"), [(30, 4.5), (100 / 3, 5)])
def test_150_tok_s_needs_four_steps_even_at_an_unchanged_cycle(
    cycle_ms: float, needed: float
) -> None:
    """4.5 tokens, and 5 at 33.3 ms, are more than 3 steps can give and no more than 4 can."""
    told = predicted(cycle_ms=cycle_ms, steps=2, target=150)
    assert told.figures["required_accept_len"].mid == pytest.approx(needed)
    assert predicted(cycle_ms=30, target=150).figures["steps_needed"] == Range.exact(4)
    assert "cycle as unchanged" in " ".join(assumptions(told))
    assert simulated_accept_length(1.0, 3)[0] < needed
    assert simulated_accept_length(1.0, 4)[0] >= needed - 1e-9


@pytest.mark.parametrize(
    ("length", "steps", "percent"), [(2.46, 2, 81), (2.46, 3, 68), (3.2, 3, 85), (3.5, 3, 91)]
)
def test_accuracies_of_accept_lengths(length: float, steps: int, percent: int) -> None:
    """The accuracy named for an accept length gives it back when the chain is simulated."""
    as_implied = predicted(accept_len=length, steps=steps).figures["accuracy"].mid
    as_required = predicted(cycle_ms=30, target=length / 0.03, steps=steps)
    assert as_required.figures["required_accuracy"].mid == pytest.approx(as_implied, abs=1e-9)
    assert round(100 * as_implied) == percent
    mean, standard_error = simulated_accept_length(as_implied, steps)
    assert abs(mean - length) <= 4.5 * standard_error


def test_64_percent_over_two_steps() -> None:
    """64 % over 2 steps is 2.05 tokens a cycle; 2.78 is the limit without end, and says so."""
    told = predicted(accuracies=(Range.exact(0.64),), steps=2)
    assert told.figures["accept_len"] == Range.exact(2.0496)
    mean, standard_error = simulated_accept_length(0.64, 2)
    assert abs(mean - 2.0496) <= 4.5 * standard_error
    endless, error_of_long = simulated_accept_length(0.64, 60)
    assert abs(told.figures["limit_accept_len"].mid - endless) <= 4.5 * error_of_long
    assert "steps → ∞" in OUTPUTS["limit_accept_len"].title
    assert any("no figures of any finite chain" in text for text in assumptions(told))


# --- Ranges --------------------------------------------------------------------------------------

POSITIVE = st.floats(1, 500).map(lambda x: round(x, 3))


@settings(max_examples=40)
@given(st.data(), st.integers(1, 5))
def test_ranges_are_those_of_the_corners(data: st.DataObject, steps: int) -> None:
    """Each figure spans what plain arithmetic gives at the corners of the given ranges."""

    def drawn(least: float, most: float) -> Range:
        ends = sorted(data.draw(st.tuples(st.floats(least, most), st.floats(least, most))))
        return between(*ends)

    length, cycle = drawn(1, steps + 1), drawn(5, 100)
    baseline, target = drawn(10, 200), drawn(10, 500)
    told = predict(
        GivenNumbers(
            accept_len=length, steps=steps, cycle_ms=cycle, baseline=baseline, target=target
        ).given()
    )
    corners = [
        {
            "throughput_tok_s": L / T * 1000,
            "speedup": L / T * 1000 / S,
            "break_even_accept_len": S * T / 1000,
            "ceiling_tok_s": (steps + 1) / T * 1000,
            "required_accept_len": G * T / 1000,
            "required_cycle_ms": L / G * 1000,
            "longest_cycle_ms": (steps + 1) / G * 1000,
        }
        for L, T, S, G in itertools.product(
            *((one.low, one.high) for one in (length, cycle, baseline, target))
        )
    ]
    for key in corners[0]:
        figure = told.figures[key]
        assert figure.low == pytest.approx(min(corner[key] for corner in corners), rel=1e-9), key
        assert figure.high == pytest.approx(max(corner[key] for corner in corners), rel=1e-9), key


def test_accuracies_of_their_own_and_a_cycle_of_parts() -> None:
    """One accuracy a step gives 1 + a1 + a1 a2 + …, and draft time counts once a step."""
    accuracies = (Range.exact(0.8), between(0.5, 0.7), Range.exact(0.5))
    told = predicted(accuracies=accuracies, verify_ms=25, draft_ms=2, overhead_ms=1.5)
    assert told.given.steps == 3
    assert three_ways(told.figures["accept_len"]) == pytest.approx(
        (1 + 0.8 * (1 + 0.5 * 1.5), 1 + 0.8 * (1 + 0.6 * 1.5), 1 + 0.8 * (1 + 0.7 * 1.5))
    )
    assert told.figures["cycle_ms"] == Range.exact(32.5)
    assert "further steps were not given" in told.reasons["limit_accept_len"]
    assert not any(text.startswith("The cycle leaves") for text in assumptions(told))


def test_the_longest_chain_with_an_accuracy_a_step() -> None:
    """A hundred accuracies, more than a formula's text could nest, are one sum."""
    told = predicted(accuracies=(between(0.9, 0.95),) * 100)
    low, high = ((1 - a**101) / (1 - a) for a in (0.9, 0.95))
    assert told.figures["accept_len"].low == pytest.approx(low)
    assert told.figures["accept_len"].high == pytest.approx(high)


# --- What is unknown, and what cannot be ---------------------------------------------------------


def test_every_output_is_a_figure_or_has_a_reason() -> None:
    """Whatever is given and left out, each output is in one of the two."""
    some = {
        "accept_len": 2.0, "steps": 2, "cycle_ms": 30, "baseline": 82, "target": 150,
    }  # fmt: skip
    for count in range(len(some) + 1):
        for names in itertools.combinations(some, count):
            told = predicted(**{name: some[name] for name in names})
            assert told.figures.keys() | told.reasons.keys() == OUTPUTS.keys()
            assert not told.figures.keys() & told.reasons.keys()
            assert conclusion(told)


NO_VERIFY = "no verify time was given, and a cycle is more than its drafts and overhead"
NO_STEPS = (
    "no number of steps can be named: in the time that one more step takes the target of 150 tok/s"
    " asks for 1.05 tokens, and it brings at most 1"
)
NOT_AT_THE_MIDDLE = (
    "no drafter can at the middle of the ranges: the ceiling at 2 steps is 91 to 107 tok/s, against"
    " the target of 100 tok/s; in the rest it takes at least 93.2 %"
)


@pytest.mark.parametrize(
    ("numbers", "key", "reason"),
    [
        ({"steps": 2, "baseline": 82}, "ceiling_tok_s", "unknown because no cycle time was given"),
        ({"cycle_ms": 30}, "ceiling_tok_s", "unknown because the number of steps was not given"),
        (
            {"cycle_ms": 30, "steps": 2},
            "required_accuracy",
            "unknown because no baseline was given; no target was given",
        ),
        (
            {"draft_ms": 1, "steps": 2},
            "cycle_ms",
            f"unknown because {NO_VERIFY}",
        ),
        (
            {"verify_ms": 30, "draft_ms": 1, "target": 99},
            "cycle_ms",
            "unknown because the number of steps was not given",
        ),
        (
            {"accept_len": 3, "steps": 2},
            "limit_accept_len",
            "a drafter that is always right never ends a chain without end",
        ),
        (
            {"verify_ms": 30, "draft_ms": 7, "target": 150},
            "steps_needed",
            NO_STEPS,
        ),
        (
            {"cycle_ms": (28, 33), "steps": 2, "target": 100},
            "required_accuracy",
            NOT_AT_THE_MIDDLE,
        ),
        (
            {"cycle_ms": 30, "steps": 1, "baseline": 82},
            "required_accuracy",
            "no drafter can: the ceiling at 1 step is 66.7 tok/s, below the baseline of 82 tok/s",
        ),
    ],
)
def test_what_is_not_there_says_why(numbers: dict[str, Any], key: str, reason: str) -> None:
    """An unknown names what is missing; an impossible figure the ceiling and what is above it."""
    assert predicted(**numbers).reasons[key] == reason


@given(
    steps=st.integers(1, 12),
    cycle_ms=st.floats(0.5, 500),
)
def test_the_ceiling_that_is_told_is_a_target_that_exists(steps: int, cycle_ms: float) -> None:
    """Fed back as a target, the ceiling takes every draft right and the same number of steps."""
    ceiling = predicted(steps=steps, cycle_ms=cycle_ms).figures["ceiling_tok_s"].mid
    told = predicted(steps=steps, cycle_ms=cycle_ms, target=ceiling)
    assert told.figures["required_accuracy"].mid == pytest.approx(1, abs=1e-9)
    assert told.figures["steps_needed"] == Range.exact(steps)


@given(length=st.floats(1, 3), cycle_ms=st.floats(0.5, 500))
def test_the_rate_that_is_told_is_a_baseline_not_clearly_apart(
    length: float, cycle_ms: float
) -> None:
    """Fed back as the baseline, a rate is not faster or slower by the last digit of a float."""
    rate = predicted(steps=2, cycle_ms=cycle_ms, accept_len=length).figures["throughput_tok_s"].mid
    told = predicted(steps=2, cycle_ms=cycle_ms, accept_len=length, baseline=rate)
    assert "not clearly apart from" in conclusion(told)[0]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"accuracies": (Range.exact(0.64),), "steps": 2}, "64 % right in every one of 2 steps"),
        ({"accept_len": 2, "cycle_ms": 25}, "2 tok/cycle in cycles of 25 ms give 80 tok/s"),
        ({"verify_ms": 25, "steps": 2}, "If every draft were right, 2 steps would give 120 tok/s"),
        ({"accuracies": (Range.exact(0.5),) * 2}, "with these accuracies give 1.75 tok/cycle"),
        ({"baseline": 80}, "Nothing follows from so little"),
    ],
)
def test_what_follows_of_a_chain_alone_is_said(numbers: dict[str, Any], said: str) -> None:
    """Without a baseline or target the chain's own figures are the conclusion."""
    assert said in " ".join(conclusion(predicted(**numbers)))


def test_a_target_that_only_part_of_the_ranges_reaches() -> None:
    """The accuracy is that of the part that reaches it, and the rest is told."""
    told = predicted(cycle_ms=(28, 31), steps=2, target=100)
    figure = told.figures["required_accuracy"]
    assert figure.low == pytest.approx((math.sqrt(4 * 2.8 - 3) - 1) / 2)
    assert figure.high == 1
    assert told.partly["required_accuracy"].startswith("no drafter can in part of the ranges")
    assert "in part of the ranges more than any drafter has" in " ".join(conclusion(told))


def test_a_baseline_below_one_token_a_cycle_needs_no_accuracy() -> None:
    """Every cycle brings a token, so that a slower baseline is beaten by any drafter."""
    told = predicted(cycle_ms=30, steps=2, baseline=20)
    assert told.figures["break_even_accept_len"].mid == pytest.approx(0.6)
    assert told.figures["required_accuracy"] == Range.exact(0)
    assert told.figures["steps_needed"] == Range.exact(0)
    assert "pays with every drafter" in conclusion(told)[0]


def test_steps_needed_grow_with_what_a_step_costs() -> None:
    """With a draft time the fewest steps are those whose own, longer cycle reaches the target."""
    told = predicted(verify_ms=30, draft_ms=1, overhead_ms=0.5, target=150, steps=2)
    reach = [(k + 1) / (30.5 + k) * 1000 for k in range(12)]
    assert told.figures["steps_needed"].mid == next(
        k for k, rate in enumerate(reach) if rate >= 150
    )
    assert "it does not exist" in told.reasons["limit_required_accuracy"]
    assert "one draft time more for each step" in " ".join(assumptions(told))


def test_conclusions_compare_with_the_baseline() -> None:
    """Clearly faster, clearly slower, or neither where the ranges meet."""
    words = {
        2.0: "slower than",
        2.9: "faster than",
        2.5: "not clearly apart from",
    }
    for length, word in words.items():
        told = predicted(accept_len=length, steps=2, cycle_ms=(29, 31), baseline=82.5)
        assert word in conclusion(told)[0]


@pytest.mark.parametrize(
    ("numbers", "what"),
    [
        ({"accept_len": 3.2, "steps": 2}, "accept length of 3.2 at 2 steps"),
        ({"accept_len": (2.9, 3.1), "steps": 2}, "at most 3 tokens a cycle"),
        ({"accept_len": 0.9}, "at least 1 token"),
        ({"accept_len": 2, "accuracies": (Range.exact(0.5),)}, "give one of the two"),
        ({"accuracies": (Range.exact(1.2),), "steps": 2}, "a share from 0 to 1"),
        ({"accuracies": (Range.exact(0.5),) * 3, "steps": 2}, "3 accuracies do not fit 2 steps"),
        ({"steps": 0}, "give 1 to 100"),
        ({"steps": 101}, "give 1 to 100"),
        ({"cycle_ms": 30, "verify_ms": 20}, "either the cycle time or"),
        ({"cycle_ms": 0}, "above 0"),
        ({"baseline": 0}, "above 0"),
        ({"target": 1e101}, "target of 1e\\+101; give at most 1e+100"),
        ({"draft_ms": -1, "verify_ms": 3}, "0 or more"),
    ],
)
def test_numbers_that_no_chain_has_are_refused(numbers: dict[str, Any], what: str) -> None:
    """What contradicts the model or itself is wrong usage, with the way to mend it."""
    with pytest.raises(UsageFault) as caught:
        predicted(**numbers)
    assert what.replace("\\", "") in str(caught.value)


ANY = st.one_of(st.none(), st.floats(1e-6, 1e6), st.tuples(st.floats(1e-6, 1e6), st.floats(0, 1e6)))


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        dict.fromkeys(("verify_ms", "draft_ms", "overhead_ms", "baseline", "target"), ANY)
    ),
    st.one_of(st.none(), st.integers(1, 100)),
    st.lists(st.floats(0, 1), max_size=4),
)
def test_no_given_numbers_make_it_fail(
    numbers: dict[str, Any], steps: int | None, accuracies: list[float]
) -> None:
    """Numbers of any size either are refused as wrong usage or have an answer."""
    ranges = {
        name: between(value[0], value[0] + value[1])
        if isinstance(value, tuple)
        else Range.exact(value)
        for name, value in numbers.items()
        if value is not None
    }
    try:
        given_numbers = GivenNumbers(
            **ranges, steps=steps, accuracies=tuple(map(Range.exact, accuracies))
        )
    except UsageFault:
        assert len(accuracies) > 1
        assert len(accuracies) != steps
        return
    told = predict(given_numbers.given())
    assert told.figures.keys() | told.reasons.keys() == OUTPUTS.keys()
    assert conclusion(told)
    assert all(text for text in assumptions(told))
    figure = told.figures.get("required_accuracy")
    assert figure is None or 0 <= figure.low <= figure.high <= 1
