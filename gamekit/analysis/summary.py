"""What a knowledge base holds, in numbers, with what a reader should look at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gamekit.analysis import claims, gates
from gamekit.analysis.shifts import counted, open_shifts
from gamekit.knowledge import Knowledge


@dataclass(frozen=True)
class Summary:
    """Counts by kind, by grade and by outcome; ``warnings`` are no errors, and each names an id."""

    files: int
    runs: int
    kinds: dict[str, int]
    grades: dict[str, int]
    claims: dict[str, list[str]]
    gates: dict[str, list[str]]
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """The summary as plain data; claims and gates by outcome, with the ids."""
        return {
            "files": self.files,
            "runs": self.runs,
            "findings": sum(self.kinds.values()),
            "kinds": self.kinds,
            "grades": self.grades,
            "claims": self.claims,
            "gates": self.gates,
            "warnings": self.warnings,
        }


def summarize(knowledge: Knowledge) -> Summary:
    """Count everything, and evaluate every claim and gate.

    Raises ``FormulaError`` for a formula whose evaluation grows out of bounds.
    """
    records = knowledge.base.records.values()
    grades = (knowledge.grade(record.id) for record in knowledge.of_kind("measurement"))
    by_verdict: dict[str, list[str]] = {}
    for claim in claims.evaluate_all(knowledge):
        by_verdict.setdefault(claim.verdict, []).append(claim.record.id)
    by_outcome: dict[str, list[str]] = {}
    for gate in gates.evaluate_all(knowledge):
        by_outcome.setdefault(gate.outcome, []).append(gate.record.id)
    return Summary(
        files=len(knowledge.base.topics),
        runs=len(knowledge.base.runs),
        kinds=dict(Counter(record.finding.kind for record in records)),
        grades=dict(Counter(grade.name for grade in grades if grade is not None)),
        claims=by_verdict,
        gates=by_outcome,
        warnings=_warnings(knowledge),
    )


def _warnings(knowledge: Knowledge) -> list[str]:
    shifts = open_shifts(knowledge)
    shifted = [
        f"series {record.id} has shifted, {shift.before.id} → {shift.after.id}:"
        " a review would settle it"
        for record, shift in shifts.single
    ]
    # A series that a run began is waited for by nobody.
    empty = [
        f"series {record.id} has no current figure: its measurements are inadequate"
        for record in knowledge.of_kind("series")
        if record.run is None
        and knowledge.series(record.id).current is None
        and _only_inadequate(knowledge, record.id)
    ]
    between_runs = [
        f"{counted(count)} {'has' if count == 1 else 'have'} shifted from {one} to {other}:"
        f" gamekit compare {one} {other}"
        for (one, other), count in shifts.between_runs.items()
    ]
    return [*shifted, *empty, *between_runs]


def _only_inadequate(knowledge: Knowledge, series: str) -> bool:
    """Whether there are measurements on real engines, and none of them is good enough."""
    grades = (knowledge.grade(member.id) for member in knowledge.series(series).members)
    names = {grade.name for grade in grades if grade is not None} - {"simulated", "failed"}
    return names == {"inadequate"}
