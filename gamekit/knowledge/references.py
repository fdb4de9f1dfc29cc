"""Every id that a finding names: where it stands in the finding, and what kinds fit there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gamekit.findings import REFERENCE_IN_TEXT, Approach, Claim, Finding, Measurement, Series

Path = tuple[str | int, ...]

# By kind and field, the kinds that may stand there; None where any may.
_FIELDS: dict[str, dict[str, frozenset[str] | None]] = {
    "measurement": {"series": frozenset({"series"})},
    "review": {"of": None, "evidence": None},
    "approach": {"includes": frozenset({"approach"}), "depends_on": None},
    "evaluation": {
        "series": frozenset({"series"}),
        "settles": frozenset({"assumption", "question", "approach"}),
        "results": None,
    },
    "assumption": {"tested_by": frozenset({"evaluation", "approach"})},
    "question": {"settled_by": None},
    "failed_experiment": {"deciding": None},
    "decision": {"based_on": None},
    "model": {"drafts_for": frozenset({"model"})},
}
_NEXT = frozenset({"approach", "evaluation"})
WITH_FIGURE = frozenset({"measurement", "series", "claim"})


def unit_of(finding: Finding) -> str | None:
    """The unit of the figure of a finding; None where it is of a kind that has none."""
    if isinstance(finding, Measurement):
        return finding.value.unit
    return finding.unit if isinstance(finding, Series | Claim) else None


@dataclass(frozen=True)
class Reference:
    """An id at a place of a finding; ``kinds`` are those that fit, None when all do."""

    target: str
    path: Path
    kinds: frozenset[str] | None = None


def references_of(finding: Finding) -> Iterator[Reference]:
    """The ids in fields and texts of ``finding``; those in formulas need the formula parsed."""
    for place, target in enumerate(finding.supersedes):
        yield Reference(target, ("supersedes", place))
    for field, kinds in _FIELDS.get(finding.kind, {}).items():
        value = getattr(finding, field)
        if isinstance(value, str):
            yield Reference(value, (field,), kinds)
        else:
            for place, target in enumerate(value or ()):
                yield Reference(target, (field, place), kinds)
    if isinstance(finding, Approach):
        yield from _of_gates(finding)
    for path, text in _texts(finding, ()):
        for match in REFERENCE_IN_TEXT.finditer(text):
            yield Reference(match.group(1), path)


def _of_gates(finding: Approach) -> Iterator[Reference]:
    for number, gate in enumerate(finding.gates):
        for side, outcome in (("if_holds", gate.if_holds), ("if_fails", gate.if_fails)):
            for place, target in enumerate(outcome.next):
                yield Reference(target, ("gates", number, side, "next", place), _NEXT)


def formulas_of(finding: Finding) -> Iterator[tuple[Path, str]]:
    """The formulas of ``finding`` and where they stand."""
    if isinstance(finding, Claim):
        yield ("formula",), finding.formula
        if finding.other_model is not None:
            yield ("other_model", "formula"), finding.other_model.formula
    elif isinstance(finding, Approach):
        for number, gate in enumerate(finding.gates):
            yield ("gates", number, "predicate"), gate.predicate


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if "[[" in value:
            yield path, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))
