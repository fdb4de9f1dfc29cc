"""The calibrated time of a speculation cycle by chain: its spread, split, and growth with k."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gamekit.analysis.cycle_estimates import (
    CycleEstimate,
    contradict,
    cycle_estimates,
    stands,
)
from gamekit.findings import Measurement, Subject
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range
from gamekit.statistics import mean_interval, pooled_deviation, slope_interval
from gamekit.store.load import Record

# What a cycle time belongs to: where one of these is unknown, the figure stands alone.
_IDENTITY = (
    "target", "quantization", "speculation", "drafter", "steps", "topk", "draft_tokens",
    "concurrency", "host",
)  # fmt: skip
# All else that was told tells cycles apart besides, except for these. The work of a cycle does not
# depend on how much of it counts, nor on the route; whether that holds is what ``model_error``
# judges.
_ALIKE = ("acceptance", "imposed_accept_length", "temperature", "api")
_CHAIN = ("steps", "draft_tokens")
# A verify forward goes through the target alone: it does not know the drafter.
_VERIFY = ("target", "quantization", "draft_tokens", "host")
Interval = Literal["between starts", "within one start", "stated"]


@dataclass(frozen=True)
class ServerStart:
    """The estimates of one start of the server; unknown starts (name None) stand for themselves."""

    name: str | None
    boot: str | None
    estimates: tuple[CycleEstimate, ...]

    @property
    def samples(self) -> tuple[float, ...]:
        """Cycle times in ms, one a request."""
        return tuple(sample for one in self.estimates for sample in one.samples or ())

    @property
    def accept_length(self) -> float | None:
        """Mean accept length (tokens a cycle) of its estimates; None where one is unknown."""
        lengths = [one.accept_length for one in self.estimates]
        known = [length for length in lengths if length is not None]
        return statistics.fmean(known) if known and len(known) == len(lengths) else None


@dataclass(frozen=True)
class Split:
    """What a verify time of the same target, chain and host leaves of a cycle, in ms.

    ``rest`` is draft and overhead together: nothing here tells them apart. ``untold`` are fields
    in which the two might differ and that neither tells.
    """

    verify: str
    verify_time: Range
    rest: Range
    rest_rounded: Range
    untold: tuple[str, ...]


@dataclass(frozen=True)
class Cycle:
    """The time of a cycle of one chain and subject, in ms: the sum verify + draft + overhead.

    ``time`` is the mean over server starts where there are several, with the interval that
    ``interval`` names (None: it has none); ``rounded`` is over all roundings. ``within`` is the
    standard deviation from request to request within a start, ``between`` that of the means of
    starts at one accept length, ``between_boots`` that of the means of boots; None where there is
    nothing to tell.
    """

    steps: int | None
    subject: Subject
    whole_requests: bool
    starts: tuple[ServerStart, ...]
    time: Range
    rounded: Range
    interval: Interval | None
    within: float | None
    between: float | None
    between_boots: float | None
    split: Split | None

    @property
    def estimates(self) -> tuple[CycleEstimate, ...]:
        """All that it rests on, by start."""
        return tuple(one for start in self.starts for one in start.estimates)

    @property
    def ids(self) -> tuple[str, ...]:
        """The findings that it rests on."""
        return tuple(dict.fromkeys(name for one in self.estimates for name in one.ids))


@dataclass(frozen=True)
class Growth:
    """How the cycle grows with each draft step more, in ms a step, at topk 1.

    It is the slope of the sum verify + draft + overhead, by least squares over server starts: one
    step more widens verify by one token, and a sweep cannot say which part the time goes to.
    ``has_interval`` is False for a line through two points.
    """

    cycles: tuple[Cycle, ...]
    per_step: Range
    has_interval: bool


@dataclass(frozen=True)
class Calibration:
    """Every cycle time that the findings give; ``host`` is that of the roles of gamekit.yaml.

    ``growth`` has one entry a subject that was measured at two or more numbers of steps.
    """

    cycles: tuple[Cycle, ...]
    growth: tuple[Growth, ...]
    host: Cycle | None

    def of(self, finding: str) -> Cycle | None:
        """The cycle that rests on the finding ``finding``."""
        return next((cycle for cycle in self.cycles if finding in cycle.ids), None)


def calibrate(knowledge: Knowledge) -> Calibration:
    """Calibrate T(k) from all timed cycles, and all pairs of rate and accept length, that stand.

    T = L/S where it is not timed (DESIGN, "The speculation model"). Estimates share a cycle where
    target, drafter, chain, concurrency and host are known and equal, and what else tells cycles
    apart was told alike; within one cycle adequate figures take the place of reported ones.
    """
    groups: dict[tuple[object, ...], list[CycleEstimate]] = {}
    for estimate in cycle_estimates(knowledge):
        groups.setdefault(_key(estimate), []).append(estimate)
    cycles = tuple(_cycle(knowledge, group) for group in groups.values())
    return Calibration(cycles, tuple(_growth(cycles)), _host(knowledge, cycles))


def baseline_of(knowledge: Knowledge, cycle: Cycle) -> Range | None:
    """The decode rate without speculation, in tok/s, of what the cycle is of; None if unknown.

    Of the adequate measurements with the same target, weights, host, concurrency and graphs, and of
    no other workload, as far as both tell it: the mean of server starts with its interval, or of
    requests where there was one start.
    """
    wanted = ("target", "weights", "host", "concurrency", "cuda_graphs")
    # A longer answer decodes more slowly at its end.
    alike = ("workload", "input_tokens", "output_tokens", "temperature")
    if any(getattr(cycle.subject, field) is None for field in wanted):
        return None
    starts: dict[str, list[float]] = {}
    for record in knowledge.of_kind("measurement"):
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - asked for by kind
        if (
            finding.metric == "decode_rate"
            and finding.subject.speculation == "none"
            and stands(knowledge, record)
            and finding.value.samples
            and all(getattr(finding.subject, f) == getattr(cycle.subject, f) for f in wanted)
            and all(
                None in (told := (getattr(finding.subject, f), getattr(cycle.subject, f)))
                or told[0] == told[1]
                for f in alike
            )
        ):
            start = knowledge.environment(record.id).start or _run_of(record) or record.id
            starts.setdefault(start, []).extend(map(float, finding.value.samples))
    if not starts:
        return None
    means = [statistics.fmean(samples) for samples in starts.values()]
    return mean_interval(means if len(means) > 1 else next(iter(starts.values())))


def _run_of(record: Record) -> str | None:
    return None if record.run is None else record.run.id


def _key(estimate: CycleEstimate, without: Sequence[str] = ()) -> tuple[object, ...]:
    subject = estimate.subject
    identity = tuple(getattr(subject, field) for field in _IDENTITY if field not in without)
    if None in identity:
        return ("alone", *estimate.ids)
    named = (*_IDENTITY, *_ALIKE)
    apart = [item for item in subject.known().items() if item[0] not in named]
    return (estimate.whole_requests, *identity, *sorted(apart))


def _cycle(knowledge: Knowledge, group: list[CycleEstimate]) -> Cycle:
    adequate = [one for one in group if one.grade.name == "adequate"]
    used = adequate or group
    starts = _starts(used)
    subject = _common([one.subject for one in used])
    time, rounded, interval = _time(starts)
    sampled = [start for start in starts if start.samples]
    return Cycle(
        steps=subject.steps,
        subject=subject,
        whole_requests=used[0].whole_requests,
        starts=starts,
        time=time,
        rounded=rounded,
        interval=interval,
        within=pooled_deviation([start.samples for start in sampled]),
        between=_between(sampled),
        between_boots=_between_boots(sampled),
        split=_split(knowledge, subject, time, rounded),
    )


def _starts(estimates: Iterable[CycleEstimate]) -> tuple[ServerStart, ...]:
    by_start: dict[tuple[object, ...], list[CycleEstimate]] = {}
    for one in estimates:
        # The length is imposed when the engine starts: another length in one run is another start.
        start = (one.start, one.boot, one.subject.imposed_accept_length)
        key = one.ids if one.start is None else start
        by_start.setdefault(key, []).append(one)
    return tuple(
        ServerStart(those[0].start, those[0].boot, tuple(those)) for those in by_start.values()
    )


def _time(starts: Sequence[ServerStart]) -> tuple[Range, Range, Interval | None]:
    """The figure of a cycle: over starts, else over requests, else as it was stated."""
    sampled = [start.samples for start in starts if start.samples]
    if len(sampled) > 1:
        over = mean_interval([statistics.fmean(samples) for samples in sampled])
        return over, over, "between starts"
    if sampled:
        over = mean_interval(sampled[0])
        return over, over, "within one start" if len(sampled[0]) > 1 else None
    newest = starts[-1].estimates[-1]
    return newest.stated, newest.rounded, None if newest.stated.is_exact else "stated"


def _between(starts: Sequence[ServerStart]) -> float | None:
    """The spread between starts of one accept length: that between lengths is the model's error."""
    by_length: dict[object, list[float]] = {}
    for start in starts:
        imposed = {one.subject.imposed_accept_length for one in start.estimates}
        by_length.setdefault(frozenset(imposed), []).append(statistics.fmean(start.samples))
    return pooled_deviation(list(by_length.values()))


