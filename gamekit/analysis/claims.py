"""The verdict on a claim: does what it states follow from the findings it names?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gamekit import numbers
from gamekit.errors import UsageFault
from gamekit.findings import Claim
from gamekit.formula import Impossible, Known, Result, UnknownResult
from gamekit.knowledge import NOTHING_INSTEAD, Instead, Knowledge
from gamekit.ranges import Range
from gamekit.store.load import Record

Verdict = Literal[
    "holds",
    "holds within rounding",
    "contradicted",
    "rests on another model",
    "computed",
    "unknown",
    "impossible",
]


@dataclass(frozen=True)
class ClaimResult:
    """What a claim comes to.

    ``computed`` is over stated ranges, ``rounded`` with the roundings of all figures besides, and
    ``stated`` the stated figure with its own rounding (None for what nobody stated). ``other`` and
    ``other_rounded`` are what the other model gives, where the claim has one. ``explanation`` is
    one sentence for a reader.
    """

    record: Record
    verdict: Verdict
    unit: str
    computed: Result
    rounded: Result
    stated: Range | None
    other: Result | None
    other_rounded: Result | None
    explanation: str


def evaluate(knowledge: Knowledge, name: str, instead: Instead = NOTHING_INSTEAD) -> ClaimResult:
    """The verdict on claim ``name``; ``instead`` as in ``Knowledge.figure``.

    It *holds* when the stated figure, with its rounding, meets what the stated ranges give; *holds
    within rounding* when only the roundings of the inputs make them meet; otherwise it *rests on
    another model* where the second formula meets the stated figure, and is *contradicted* where
    that does not. Without a stated figure it is *computed*. Raises ``UsageFault`` when ``name`` is
    no claim.
    """
    record = knowledge.record(name)
    claim = record.finding
    if not isinstance(claim, Claim):
        raise UsageFault(f"{name} is a {claim.kind} and no claim")
    computed, rounded = knowledge.computed(name, ("formula",), instead)
    other = other_rounded = None
    if claim.other_model is not None:
        other, other_rounded = knowledge.computed(name, ("other_model", "formula"), instead)
    stated = None if claim.stated is None else claim.stated.with_rounding()
    verdict = _verdict(stated, (computed, rounded), (other, other_rounded))
    explanation = _explained(claim, verdict, (computed, rounded), (other, other_rounded))
    return ClaimResult(
        record, verdict, claim.unit, computed, rounded, stated, other, other_rounded, explanation
    )


def evaluate_all(knowledge: Knowledge) -> list[ClaimResult]:
    """The verdicts on all claims, in the order of files and lines."""
    return [evaluate(knowledge, record.id) for record in knowledge.of_kind("claim")]


def as_json(knowledge: Knowledge, name: str) -> dict[str, Any]:
    """The verdict on claim ``name`` as plain data; a figure that does not exist is None."""
    result = evaluate(knowledge, name)
    return {
        "verdict": result.verdict,
        "unit": result.unit,
        "computed": _plain(result.computed),
        "with_roundings": _plain(result.rounded),
        "stated": _plain(result.stated),
        "other_model": _plain(result.other),
        "explanation": result.explanation,
    }


def _plain(figure: Result | Range | None) -> dict[str, float] | None:
    found = figure.range if isinstance(figure, Known) else figure
    if not isinstance(found, Range):
        return None
    return {"low": found.low, "mid": found.mid, "high": found.high}


def _verdict(
    stated: Range | None,
    own: tuple[Result, Result],
    other: tuple[Result | None, Result | None],
) -> Verdict:
    if isinstance(own[0], UnknownResult):
        return "unknown"
    if stated is None:
        return "computed" if isinstance(own[0], Known) else "impossible"
    if _meets(own[0], stated):
        return "holds"
    if _meets(own[1], stated):
        return "holds within rounding"
    if any(_meets(result, stated) for result in other):
        return "rests on another model"
    return "contradicted" if isinstance(own[0], Known) else "impossible"


def _meets(result: Result | None, stated: Range) -> bool:
    return isinstance(result, Known) and result.range.overlaps(stated)


def _explained(
    claim: Claim,
    verdict: Verdict,
    own: tuple[Result, Result],
    other: tuple[Result | None, Result | None],
) -> str:
    if isinstance(own[0], UnknownResult):
        return f"The figure is {own[0].reason}."
    come = _come(own, claim.unit)
    if claim.stated is None:
        return f"The findings give {come}{_beyond(own, claim.unit)}."
    stated = numbers.with_unit(numbers.stated(claim.stated), claim.unit)
    if verdict == "holds":
        return f"{stated} was stated, and the findings give {come}."
    wider = _beyond(own, claim.unit)
    if verdict == "holds within rounding":
        return f"{stated} was stated; the findings give {come}{wider}."
    beside = ""
    if claim.other_model is not None:
        beside = f"; another model gives {_come(other, claim.unit)}: {claim.other_model.title}"
    return f"{stated} was stated, but the findings give {come}{wider}{beside}."


def _come(results: tuple[Result | None, Result | None], unit: str) -> str:
    """The figure over stated ranges in words, with the digits that the roundings leave."""
    plain, rounded = results
    if isinstance(plain, Known):
        wider = rounded.range if isinstance(rounded, Known) else None
        text = numbers.with_unit(numbers.span(plain.range, wider), unit)
        return f"{text} ({plain.partly_impossible})" if plain.partly_impossible else text
    return (
        f"no figure, since {plain.reason}" if isinstance(plain, Impossible) else "no known figure"
    )


def _beyond(results: tuple[Result, Result], unit: str) -> str:
    """What the roundings of the inputs make of the figure, in brackets; empty where nothing."""
    plain, rounded = results
    if isinstance(rounded, Known):
        if isinstance(plain, Known) and rounded.range == plain.range:
            return ""
        text = numbers.with_unit(numbers.span(rounded.range), unit)
        return f" ({text} with the roundings of the inputs)"
    if isinstance(plain, Known) and isinstance(rounded, Impossible):
        return f" (with the roundings of the inputs no figure: {rounded.reason})"
    return ""
