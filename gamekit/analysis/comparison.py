"""B against A: findings, runs or series, metric by metric, with what else differs between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gamekit.analysis.case_labels import Label, labels
from gamekit.analysis.contrast import Better, Judged, Verdict, apart, judge, spread_within
from gamekit.analysis.sides import Pair, Side, pairs, served
from gamekit.findings import Measurement, RunSource
from gamekit.knowledge import Comparison, Knowledge
from gamekit.knowledge.replicates import taken_in_turn
from gamekit.metrics import METRICS
from gamekit.numbers import percent
from gamekit.ranges import Range


@dataclass(frozen=True)
class SubjectDifference:
    """A subject field of which A and B say something else; None is unknown."""

    field: str
    a: str | float | None
    b: str | float | None

    def in_words(self) -> str:
        """The field with both values."""
        values = ["unknown" if value is None else str(value) for value in (self.a, self.b)]
        return f"{self.field} {values[0]} against {values[1]}"


@dataclass(frozen=True)
class MetricVerdict:
    """One metric of B against the same of A; ``better`` is the metric's.

    ``notes`` are what else a reader of the verdict has to know of the two figures, ``case`` what
    tells A's figure from the others of its run.
    """

    pair: Pair
    better: Better | None
    judged: Judged
    notes: tuple[str, ...]
    subjects: tuple[SubjectDifference, ...]
    environments: Comparison
    case: Label = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """The metric that both are of."""
        return self.pair.a.metric

    @property
    def unit(self) -> str:
        """The unit of both."""
        return self.pair.a.unit

    def as_json(self, knowledge: Knowledge) -> dict[str, Any]:
        """The verdict as plain data."""
        judged, ratio = self.judged, self.judged.ratio
        return {
            "metric": self.metric,
            "case": dict(self.case),
            "unit": self.unit,
            "better": self.better,
            "verdict": judged.verdict,
            "ratio": None
            if ratio is None
            else {"low": ratio.low, "mid": ratio.mid, "high": ratio.high},
            "a": _side(knowledge, self.pair.a),
            "b": _side(knowledge, self.pair.b),
            "reason": judged.reason,
            "notes": list(self.notes),
            "basis": judged.basis,
            "detectable": judged.detectable,
            "subject_differs": [vars(item) for item in self.subjects],
            "environment_differs": differences(self.environments),
        }


@dataclass(frozen=True)
class Compared:
    """What became of every metric that A and B share, and which findings met no counterpart."""

    a: str
    b: str
    metrics: tuple[MetricVerdict, ...]
    unmatched: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Worse where any metric is; else better where any is; else what is left."""
        found = {one.judged.verdict for one in self.metrics}
        order: tuple[Verdict, ...] = ("worse", "better", "inconclusive", "insufficient")
        return next(name for name in order if name in found)

    @property
    def mixed(self) -> bool:
        """Whether any figure of the stand-in engine meets one that is not."""
        return any(one.pair.mixed for one in self.metrics)

    @property
    def served(self) -> bool:
        """Whether any figure is of a server, to which requests were sent."""
        return any(_served(side) for one in self.metrics for side in (one.pair.a, one.pair.b))

    @property
    def subjects(self) -> tuple[SubjectDifference, ...]:
        """How the subjects differ, over all metrics."""
        return tuple(dict.fromkeys(item for one in self.metrics for item in one.subjects))

    @property
    def environments(self) -> tuple[Comparison, ...]:
        """How the environments differ; several only where the metrics are of several runs."""
        return tuple(dict.fromkeys(one.environments for one in self.metrics))

    def as_json(self, knowledge: Knowledge) -> dict[str, Any]:
        """The comparison as plain data, with the keys of the command contract."""
        differ = [differences(one) for one in self.environments]
        return {
            "a": {"id": self.a, "kind": _kind(knowledge, self.a)},
            "b": {"id": self.b, "kind": _kind(knowledge, self.b)},
            "metrics": [one.as_json(knowledge) for one in self.metrics],
            "subject_differs": [vars(item) for item in self.subjects],
            "environment_differs": [
                item
                for place, items in enumerate(differ)
                for item in items
                if not any(item in earlier for earlier in differ[:place])
            ],
            "environment": [one.in_words() for one in self.environments],
            "unmatched": list(self.unmatched),
            "verdict": self.verdict,
        }


def compare(knowledge: Knowledge, a: str, b: str) -> Compared:
    """B against A, each the id of a measurement, a series or a run.

    Two runs are compared in every metric that both have, case by case; a series by its current
    figure and the members that count beside it. Raises ``UsageFault`` for an id that is none of
    these, and where no metric, or no unit, is shared.
    """
    found, unmatched = pairs(knowledge, a, b)
    label = labels(knowledge)
    verdicts = tuple(
        replace(verdict_of(knowledge, pair), case=label(pair.a.record)) for pair in found
    )
    return Compared(a, b, verdicts, tuple(unmatched))


def verdict_of(knowledge: Knowledge, pair: Pair) -> MetricVerdict:
    """The verdict of one pair of figures."""
    a, b = pair.a, pair.b
    better = _better(a, b)
    return MetricVerdict(
        pair,
        better,
        _judged(knowledge, pair, better),
        (*_simulated(a, b), *_other_benchmark(a, b), *_flaws(a, b)),
        tuple(_subjects_differ(a, b)),
        _environments_differ(knowledge, a, b),
    )


