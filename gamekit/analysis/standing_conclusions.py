"""What the findings lead to today, each conclusion under its name, and what last moved one."""

from __future__ import annotations

from gamekit.analysis import approaches, claims, gates, history, target
from gamekit.analysis.conclusions import Conclusions, sides
from gamekit.findings import Approach
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record

ORDER = "order of the approaches"
TARGET = "target rate"


def standing_conclusions(knowledge: Knowledge) -> dict[str, str]:
    """The order of the approaches, the sides, the target, gate outcomes and claim verdicts."""
    labels = [
        placed.record.finding.label
        for placed in approaches.order(knowledge).open
        if isinstance(placed.record.finding, Approach)
    ]
    found: dict[str, str] = {ORDER: ", ".join(labels)} if labels else {}
    found.update(sides(knowledge))
    answer = target.answer(knowledge)
    if answer is not None:
        found[TARGET] = answer.answer
    for gate in gates.evaluate_all(knowledge):
        found[_gate(gate.record.id, gate.number)] = gate.outcome
    for claim in claims.evaluate_all(knowledge):
        found[_claim(claim.record.id)] = claim.verdict
    return found


def causes(knowledge: Knowledge) -> dict[str, Record]:
    """By the name of a conclusion, the measurement or review that last moved it.

    A conclusion that no figure moved (an order follows from what approaches consist of) has none.
    """
    found: dict[str, Record] = {}
    for step in history.replay(knowledge):
        for name in _moved(step.conclusions):
            found[name] = step.cause
    return found


def _moved(conclusions: Conclusions) -> list[str]:
    return [
        *(change.name for change in conclusions.sides),
        *(_gate(change.after.record.id, change.after.number) for change in conclusions.gates),
        *(_claim(one.after.record.id) for one in conclusions.claims if one.verdict_changes),
    ]


def _gate(approach: str, number: int) -> str:
    return f"gate {number + 1} of {approach}"


def _claim(name: str) -> str:
    return f"claim {name}"
