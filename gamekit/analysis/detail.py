"""Everything there is to say of one finding, or of one run, as data for ``show`` and for agents."""

from __future__ import annotations

from typing import Any

from gamekit.analysis import claims, gates
from gamekit.analysis.boots import boots_of
from gamekit.analysis.comparison import differences
from gamekit.analysis.texts import figure_of
from gamekit.findings import Approach, Claim, Measurement, Review, Series
from gamekit.formula import Known
from gamekit.knowledge import Knowledge, Shift
from gamekit.knowledge.references import WITH_FIGURE
from gamekit.store.load import Record


def detail(knowledge: Knowledge, name: str) -> dict[str, Any]:
    """The finding or run ``name``; raises ``UsageFault`` when there is neither.

    A finding has the keys of ``Knowledge.as_json`` and: ``finding`` (the record as it stands),
    ``grade_why``, ``unstable`` (what its samples show of other states), ``environment``, ``claim``
    (its evaluation), ``gates`` (those of an approach, as they stand), ``history`` (members of its
    series, or what superseded what; oldest first), ``shifted`` (of a series, also where one of its
    members is asked for), ``boots`` (whether those that the figure rests on are gone), ``reviews``,
    ``dependents``. A run has ``id``, ``kind`` "run", ``run`` (the record without raw samples),
    ``file`` and ``findings``.
    """
    if name in knowledge.base.runs:
        return _run(knowledge, name)
    if name not in knowledge.base.records:
        known = (*knowledge.base.runs, *knowledge.base.records)
        raise knowledge.no_such(name, known, "finding and no run")
    record = knowledge.record(name)
    finding = record.finding
    grade = knowledge.grade(name)
    series = finding.series if isinstance(finding, Measurement) else None
    if isinstance(finding, Series):
        series = finding.id
    shifted = None if series is None else knowledge.series(series).shifted
    boots = boots_of(knowledge, name) if finding.kind in WITH_FIGURE else None
    environment = (
        knowledge.environment(name).model_dump(exclude_none=True, exclude_defaults=True)
        if isinstance(finding, Measurement)
        else None
    )
    return {
        **knowledge.as_json(name),
        "finding": _written(record),
        "grade_why": [] if grade is None else list(grade.why),
        "unstable": [
            one.in_words(knowledge.figure(name).unit)
            for one in knowledge.instabilities(name)
            if one.matters
        ],
        "environment": environment,
        "claim": claims.as_json(knowledge, name) if isinstance(finding, Claim) else None,
        "gates": [_gate(knowledge, result) for result in gates.evaluate(knowledge, name)]
        if isinstance(finding, Approach)
        else None,
        "history": [knowledge.as_json(other.id) for other in _history(knowledge, record)],
        "shifted": None if shifted is None else {"series": series, **_shift(shifted)},
        "boots": boots.as_json() if boots is not None and boots.parts else None,
        "reviews": [_review(review) for review in knowledge.standing(name).reviews],
        "dependents": [
            {
                "id": dependent.record.id,
                "kind": dependent.record.finding.kind,
                "title": dependent.record.finding.title,
                "by": dependent.by,
                "through": dependent.through,
                "computed": dependent.computed,
            }
            for dependent in knowledge.dependents(name)
        ],
    }


def _written(record: Record) -> dict[str, Any]:
    return record.finding.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def _run(knowledge: Knowledge, name: str) -> dict[str, Any]:
    run = knowledge.base.runs[name]
    given = [record for record in knowledge.base.records.values() if record.run is run]
    return {
        "id": name,
        "kind": "run",
        "run": run.model_dump(
            mode="json", exclude_none=True, exclude={"cases": {"__all__": {"samples"}}}
        ),
        "file": next(topic.file for topic in knowledge.base.topics if topic.run is run),
        "findings": [knowledge.as_json(record.id) for record in given],
    }


def _history(knowledge: Knowledge, record: Record) -> list[Record]:
    finding = record.finding
    if isinstance(finding, Series):
        return list(knowledge.series(finding.id).members)
    if isinstance(finding, Measurement) and finding.series is not None:
        return list(knowledge.series(finding.series).members)
    reached = {record.id: record}
    waiting = [record.id]
    for name in waiting:
        for other in (*knowledge.replaces(name), *knowledge.standing(name).superseded_by):
            if other not in reached:
                reached[other] = knowledge.record(other)
                waiting.append(other)
    return knowledge.oldest_first(reached.values()) if len(reached) > 1 else []


def _gate(knowledge: Knowledge, result: gates.GateResult) -> dict[str, Any]:
    return {
        "title": result.gate.title,
        "predicate": result.gate.predicate,
        "figures": {
            name: figure_of(knowledge, name) for name in knowledge.ids_of(result.gate.predicate)
        },
        "outcome": result.outcome,
        "left": _side(result.left),
        "right": _side(result.right),
        "explanation": result.explanation,
        "if_holds": result.gate.if_holds.model_dump(mode="json"),
        "if_fails": result.gate.if_fails.model_dump(mode="json"),
    }


def _side(known: Known | None) -> dict[str, float] | None:
    if known is None:
        return None
    return {"low": known.range.low, "mid": known.range.mid, "high": known.range.high}


def _shift(shift: Shift) -> dict[str, Any]:
    change = shift.change
    return {
        "before": shift.before.id,
        "after": shift.after.id,
        "better": shift.better,
        "change": None
        if change is None
        else {"low": change.low, "mid": change.mid, "high": change.high, "unit": "1"},
        "environments": shift.environments.in_words(),
        "environment_differs": differences(shift.environments),
    }


def _review(record: Record) -> dict[str, Any]:
    review = record.finding
    assert isinstance(review, Review)  # noqa: S101 - standings hold reviews only
    return {
        "id": review.id,
        "verdict": review.verdict,
        "reason": review.reason,
        "author": review.author,
        "evidence": review.evidence,
    }
