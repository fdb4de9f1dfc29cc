"""The data of the decision's figures, in the units they are drawn in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gamekit.analysis.calibration import Cycle, calibrate
from gamekit.analysis.chain import Chain, chain_in_use, cycle_at, target_name
from gamekit.analysis.chain import Cycle as CycleAt
from gamekit.analysis.cycle_estimates import CycleEstimate
from gamekit.analysis.derived import Derived, derive, missing
from gamekit.analysis.levers import Lever
from gamekit.analysis.options import Option
from gamekit.analysis.prediction import steps_words
from gamekit.findings import Model
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range

# A chain without end is no limit to draw; longer ones than this nobody runs at topk 1.
MOST_STEPS = 6


@dataclass(frozen=True)
class Point:
    """An accept length (tok/cycle) with a rate (tok/s); ``ids`` are the findings that give them."""

    label: str
    accept_length: Range
    rate: Range
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Published:
    """The points of one published drafter.

    They are at the cycle of its own chain, or (``assumed``) at that of the chain in use, from where
    they sink as the cycle grows.
    """

    label: str
    steps: int
    assumed: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Throughput:
    """Rate (tok/s) against accept length (tok/cycle) at one cycle (ms)."""

    steps: int
    cycle: Range
    baseline: Range
    target: Range | None
    break_even: Range
    measured: tuple[Point, ...]
    published: tuple[Published, ...]


@dataclass(frozen=True)
class Required:
    """The accept length that a rate asks for at the cycle in use, and the accuracy (%) by steps."""

    label: str
    accept_length: Derived
    accuracy: tuple[tuple[int, Derived], ...]


@dataclass(frozen=True)
class Accuracy:
    """Required accuracy (%) against draft steps; ``now`` is the drafter's, as it was told.

    ``measured`` are the numbers of steps whose own cycle was measured here; the others take that of
    the chain in use, unchanged.
    """

    steps: int
    cycle: Range
    measured: tuple[int, ...]
    now: Range | None
    required: tuple[Required, ...]


@dataclass(frozen=True)
class Bar:
    """A lever: the rate now, at its plausible best, and its ceiling then (tok/s)."""

    title: str
    rate: Range | None
    ceiling: Range | None


@dataclass(frozen=True)
class Tornado:
    """The levers beside each other, the one that buys most first, and all together last."""

    now: Range
    baseline: Range
    target: Range | None
    bars: tuple[Bar, ...]


def throughput(knowledge: Knowledge, options: Sequence[Option]) -> Throughput | None:
    """None while the cycle, the baseline or the draft steps of the chain in use are unknown."""
    chain = chain_in_use(knowledge)
    known = _known(knowledge, chain)
    if chain is None or known is None or chain.steps is None:
        return None
    cycle, baseline = known
    roles = chain.roles
    even = derive(knowledge, f"[{roles.baseline}] * [{roles.cycle_time}] / 1000", "tok/cycle")
    assert even.known is not None  # noqa: S101 - both factors are known
    published = [
        Published(
            _label(option),
            option.steps,
            not option.cycle.is_measured,
            tuple(
                Point(row.name, row.accept_length.known, row.rate.known, (row.record.id,))
                for row in option.workloads
                if row.accept_length.known is not None and row.rate.known is not None
            ),
        )
        for option in options
    ]
    target = _figure(knowledge, roles.target_rate)
    measured = tuple(_measured(knowledge, chain))
    return Throughput(chain.steps, cycle, baseline, target, even.known, measured, tuple(published))


def accuracy(knowledge: Knowledge) -> Accuracy | None:
    """For the break-even and the target rate; None as for ``throughput``."""
    chain = chain_in_use(knowledge)
    known = _known(knowledge, chain)
    if chain is None or known is None or chain.steps is None:
        return None
    roles = chain.roles
    wanted = [("break-even", roles.baseline)]
    if roles.target_rate is not None:
        wanted.append(("target rate", roles.target_rate))
    now = _figure(knowledge, roles.accuracy)
    cycles = {steps: cycle_at(knowledge, chain, steps) for steps in range(1, MOST_STEPS + 1)}
    return Accuracy(
        chain.steps,
        known[0],
        tuple(steps for steps, cycle in cycles.items() if cycle.is_measured),
        None if now is None else Range(now.low * 100, now.mid * 100, now.high * 100),
        tuple(_required(knowledge, label, rate, chain.steps, cycles) for label, rate in wanted),
    )


def tornado(knowledge: Knowledge, levers: Sequence[Lever]) -> Tornado | None:
    """None while the rate now or the baseline is unknown, or there are no levers."""
    chain = chain_in_use(knowledge)
    if chain is None or not levers:
        return None
    roles = chain.roles
    now = _figure(knowledge, roles.speculative_rate)
    baseline = _figure(knowledge, roles.baseline)
    if now is None or baseline is None:
        return None
    *alone, together = levers
    # An unknown lever buys nothing that anybody knows of.
    alone.sort(key=lambda lever: -(lever.gain.known.mid if lever.gain.known else float("-inf")))
    bars = tuple(
        Bar(lever.title, lever.rate.known, lever.ceiling.known) for lever in (*alone, together)
    )
    return Tornado(now, baseline, _figure(knowledge, roles.target_rate), bars)


def _measured(knowledge: Knowledge, chain: Chain) -> Iterator[Point]:
    """Every accept length that was measured with a rate or a cycle on this host and target."""
    calibration = calibrate(knowledge)
    here = (target_name(chain), chain.host)
    for cycle in calibration.cycles:
        if cycle is calibration.host or (cycle.subject.target, cycle.subject.host) == here:
            for estimate in cycle.estimates:
                point = _point(knowledge, _measured_label(chain, cycle), estimate)
                if point is not None:
                    yield point


def _measured_label(chain: Chain, cycle: Cycle) -> str:
    subject = cycle.subject
    other = []
    if subject.steps is not None and subject.steps != chain.steps:
        other.append(steps_words(subject.steps))
    if subject.drafter is not None and subject.drafter != chain.drafter:
        other.append(subject.drafter.rpartition("/")[2])
    return f"measured here ({', '.join(other)})" if other else "measured here"


def _point(knowledge: Knowledge, label: str, estimate: CycleEstimate) -> Point | None:
    """The pair that an estimate was made of; of timed cycles the rate that they give."""
    if estimate.accept_length is None:
        return None
    length = Range.exact(estimate.accept_length)
    if estimate.timed:
        low, mid, high = (
            1000 * estimate.accept_length / time
            for time in (estimate.stated.high, estimate.stated.mid, estimate.stated.low)
        )
        return Point(label, length, Range(low, mid, high), estimate.ids)
    rate, *lengths = estimate.ids
    known = _figure(knowledge, rate)
    if lengths:
        length = _figure(knowledge, lengths[0]) or length
    return None if known is None else Point(label, length, known, estimate.ids)


def _known(knowledge: Knowledge, chain: Chain | None) -> tuple[Range, Range] | None:
    """Cycle and baseline, where both are known and above 0."""
    if chain is None:
        return None
    cycle = _figure(knowledge, chain.roles.cycle_time)
    baseline = _figure(knowledge, chain.roles.baseline)
    if cycle is None or baseline is None or min(cycle.low, baseline.low) <= 0:
        return None
    return cycle, baseline


def _figure(knowledge: Knowledge, name: str | None) -> Range | None:
    return None if name is None else knowledge.figure(name).known


def _label(option: Option) -> str:
    model = option.model.finding
    assert isinstance(model, Model)  # noqa: S101 - options are models
    name = model.name.rpartition("/")[2]
    own = ", own cycle" if option.cycle.is_measured else ""
    return f"{name} ({option.steps} steps{own})"


def _required(
    knowledge: Knowledge, label: str, rate: str, steps_now: int, cycles: Mapping[int, CycleAt]
) -> Required:
    lengths = {steps: f"[{rate}] * [{cycle.id}] / 1000" for steps, cycle in cycles.items()}
    now = lengths.get(steps_now, "")
    return Required(
        label,
        derive(knowledge, now, "tok/cycle") if now else missing("the chain is longer", "tok/cycle"),
        tuple(
            (steps, derive(knowledge, f"accuracy_for(max(1, {length}), {steps}) * 100", "%"))
            for steps, length in lengths.items()
        ),
    )
