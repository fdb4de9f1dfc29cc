"""The standing of a finding: what reviews and newer findings have made of it."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.findings import Approach, Evaluation, Measurement, Review
from gamekit.knowledge.effects import Effects
from gamekit.knowledge.grades import Grade, Grades
from gamekit.knowledge.order import Order
from gamekit.knowledge.series import SeriesViews
from gamekit.store.load import Record

STANDINGS = ("current", "retracted", "superseded", "disputed", "unreproduced", "reproduced")
# Of approaches and evaluations.
STATES = ("proposed", "planned", "running", "done", "abandoned", "unknown")


@dataclass(frozen=True)
class Standing:
    """``statuses`` as in DESIGN's list, after the state of kinds that have one.

    ``current`` says whether the finding is what counts now; ``why_not`` says in words why it is
    not. ``reviews`` are those in effect that speak of it, oldest first.
    """

    statuses: list[str]
    current: bool
    why_not: str | None
    superseded_by: list[str]
    reviews: list[Record]


class Standings:
    """Standing of every finding, derived once each."""

    def __init__(self, effects: Effects, order: Order, grades: Grades, series: SeriesViews) -> None:
        self._effects = effects
        self._order = order
        self._grades = grades
        self._series = series
        self._standings: dict[str, Standing] = {}

    def of(self, record: Record) -> Standing:
        """The standing of ``record``."""
        if record.id not in self._standings:
            self._standings[record.id] = self._derived(record)
        return self._standings[record.id]

    def _derived(self, record: Record) -> Standing:
        reviews = self._order.sorted(self._effects.reviews(record.id))
        superseded_by = sorted(self._effects.superseded_by(record.id), key=self._order.key)
        verdicts = {_review(review).verdict for review in reviews}
        why_not = self._refused(record, reviews, superseded_by) or self._not_the_figure(record)
        unreproduced, reproduced = self._reproduction(record, reviews)
        derived = {
            "current": why_not is None,
            "retracted": "retracts" in verdicts,
            "superseded": bool(superseded_by),
            "disputed": "disputes" in verdicts,
            "unreproduced": unreproduced,
            "reproduced": reproduced,
        }
        statuses = [*_state(record), *(name for name in STANDINGS if derived[name])]
        return Standing(statuses, why_not is None, why_not, superseded_by, reviews)

    def _refused(
        self, record: Record, reviews: list[Record], superseded_by: list[str]
    ) -> str | None:
        for verdict, word in (
            ("retracts", "retracted"),
            ("supersedes", "superseded"),
            ("disputes", "disputed"),
        ):
            if verdict == "supersedes" and superseded_by:
                return f"superseded by {', '.join(superseded_by)}: {self._why_superseded(record)}"
            for review in reversed(reviews):
                if _review(review).verdict == verdict:
                    return f"{word} by {review.id}: {_review(review).reason}"
        return None

    def _why_superseded(self, record: Record) -> str:
        reasons = [
            superseder.finding.supersedes_because or ""
            for superseder in self._order.sorted(self._effects.superseders(record.id))
        ]
        reasons += [
            _review(review).reason
            for review in self._order.sorted(self._effects.reviews(record.id, "supersedes"))
        ]
        return "; ".join(dict.fromkeys(reasons))

    def _not_the_figure(self, record: Record) -> str | None:
        finding = record.finding
        grade = self._grades.of(record)
        if not isinstance(finding, Measurement) or grade is None:
            return None
        if grade.name in ("simulated", "failed", "inadequate"):
            return str(grade)
        if finding.series is None:
            return None
        if grade.name == "published":
            return str(grade)
        return self._not_current_in(finding.series, finding, grade)

    def _not_current_in(self, series: str, finding: Measurement, grade: Grade) -> str | None:
        if finding.value.unknown is not None:
            return f"unknown: {finding.value.unknown}"
        current = self._series.view(series).current
        if current is None or current.id == finding.id:
            return None
        if self._order.key(current.id) > self._order.key(finding.id):
            return f"older than {current.id} in series {series}"
        return f"{grade}, and {current.id} in series {series} is {self._grades.of(current)}"

    def _reproduction(self, record: Record, reviews: list[Record]) -> tuple[bool, bool]:
        """Whether it is unreproduced, and reproduced; of several reviews the last counts."""
        finding = record.finding
        last = None
        for review in reviews:
            if _review(review).verdict in ("reproduces", "fails_to_reproduce"):
                last = _review(review).verdict
        contradicted = (
            isinstance(finding, Measurement)
            and finding.series is not None
            and self._series.contradicted_by_later_boots(record)
        )
        return last == "fails_to_reproduce" or (contradicted and last is None), last == "reproduces"


def _review(record: Record) -> Review:
    assert isinstance(record.finding, Review)  # noqa: S101 - effects gives reviews only
    return record.finding


def _state(record: Record) -> list[str]:
    finding = record.finding
    if isinstance(finding, Approach):
        return [finding.state]
    if isinstance(finding, Evaluation):
        return [finding.state if isinstance(finding.state, str) else "unknown"]
    return []