def _judged(knowledge: Knowledge, pair: Pair, better: Better | None) -> Judged:
    a, b = pair.a, pair.b
    if pair.mixed:
        one, other = ("A", "B") if a.simulated else ("B", "A")
        why = f"{one} is of the stand-in engine and {other} is not: they tell nothing of each other"
        return Judged("insufficient", None, "none", why)
    missing = "; ".join(
        f"{name}: {side.why_not}" for name, side in (("A", a), ("B", b)) if side.why_not
    )
    if missing:
        return _as_stated(a, b, missing)
    if better is None:
        return _as_stated(a, b, f"nobody said whether more {a.metric} is better")
    taken = taken_in_turn(a.record, b.record) if pair.in_turn else None
    of_a, of_b = (a.samples, b.samples) if taken is None else ([taken[0]], [taken[1]])
    judged = judge(
        of_a,
        of_b,
        better,
        in_turn=taken is not None,
        start="server start" if any(_served(side) for side in (a, b)) else "run",
        same_start=_one_start(a) is not None and _one_start(a) == _one_start(b),
    )
    if judged.verdict == "insufficient":
        return _as_stated(a, b, judged.reason)
    unstable = [
        f"{name} {one}" for name, side in (("A", a), ("B", b)) for one in _unstable(knowledge, side)
    ]
    if not unstable or judged.verdict not in ("better", "worse"):
        words = judged.reason
    elif apart(a.samples, b.samples):
        words = f"every sample of one is beyond every sample of the other; {judged.reason}"
    else:
        # An interval takes samples for independent, and these are of several states.
        judged = Judged("inconclusive", judged.ratio, judged.basis, "", judged.detectable)
        words = "samples of several states tell nothing of how far the figures differ"
    reason = "; ".join([*unstable, words])
    return Judged(judged.verdict, judged.ratio, judged.basis, reason, judged.detectable)


def _unstable(knowledge: Knowledge, side: Side) -> list[str]:
    if len(side.starts) > 1 or side.record is None:  # then the starts' means are the samples
        return []
    found = knowledge.instabilities(side.record.id)
    return [one.in_words(side.unit) for one in found if one.matters]


def _simulated(a: Side, b: Side) -> list[str]:
    return ["both are of the stand-in engine"] if a.simulated and b.simulated else []


def _other_benchmark(a: Side, b: Side) -> list[str]:
    """Two benchmarks send other loads and count otherwise, whatever their subjects say."""
    runs = [None if side.record is None else side.record.run for side in (a, b)]
    names = [run.benchmark for run in runs if run is not None]
    if len(set(names)) < 2:
        return []
    return [f"different benchmarks: A is of {names[0]}, B of {names[1]}"]


def _flaws(a: Side, b: Side) -> list[str]:
    return [
        f"{name}: {flaw}"
        for name, side in (("A", a), ("B", b))
        if side.record is not None and isinstance(side.record.finding, Measurement)
        for flaw in side.record.finding.flaws
    ]


def _as_stated(a: Side, b: Side, reason: str) -> Judged:
    """No verdict, but the ratio of the figures, over all that their ranges leave open."""
    if a.figure is None or b.figure is None or a.figure.low <= 0 or b.figure.low <= 0:
        return Judged("insufficient", None, "none", reason)
    ratio = Range(
        b.figure.low / a.figure.high, b.figure.mid / a.figure.mid, b.figure.high / a.figure.low
    )
    ends = [percent(ratio.low - 1), percent(ratio.high - 1)]
    said = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return Judged("insufficient", ratio, "none", f"{reason}; the figures as they are: {said}")


def _better(a: Side, b: Side) -> Better | None:
    known = METRICS.get(a.metric)
    if known is not None:
        return known.better
    said: set[Literal["higher", "lower"]] = {
        one.better for one in (a.series, b.series) if one is not None
    }
    return said.pop() if len(said) == 1 else None


def _subjects_differ(a: Side, b: Side) -> list[SubjectDifference]:
    one, other = a.subject.known(), b.subject.known()
    return [
        SubjectDifference(field, one.get(field), other.get(field))
        for field in dict.fromkeys((*one, *other))
        if one.get(field) != other.get(field)
    ]


def _environments_differ(knowledge: Knowledge, a: Side, b: Side) -> Comparison:
    if a.record is None or b.record is None:
        return Comparison((), (), (), ())
    return knowledge.environments_differ(a.record.id, b.record.id)


def _served(side: Side) -> bool:
    return side.record is not None and served(side.record)


def _one_start(side: Side) -> str | None:
    return side.starts[0].name if len(side.starts) == 1 else None


def _side(knowledge: Knowledge, side: Side) -> dict[str, Any]:
    figure, record = side.figure, side.record
    grade = None if record is None else knowledge.grade(record.id)
    source = None if record is None else record.finding.source
    return {
        "id": side.id,
        "figure_of": None if record is None else record.id,
        "run": source.run if isinstance(source, RunSource) else None,
        "value": None
        if figure is None
        else {"low": figure.low, "mid": figure.mid, "high": figure.high, "unit": side.unit},
        "n": sum(map(len, side.samples)),
        "starts": len(side.starts),
        "spread_within_start": spread_within(side.samples),
        "grade": None if grade is None else grade.name,
        "unstable": _unstable(knowledge, side),
    }


def differences(environments: Comparison) -> list[dict[str, Any]]:
    """How two environments differ, as plain data, what is known to matter most first."""
    return [
        {
            "field": item.field,
            "a": item.before,
            "b": item.after,
            "rank": item.rank,
            "matters": item.group is not None,
        }
        for item in environments.differ
    ]


def _kind(knowledge: Knowledge, name: str) -> str:
    return "run" if name in knowledge.base.runs else knowledge.record(name).finding.kind
