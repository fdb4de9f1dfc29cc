"""What the findings lead to today, each conclusion under its name, and what last moved one."""

from __future__ import annotations

from gamekit.analysis import approaches, claims, gates, history, options, target
from gamekit.analysis.claims import ClaimResult
from gamekit.analysis.conclusions import Conclusions, sides
from gamekit.findings import Approach, Claim
from gamekit.formula import Known
from gamekit.knowledge import Knowledge
from gamekit.numbers import span, with_unit
from gamekit.store.load import Record

ORDER = "order of the approaches"
TARGET = "target rate"


def standing_conclusions(knowledge: Knowledge) -> dict[str, str]:
    """The order of the approaches, the sides, the target, options, gate outcomes and claims."""
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
    for option in options.options(knowledge):
        found[f"option {option.model.id} at {option.steps} steps"] = _option(option)
    for gate in gates.evaluate_all(knowledge):
        found[_gate(gate.record.id, gate.number)] = gate.outcome
    for claim in claims.evaluate_all(knowledge):
        found[_claim(claim.record.id)] = _verdict(claim)
    return found


def _option(option: options.Option) -> str:
    published = f"pays on {len(option.paying)} of {len(option.workloads)} published prompt sets"
    measured = [
        f"{one.rate.words} measured here, {one.against_baseline} the baseline"
        for one in option.measured
    ]
    return "; ".join([*measured, published])


def _verdict(claim: ClaimResult) -> str:
    """The verdict on what somebody stated; of what nobody did, the figure."""
    if claim.verdict != "computed" or not isinstance(claim.computed, Known):
        return claim.verdict
    unit = claim.record.finding.unit if isinstance(claim.record.finding, Claim) else "1"
    return with_unit(span(claim.computed.range), unit)


def causes(knowledge: Knowledge) -> dict[str, tuple[Record, ...]]:
    """By the name of a conclusion, the measurements or reviews that last moved it, at once.

    A conclusion that no figure moved (an order follows from what approaches consist of) has none.
    """
    found: dict[str, tuple[Record, ...]] = {}
    for step in history.replay(knowledge):
        for name in _moved(step.conclusions):
            found[name] = tuple({move.cause.id: move.cause for move in step.moves}.values())
    return found


def _moved(conclusions: Conclusions) -> list[str]:
    return [
        *(change.name for change in conclusions.sides),
        *(_gate(change.after.record.id, change.after.number) for change in conclusions.gates),
        *(_claim(one.after.record.id) for one in conclusions.claims),
    ]


def _gate(approach: str, number: int) -> str:
    return f"gate {number + 1} of {approach}"


def _claim(name: str) -> str:
    return f"claim {name}"
