"""What an id stands for in a comparison: figures with samples by server start; who meets whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from gamekit.errors import UsageFault
from gamekit.findings import Measurement, Run, RunSource, Series, Subject
from gamekit.knowledge import Knowledge, interval_of
from gamekit.knowledge.replicates import case_of, measured_in_turn
from gamekit.ranges import Range
from gamekit.statistics import mean_interval
from gamekit.store.load import Record


@dataclass(frozen=True)
class Start:
    """One start of a server and the samples taken in it; ``name`` None where nobody named it."""

    name: str | None
    samples: tuple[float, ...]


@dataclass(frozen=True)
class Side:
    """One figure of a comparison. ``record`` is the measurement that it is, None where none is.

    ``why_not`` says why there are no samples to judge by; ``figure`` may be known all the same. Of
    a series with several starts it is the mean of their means. ``simulated`` says that the
    stand-in engine was measured, ``inadequate`` that the figure alone is not to be relied on.
    """

    id: str
    metric: str
    unit: str
    subject: Subject
    series: Series | None
    record: Record | None
    figure: Range | None
    starts: tuple[Start, ...]
    why_not: str | None
    simulated: bool = False
    inadequate: bool = False

    @property
    def samples(self) -> list[tuple[float, ...]]:
        """The samples of each start."""
        return [start.samples for start in self.starts]


@dataclass(frozen=True)
class Pair:
    """Two figures of one metric. ``in_turn``: sample by sample in one call of ``gamekit bench``."""

    a: Side
    b: Side
    in_turn: bool

    @property
    def mixed(self) -> bool:
        """Whether one is of the stand-in engine, and the other was measured."""
        known = self.a.record is not None and self.b.record is not None
        return known and self.a.simulated != self.b.simulated


def pairs(knowledge: Knowledge, a: str, b: str) -> tuple[list[Pair], list[str]]:
    """Which figure of A meets which of B, and the ids of those that meet none.

    Raises ``UsageFault`` for an id that has no figures, and where none of A fits one of B.
    """
    of_a, of_b = sides(knowledge, a), sides(knowledge, b)
    # A series is set against its own members without them.
    of_a, of_b = (
        sides(knowledge, a, without=[side.id for side in of_b]),
        sides(knowledge, b, without=[side.id for side in of_a]),
    )
    shared = [metric for metric in _metrics(of_a) if metric in _metrics(of_b)]
    if not shared:
        raise UsageFault(
            f"{a} is of {', '.join(_metrics(of_a))}, and {b} of {', '.join(_metrics(of_b))}",
            mend="compare two of one metric",
        )
    found: list[Pair] = []
    left: list[str] = []
    for metric in dict.fromkeys((*_metrics(of_a), *_metrics(of_b))):
        ones = [side for side in of_a if side.metric == metric]
        others = [side for side in of_b if side.metric == metric]
        met = _matched(ones, others)
        taken = {id(side) for pair in met for side in pair}
        left += [side.id for side in (*ones, *others) if id(side) not in taken]
        found += [Pair(*pair, _in_turn(knowledge, *pair)) for pair in met]
    if not found:
        raise UsageFault(
            f"no case of {a} is one of {b}",
            mend="name a figure of each: "
            + " and ".join(_shown(those, shared[0]) for those in (of_a, of_b)),
        )
    for pair in found:
        if pair.a.unit != pair.b.unit:
            raise UsageFault(
                f"{pair.a.id} is in {pair.a.unit}, and {pair.b.id} in {pair.b.unit}",
                mend="compare two of one unit",
            )
    return found, left


def _shown(those: Sequence[Side], metric: str) -> str:
    """The ids of a metric, for a line to choose from; of many the first."""
    ids = [side.id for side in those if side.metric == metric]
    few = 3
    return f"{' or '.join(ids[:few])}{' …' if len(ids) > few else ''}"


def sides(knowledge: Knowledge, name: str, without: Collection[str] = ()) -> list[Side]:
    """The figures that ``name`` stands for: one of a measurement or series, all of a run.

    Of a series the measurements ``without`` are left out.
    """
    if name in knowledge.base.runs:
        run = knowledge.base.runs[name]
        found = [
            side_of(knowledge, record)
            for record in knowledge.base.records.values()
            if isinstance(record.finding, Measurement) and record.run is run
        ]
        if not found:
            raise UsageFault(f"run {name} gave no figure", mend=f"see: gamekit show {name}")
        return found
    if name not in knowledge.base.records:
        known = (*knowledge.base.runs, *knowledge.base.records)
        raise knowledge.no_such(name, known, "finding and no run")
    record = knowledge.record(name)
    if isinstance(record.finding, Series):
        return [_side_of_series(knowledge, record.finding, without)]
    if isinstance(record.finding, Measurement):
        return [side_of(knowledge, record)]
    raise UsageFault(
        f"{name} is a {record.finding.kind}, which has no samples",
        mend="name two measurements, series or runs",
    )


def side_of(knowledge: Knowledge, record: Record) -> Side:
    """The side that a measurement is by itself."""
    finding = _measurement(record)
    series = None
    if finding.series is not None:
        declared = knowledge.record(finding.series).finding
        series = declared if isinstance(declared, Series) else None
    grade = knowledge.grade(record.id)
    why_not = None
    if finding.value.unknown is not None:
        why_not = f"unknown: {finding.value.unknown}"
    elif grade is not None and grade.name == "failed":
        why_not = str(grade)
    elif finding.value.samples is None:
        why_not = "its samples were not kept"
    samples = () if why_not is not None else tuple(map(float, finding.value.samples or ()))
    return Side(
        id=record.id,
        metric=finding.metric,
        unit=finding.value.unit,
        subject=finding.subject,
        series=series,
        record=record,
        figure=interval_of(finding.value) if finding.value.is_known else None,
        starts=(Start(knowledge.environment(record.id).start, samples),) if samples else (),
        why_not=why_not,
        simulated=grade is not None and grade.name == "simulated",
        inadequate=grade is not None and grade.name == "inadequate",
    )


def _side_of_series(knowledge: Knowledge, series: Series, without: Collection[str]) -> Side:
    view = knowledge.series(series.id)
    newest = view.current
    if newest is not None and newest.id in without:
        newest = view.predecessor
    if newest is None:
        newest = _newest_simulated(knowledge, view.members, without)
    if newest is None:
        why = knowledge.figure(series.id).why_not or "it has no other figure"
        return Side(
            *(series.id, series.metric, series.unit, series.match, series, None, None, ()), why
        )
    current = side_of(knowledge, newest)
    by_start: dict[str | None, Start] = {}
    # The newest first, and the current figure before all.
    for member in (newest, *reversed(view.members)) if current.starts else ():
        counts = member is newest or (
            member.id not in without and _replicates(knowledge, member, newest)
        )
        key = _key(knowledge, member)
        if counts and key not in by_start:
            by_start[key] = side_of(knowledge, member).starts[0]
    starts = tuple(by_start.values())
    figure = current.figure
    if len(starts) > 1:
        figure = mean_interval([fmean(start.samples) for start in starts])
    return Side(
        id=series.id,
        metric=series.metric,
        unit=series.unit,
        subject=current.subject,
        series=series,
        record=newest,
        figure=figure,
        starts=starts,
        why_not=current.why_not,
        simulated=current.simulated,
    )


def _newest_simulated(
    knowledge: Knowledge, members: Sequence[Record], without: Collection[str]
) -> Record | None:
    """What stands for a series of which only the stand-in engine was measured."""
    for member in reversed(members):
        if member.id not in without and _stands(knowledge, member, "simulated"):
            return member
    return None


def _stands(knowledge: Knowledge, record: Record, name: str) -> bool:
    """Whether a measurement has that grade and a figure, and nobody judged against it."""
    grade = knowledge.grade(record.id)
    known = _measurement(record).value.is_known
    return known and grade is not None and grade.name == name and not knowledge.judges(record.id)


def _replicates(knowledge: Knowledge, member: Record, current: Record) -> bool:
    """Whether a member of a series is one more measurement of what its current figure is."""
    grade = knowledge.grade(current.id)
    simulated = grade is not None and grade.name == "simulated"
    if not _stands(knowledge, member, "simulated" if simulated else "adequate"):
        return False
    if _measurement(member).value.samples is None:
        return False
    same_subject = _measurement(member).subject == _measurement(current).subject
    return same_subject and knowledge.replicates(member.id, current.id)


def _key(knowledge: Knowledge, record: Record) -> str | None:
    """What tells one start from another. Of one start the newest measurement is taken.

    Two runs of one boot may be of one server, and where nobody named its start they count as that.
    What needs no engine starts with each run.
    """
    environment = knowledge.environment(record.id)
    if environment.start is None and not served(record):
        return record.id
    return environment.start or environment.boot


def served(record: Record) -> bool:
    """Whether an engine was measured, whose start is something apart from the run."""
    run = record.run
    return run is None or run.engine is not None or _measurement(record).subject.target is not None


def _matched(ones: Sequence[Side], others: Sequence[Side]) -> list[tuple[Side, Side]]:
    """Who meets whom: those of an equal subject, then the one that is left with the one left.

    Where both have equally many, in the order of the cases, they meet case by case.
    """
    met: list[tuple[Side, Side]] = []
    free = list(others)
    alone: list[Side] = []
    for one in ones:
        same = [other for other in free if other.subject == one.subject]
        if len(same) == 1:
            met.append((one, same[0]))
            free.remove(same[0])
        else:
            alone.append(one)
    if len(alone) == len(free) and (len(free) == 1 or _one_sweep(alone, free)):
        met += zip(alone, free, strict=True)
    return met


def _one_sweep(ones: Sequence[Side], others: Sequence[Side]) -> bool:
    """Whether two runs went through the same values, so that their cases meet in order."""
    swept = [[_case(side) for side in those] for those in (ones, others)]
    return None not in swept[0] and swept[0] == swept[1]


def _case(side: Side) -> tuple[tuple[str, object], ...] | None:
    """The parameters of the case that a measurement of a run is of."""
    if side.record is None or side.record.run is None:
        return None
    case = case_of(side.id, side.record.run)
    return None if case is None else tuple(sorted(case.parameters.items()))


def _in_turn(knowledge: Knowledge, a: Side, b: Side) -> bool:
    one, other = (_run(knowledge, side) for side in (a, b))
    return one is not None and other is not None and measured_in_turn(one, other)


def _run(knowledge: Knowledge, side: Side) -> Run | None:
    # Of a series' current figure nobody knows which of the other side's was measured beside it.
    if side.record is None or side.id != side.record.id:
        return None
    source = side.record.finding.source
    return knowledge.base.runs[source.run] if isinstance(source, RunSource) else None


def _metrics(those: Sequence[Side]) -> list[str]:
    return list(dict.fromkeys(side.metric for side in those))


def _measurement(record: Record) -> Measurement:
    assert isinstance(record.finding, Measurement)  # noqa: S101 - callers looked
    return record.finding
