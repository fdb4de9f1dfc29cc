"""A new measurement against the current figure of its series: consistent, shifted or noisy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gamekit.analysis.comparison import verdict_of
from gamekit.analysis.sides import Pair, side_of
from gamekit.findings import Measurement, Review, RunSource, Series
from gamekit.findings.base import Person
from gamekit.knowledge import Comparison, Grade, Knowledge, disagree, relative_change
from gamekit.knowledge.grades import ENOUGH_SAMPLES, WIDEST_HALF
from gamekit.numbers import percent, span, stated, with_unit
from gamekit.ranges import Range
from gamekit.statistics import relative_half_width
from gamekit.store.load import Record
from gamekit.strict_yaml import write_yaml

Outcome = Literal["consistent", "shifted", "noisy", "does not count", "nothing to compare with"]
# Whoever judges puts a name here: a review has an author, and a tool is none.
AUTHOR = "YOUR NAME"


@dataclass(frozen=True)
class AgainstSeries:
    """What became of one measurement. ``words`` is one line; ``review`` only where it shifted."""

    outcome: Outcome
    words: str
    review: Review | None = None

    def review_yaml(self) -> str | None:
        """The review as an item for the ``findings`` of any topic file, None where there is none.

        ``AUTHOR`` stands where a name belongs.
        """
        if self.review is None:
            return None
        data: dict[str, Any] = self.review.model_dump(mode="json", exclude_none=True)
        kept = {name: value for name, value in data.items() if value != []}
        lines = write_yaml({"findings": [kept]}).splitlines()
        return "\n".join(lines[lines.index("findings:") + 1 :])


def against_series(knowledge: Knowledge, before: Knowledge, name: str) -> AgainstSeries | None:
    """The measurement ``name`` of ``knowledge`` against its series as it stood ``before``.

    It shifts where its interval and that of the current figure have no number in common, which is
    the rule of the plan. None where it has no figure, or no series that existed before.
    """
    record = knowledge.record(name)
    finding = _measurement(record)
    series, grade = finding.series, knowledge.grade(name)
    if series is None or series not in before.base.records or grade is None:
        return None
    if not finding.value.is_known or grade.name == "failed":
        return None
    current = before.series(series).current
    if current is None:
        why = before.figure(series).why_not
        return AgainstSeries("nothing to compare with", f"no current figure to compare with: {why}")
    old = _measurement(current)
    figure = with_unit(stated(old.value), old.value.unit)
    if grade.name != "adequate":
        return _does_not_count(knowledge, record, grade, f"{current.id} ({figure})")
    change = _change(knowledge, current, record)
    if not disagree(old.value, finding.value):
        by = "" if change is None else f": {_shown(change)}"
        return AgainstSeries("consistent", f"consistent with {current.id} ({figure}){by}")
    environments = knowledge.environments_differ(current.id, name)
    declared = before.record(series).finding
    assert isinstance(declared, Series)  # noqa: S101 - measurements name series only
    higher = finding.value.stated().mid > old.value.stated().mid
    better = higher == (declared.better == "higher")
    by = "" if change is None else f" by {_shown(change)}"
    return AgainstSeries(
        "shifted",
        f"shifted against {current.id} ({figure}){by}, {'better' if better else 'worse'};"
        f" {environments.in_words()}",
        _review(knowledge, current, record, environments),
    )


def _does_not_count(
    knowledge: Knowledge, record: Record, grade: Grade, against: str
) -> AgainstSeries:
    value = _measurement(record).value
    noisy = (
        any(one.matters for one in knowledge.instabilities(record.id))
        or (value.sample_count or 0) < ENOUGH_SAMPLES
        or relative_half_width(value.stated()) > WIDEST_HALF
    )
    # Why is told by the grade.
    stays = f"so that {against} stays the current figure"
    if noisy and grade.name == "inadequate":
        return AgainstSeries("noisy", f"noisy, {stays}")
    return AgainstSeries("does not count", f"does not count, {stays}")


def _change(knowledge: Knowledge, before: Record, after: Record) -> Range | None:
    """The change from one to the other as a share: by their samples, else by their ranges."""
    pair = Pair(side_of(knowledge, before), side_of(knowledge, after), in_turn=False)
    judged = verdict_of(knowledge, pair).judged
    if judged.basis == "none" or judged.ratio is None:
        return relative_change(_measurement(before).value, _measurement(after).value)
    ratio = judged.ratio
    return Range(ratio.low - 1, ratio.mid - 1, ratio.high - 1)


def _shown(change: Range) -> str:
    low, middle, high = map(percent, (change.low, change.mid, change.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def _review(
    knowledge: Knowledge, before: Record, after: Record, environments: Comparison
) -> Review:
    """The review that one would write: what explains the shift decides its verdict.

    Where something that is known to move figures differs, the new figure takes the place of the
    old. Where nothing does, the old one is disputed: it did not come back, and nobody knows why.
    """
    explained = environments.explains
    source = after.finding.source
    assert isinstance(source, RunSource)  # noqa: S101 - nothing else is adequate
    words = environments.in_words()
    reason = (
        f"[[{after.id}]] takes the place of [[{before.id}]]:"
        f" {'; '.join(item.in_words() for item in explained)}."
        if explained
        else f"[[{before.id}]] did not come back: a later run gave [[{after.id}]]; {words}."
    )
    said = knowledge.base.runs[source.run].finished[:10]
    return Review(
        id=f"review-{after.id}"[:120].rstrip(".-_"),
        kind="review",
        title=_title(after, explained=bool(explained)),
        source=Person(kind="person", name=AUTHOR, said=said),
        verdict="supersedes" if explained else "disputes",
        of=[before.id],
        evidence=[after.id],
        reason=reason,
        author=AUTHOR,
    )


def _title(after: Record, *, explained: bool) -> str:
    metric = _measurement(after).metric.replace("_", " ")
    value = span(_measurement(after).value.stated())
    figure = with_unit(value, _measurement(after).value.unit)
    if explained:
        return f"{metric[:1].upper()}{metric[1:]} is {figure} in the new environment"
    return f"{metric[:1].upper()}{metric[1:]} did not come back: {figure} instead"


def _measurement(record: Record) -> Measurement:
    assert isinstance(record.finding, Measurement)  # noqa: S101 - series have measurements only
    return record.finding
