"""Gates of approaches: which outcome applies, and on what figures."""

from __future__ import annotations

import pytest
from knowledge.bases import approach, known, measurement, review, run, series, steady

from gamekit.analysis import gates
from gamekit.analysis.gates import GateResult
from gamekit.errors import UsageFault

GATE = {
    "title": "Does it pay?",
    "predicate": "[probe] >= [rate]",
    "if_holds": {"text": "Go on.", "next": ["b"]},
    "if_fails": {"text": "Stop."},
}
PARTS = (
    series("rate"),
    series("probe"),
    measurement(
        "baseline", {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"}, series="rate"
    ),
    approach("a", ["x"], gates=[GATE]),
    approach("b", ["y"]),
)


def gate(*parts: dict) -> GateResult:
    return gates.evaluate(known(*PARTS, *parts), "a")[0]


def probe(value: object) -> dict:
    return measurement("told", value, series="probe")


def test_a_gate_over_nothing_measured_is_unknown() -> None:
    """As long as a side is unknown no outcome applies, and the reason names it."""
    found = gate()
    assert (found.outcome, found.applies, found.left) == ("unknown", None, None)
    assert "[probe]: nothing has been measured or reported yet" in found.explanation


@pytest.mark.parametrize(
    ("value", "outcome", "text"),
    [(90, "holds", "Go on."), (80, "fails", "Stop.")],
)
def test_a_decided_gate_has_its_outcome_and_both_figures(
    value: int, outcome: str, text: str
) -> None:
    """Once its inputs are known the gate holds or fails for all of their ranges."""
    found = gate(probe(value))
    assert (found.outcome, found.applies and found.applies.text) == (outcome, text)
    assert found.left is not None
    assert found.right is not None
    assert (found.left.range.mid, found.right.range.high) == (value, 83)
    assert found.explanation == f"It {outcome}: {value} against 82 to 83."
    assert not found.turned_by_rounding


def test_ranges_that_meet_decide_nothing() -> None:
    """A figure inside the other's range leaves the gate undecided."""
    found = gate(probe({"value": 82.5, "unit": "tok/s"}))
    assert (found.outcome, found.applies) == ("undecided", None)


def test_a_gate_that_roundings_could_turn_says_so() -> None:
    """A figure just beyond the range holds as stated, and not for sure."""
    found = gate(probe(83))
    assert (found.outcome, found.turned_by_rounding) == ("holds", True)
    assert found.explanation == (
        "It holds: 83 against 82 to 83, though the roundings of the inputs leave it open."
    )


def test_a_run_and_its_retraction_turn_a_gate() -> None:
    """A gate follows the current figures of its series."""
    made = run("r1", "2026-12-01T00:00:00Z", steady("m", 90, "probe"))
    assert gate(probe(80), made).outcome == "holds"
    assert gate(probe(80), made, review("no", "retracts", ["m"])).outcome == "fails"
    knowledge = known(*PARTS, probe(80), made)
    assert gates.evaluate(knowledge, "a", {"probe": "told"})[0].outcome == "fails"
    assert [found.outcome for found in gates.evaluate_all(knowledge)] == ["holds"]


def test_only_an_approach_has_gates() -> None:
    """Asking for the gates of another kind is a usage error."""
    with pytest.raises(UsageFault, match="is a series and no approach"):
        gates.evaluate(known(*PARTS), "rate")
