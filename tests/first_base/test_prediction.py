"""What the speculation model says about the curated findings, beside the claims that say it too."""

from __future__ import annotations

import pytest

from gamekit.analysis.prediction import Prediction, predict
from gamekit.analysis.prediction_of_base import given_by
from gamekit.analysis.prediction_words import conclusion
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range


@pytest.fixture(scope="module")
def told(knowledge: Knowledge) -> Prediction:
    return predict(given_by(knowledge))


@pytest.mark.parametrize(
    ("output", "claim"),
    [
        ("break_even_accept_len", "break-even"),
        ("ceiling_tok_s", "ceiling"),
        ("required_accept_len", "accept-length-for-target"),
        ("longest_cycle_ms", "cycle-for-target"),
        ("steps_needed", "steps-for-target"),
    ],
)
def test_the_model_says_what_the_claims_say(
    told: Prediction, knowledge: Knowledge, output: str, claim: str
) -> None:
    """A figure that a claim computes by a formula of its own is the same here."""
    assert told.figures[output] == knowledge.figure(claim).known


def test_the_rate_is_the_one_the_cycle_was_computed_from(told: Prediction) -> None:
    """Accept length over a cycle of accept length over rate is the rate: no spread counts twice."""
    assert told.figures["throughput_tok_s"] == Range(59, 60, 61)
    # The accept length is rounded too, 1.95 to 2.05, and cancels.
    rounded = told.rounded["throughput_tok_s"]
    assert (rounded.low, rounded.high) == (58.5, 61.5)
    speedup = told.figures["speedup"]
    assert (speedup.low, speedup.high) == pytest.approx((59 / 83, 61 / 82))


def test_calibrated_break_even_with_all_roundings(told: Prediction) -> None:
    """About 2.75, and 2.6 to 2.9 once every figure is taken as the rounding that it is."""
    assert told.figures["break_even_accept_len"].mid == pytest.approx(2.75)
    rounded = told.rounded["break_even_accept_len"]
    assert (rounded.low, rounded.high) == pytest.approx((81.5 * 1.95 / 61.5, 83.5 * 2.05 / 58.5))


def test_no_drafter_can_give_150(told: Prediction) -> None:
    """The target is above the ceiling, which is said in words, with what would have to change."""
    assert told.given.steps == 2
    assert told.reasons == {
        "required_accuracy": "no drafter can: the ceiling at 2 steps is 88.5 to 91.5 tok/s,"
        " below the target of 150 tok/s",
        "steps_needed_at_accuracy": "no chain of up to 32 steps reaches it",
    }
    sentences = " ".join(conclusion(told))
    assert "slower than the 82 to 83 tok/s without it" in sentences
    assert "at least 4 to 5 steps at a cycle unchanged, or at most 20 ms" in sentences
