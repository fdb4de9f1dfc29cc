"""Gates of approaches: does the comparison hold, and where does that lead?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gamekit import numbers
from gamekit.errors import UsageFault
from gamekit.findings import Approach, Gate, Outcome
from gamekit.formula import Impossible, Known, UnknownResult, Verdict
from gamekit.knowledge import NOTHING_INSTEAD, Instead, Knowledge
from gamekit.store.load import Record

GateOutcome = Literal["holds", "fails", "undecided", "unknown", "impossible"]


@dataclass(frozen=True)
class GateResult:
    """Where a gate of an approach stands.

    ``left`` and ``right`` are the figures of its two sides, None while one is unknown.
    ``applies`` is the outcome that leads on, None while nothing does. ``turned_by_rounding`` says
    that the roundings of the inputs leave it open. ``explanation`` is one sentence for a reader.
    """

    record: Record
    number: int
    gate: Gate
    outcome: GateOutcome
    left: Known | None
    right: Known | None
    applies: Outcome | None
    turned_by_rounding: bool
    explanation: str


def evaluate(
    knowledge: Knowledge, name: str, instead: Instead = NOTHING_INSTEAD
) -> list[GateResult]:
    """The gates of approach ``name`` in their order, over stated ranges.

    ``instead`` as in ``Knowledge.figure``. Raises ``UsageFault`` when ``name`` is no approach.
    """
    record = knowledge.record(name)
    if not isinstance(record.finding, Approach):
        raise UsageFault(f"{name} is a {record.finding.kind} and no approach")
    return [
        _evaluated(knowledge, record, number, gate, instead)
        for number, gate in enumerate(record.finding.gates)
    ]


def evaluate_all(knowledge: Knowledge, instead: Instead = NOTHING_INSTEAD) -> list[GateResult]:
    """The gates of all approaches, in the order of files and lines."""
    return [
        result
        for record in knowledge.of_kind("approach")
        for result in evaluate(knowledge, record.id, instead)
    ]


def _evaluated(
    knowledge: Knowledge, record: Record, number: int, gate: Gate, instead: Instead
) -> GateResult:
    judged, rounded = knowledge.judged(record.id, ("gates", number, "predicate"), instead)
    if not isinstance(judged, Verdict):
        outcome: GateOutcome = "unknown" if isinstance(judged, UnknownResult) else "impossible"
        return GateResult(
            record, number, gate, outcome, None, None, None, False, _no_figures(judged)
        )
    applies = {"holds": gate.if_holds, "fails": gate.if_fails}.get(judged.outcome)
    turned = isinstance(rounded, Verdict) and rounded.outcome != judged.outcome
    explanation = _explained(judged)
    if turned:
        explanation = (
            explanation.removesuffix(".") + ", though the roundings of the inputs leave it open."
        )
    return GateResult(
        record,
        number,
        gate,
        judged.outcome,
        judged.left,
        judged.right,
        applies,
        turned,
        explanation,
    )


def _no_figures(judged: UnknownResult | Impossible) -> str:
    if isinstance(judged, UnknownResult):
        return f"It is {judged.reason}."
    return f"It cannot be decided: {judged.reason}."


def _explained(judged: Verdict) -> str:
    against = f"{numbers.span(judged.left.range)} against {numbers.span(judged.right.range)}"
    if judged.outcome == "undecided":
        partly = judged.left.partly_impossible or judged.right.partly_impossible
        return f"{against} does not decide it{f': {partly}' if partly else ''}."
    return f"It {judged.outcome}: {against}."
