"""What a knowledge base holds, in numbers, with what a reader should look at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gamekit.analysis import claims, gates
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
    warnings = []
    between_runs: Counter[tuple[str, str]] = Counter()
    for record in knowledge.of_kind("series"):
        view = knowledge.series(record.id)
        if view.shifted is not None:
            before, after = view.shifted.before, view.shifted.after
            if record.run is not None and before.run is not None and after.run is not None:
                between_runs[before.run.id, after.run.id] += 1
            else:
                change = f"{before.id} → {after.id}"
                warnings.append(
                    f"series {record.id} has shifted, {change}: a review would settle it"
                )
        # A series that a run began is waited for by nobody.
        if record.run is None and view.current is None and _only_inadequate(knowledge, record.id):
            warnings.append(
                f"series {record.id} has no current figure: its measurements are inadequate"
            )
    # One run of a sweep has hundreds of series.
    for (one, other), count in between_runs.items():
        series = "1 series that a run began has" if count == 1 else f"{count} series of runs have"
        warnings.append(f"{series} shifted from {one} to {other}: gamekit compare {one} {other}")
    return warnings


def _only_inadequate(knowledge: Knowledge, series: str) -> bool:
    """Whether there are measurements on real engines, and none of them is good enough."""
    grades = (knowledge.grade(member.id) for member in knowledge.series(series).members)
    names = {grade.name for grade in grades if grade is not None} - {"simulated", "failed"}
    return names == {"inadequate"}
