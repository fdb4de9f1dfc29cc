"""Verdicts on claims: what was stated against what the findings give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge.bases import Data, claim, finding, known, measurement, run, series, steady

from gamekit.analysis import claims
from gamekit.errors import UsageFault

BASELINE = measurement(
    "baseline", {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"}, series="rate"
)
CYCLE = measurement("cycle", {"value": 30, "unit": "ms"}, metric="cycle_time")
LENGTH = {"value": 4.5, "unit": "tok/cycle"}
PARTS = (
    series("rate"),
    series("empty"),
    BASELINE,
    CYCLE,
    measurement("early", 89),
    measurement("fast", 94),
    measurement("length", LENGTH, metric="accept_length"),
)
WITHOUT_END = {
    "title": "A chain without end",
    "formula": "100 * accuracy_without_end([length])",
    "why_not_here": "The chain has 2 steps.",
}


def result(
    formula: str, unit: str, stated: Data | None = None, **fields: Any
) -> claims.ClaimResult:
    more = {} if stated is None else {"stated": {**stated, "unit": unit}}
    return claims.evaluate(known(*PARTS, claim("c", formula, unit, **more, **fields)), "c")


def test_a_stated_figure_inside_the_computed_range_holds() -> None:
    """2.46 is what 82 tok/s and 30 ms give, the low end of the range."""
    found = result("[rate] * [cycle] / 1000", "tok/cycle", {"value": 2.46})
    assert found.verdict == "holds"
    assert found.explanation == (
        "2.46 tok/cycle was stated, and the findings give 2.46 to 2.49 tok/cycle."
    )


def test_the_rounding_of_the_stated_figure_is_part_of_the_check() -> None:
    """66.67 makes a stated 67 hold; 66.7 to a tenth does not bear it out."""
    exact = "2000 / [cycle]"
    assert result(exact, "tok/s", {"value": 67}).verdict == "holds"
    assert result(exact, "tok/s", {"value": 67.0}).verdict == "holds within rounding"


def test_roundings_of_the_inputs_can_make_it_hold() -> None:
    """5.9 % is not 94/89, and is inside what the rounding of both numbers allows."""
    found = result("100 * ([fast] / [early] - 1)", "%", {"value": 5.9})
    assert found.verdict == "holds within rounding"
    assert found.explanation == (
        "5.9 % was stated; the findings give 5.6 % (4.5 to 6.8 % with the roundings of the inputs)."
    )


def test_what_no_rounding_explains_is_contradicted() -> None:
    """A figure beyond all ranges is contradicted, with both in the sentence."""
    found = result("2000 / [cycle]", "tok/s", {"value": 90})
    assert found.verdict == "contradicted"
    assert found.explanation.startswith("90 tok/s was stated, but the findings give 66.7 tok/s (")


def test_a_figure_of_another_model_rests_on_it() -> None:
    """78 % follows from a chain without end, where two steps cannot give 4.5 at all."""
    found = result("100 * accuracy_for([length], 2)", "%", {"value": 78}, other_model=WITHOUT_END)
    assert found.verdict == "rests on another model"
    assert "above the ceiling of 3 for 2 steps" in found.explanation
    assert "another model gives 77.8 %: A chain without end" in found.explanation


def test_another_model_that_does_not_fit_either_leaves_it_contradicted() -> None:
    """A second formula explains nothing unless it gives the stated figure."""
    found = result("2000 / [cycle]", "%", {"value": 90}, other_model=WITHOUT_END)
    assert found.verdict == "contradicted"
    assert "another model gives 77.8 %" in found.explanation


def test_the_own_formula_comes_before_the_other_model() -> None:
    """Where both give the stated figure the claim holds."""
    found = result(
        "[length]", "tok/cycle", {"value": 4.5}, other_model={**WITHOUT_END, "formula": "4.5"}
    )
    assert found.verdict == "holds"


def test_without_a_stated_figure_it_is_computed() -> None:
    """What gamekit alone concludes has a figure and no verdict on anybody."""
    found = result("[rate] * [cycle] / 1000", "tok/cycle")
    assert (found.verdict, found.stated) == ("computed", None)
    assert found.explanation == (
        "The findings give 2.46 to 2.49 tok/cycle"
        " (2.40 to 2.55 tok/cycle with the roundings of the inputs)."
    )


def test_over_an_unknown_it_is_unknown_and_says_why() -> None:
    """A claim over a series without a figure is unknown, also where another model has one."""
    found = result("[empty] * 2", "%", {"value": 78}, other_model=WITHOUT_END)
    assert found.verdict == "unknown"
    assert "[empty]: nothing has been measured or reported yet" in found.explanation


def test_what_no_number_can_be_is_impossible() -> None:
    """An accuracy for more tokens than the chain can give does not exist."""
    found = result("accuracy_for([length], 3)", "1")
    assert found.verdict == "impossible"
    assert found.explanation == (
        "The findings give no figure, since an accept length of 4.5 is above the ceiling of 4"
        " for 3 steps."
    )


def test_the_verdict_follows_the_current_figure() -> None:
    """A run in the series turns the verdict, and ``instead`` turns it back."""
    held = claim("c", "[rate]", "tok/s", stated={"value": 82, "unit": "tok/s"})
    knowledge = known(*PARTS, held, run("r1", "2026-12-01T00:00:00Z", steady("m", 70)))
    assert claims.evaluate(knowledge, "c").verdict == "contradicted"
    assert claims.evaluate(knowledge, "c", {"rate": "baseline"}).verdict == "holds"


def test_only_a_claim_has_a_verdict() -> None:
    """Asking for the verdict on another kind is a usage error."""
    with pytest.raises(UsageFault, match="is a model and no claim"):
        claims.evaluate(known(finding("model", "k", role="target", name="K")), "k")


def test_the_json_of_a_verdict_is_plain() -> None:
    """Figures are low, mid and high, and what does not exist is None."""
    knowledge = known(*PARTS, claim("c", "[rate] * 2", "tok/s"))
    assert claims.as_json(knowledge, "c") == {
        "verdict": "computed",
        "unit": "tok/s",
        "computed": {"low": 164.0, "mid": 165.0, "high": 166.0},
        "with_roundings": {"low": 163.0, "mid": 165.0, "high": 167.0},
        "stated": None,
        "other_model": None,
        "explanation": claims.evaluate(knowledge, "c").explanation,
    }


RANKS = ("holds", "holds within rounding", "contradicted")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 400))
def test_a_verdict_is_what_the_ranges_say(one: int, other: int, told: int) -> None:
    """Held against the definition: sums of whole numbers, each within half a unit."""
    parts = [measurement("a", one), measurement("b", other)]
    stated = claim("c", "[a] + [b]", "tok/s", stated={"value": told, "unit": "tok/s"})
    verdict = claims.evaluate(known(*parts, stated), "c").verdict
    gap = abs(one + other - told)
    assert verdict == RANKS[0 if gap <= 0.5 else 1 if gap <= 1.5 else 2]