def _between_boots(starts: Iterable[ServerStart]) -> float | None:
    boots: dict[str, list[float]] = {}
    for start in starts:
        if start.boot is not None:
            boots.setdefault(start.boot, []).append(statistics.fmean(start.samples))
    means = [statistics.fmean(those) for those in boots.values()]
    return statistics.stdev(means) if len(means) > 1 else None


def _common(subjects: Sequence[Subject]) -> Subject:
    """The fields in which all subjects agree; the others are left open."""
    first = subjects[0]
    differing = {
        field: information.get_default(call_default_factory=True)
        for field, information in Subject.model_fields.items()
        if any(getattr(other, field) != getattr(first, field) for other in subjects)
    }
    return first.model_copy(update=differing)


def _split(knowledge: Knowledge, subject: Subject, time: Range, rounded: Range) -> Split | None:
    if any(getattr(subject, field) is None for field in _VERIFY):
        return None
    for record in reversed(knowledge.oldest_first(knowledge.of_kind("measurement"))):
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - asked for by kind
        if finding.metric != "verify_time" or not stands(knowledge, record):
            continue
        other = finding.subject
        if contradict(subject, other) or any(getattr(other, field) is None for field in _VERIFY):
            continue
        value = finding.value
        return Split(
            verify=record.id,
            verify_time=value.stated(),
            rest=_less(time, value.stated()),
            rest_rounded=_less(rounded, value.with_rounding()),
            untold=tuple(
                field
                for field in ("cuda_graphs", "workload", "concurrency")
                if getattr(subject, field) is None or getattr(other, field) is None
            ),
        )
    return None


def _less(whole: Range, part: Range) -> Range:
    return Range(whole.low - part.high, whole.mid - part.mid, whole.high - part.low)


def _growth(cycles: Iterable[Cycle]) -> Iterable[Growth]:
    families: dict[tuple[object, ...], list[Cycle]] = {}
    for cycle in cycles:
        if cycle.subject.topk == 1 and any(start.samples for start in cycle.starts):
            families.setdefault(_key(cycle.estimates[0], without=_CHAIN), []).append(cycle)
    for family in families.values():
        points = [
            (float(cycle.steps), statistics.fmean(start.samples))
            for cycle in family
            for start in cycle.starts
            if cycle.steps is not None and start.samples
        ]
        if len({steps for steps, _ in points}) > 1 and all(math.isfinite(y) for _, y in points):
            per_step, has_interval = slope_interval(points)
            yield Growth(tuple(family), per_step, has_interval)


def _host(knowledge: Knowledge, cycles: Iterable[Cycle]) -> Cycle | None:
    roles = knowledge.config.model
    rate = None if roles is None else knowledge.figure(roles.speculative_rate).record
    if rate is None:
        return None
    return next((cycle for cycle in cycles if rate.id in cycle.ids), None)
