"""What the plan says of the model itself: the cycle here, and how its predictions came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gamekit import numbers
from gamekit.analysis.calibration import Calibration, Cycle, baseline_of, calibrate
from gamekit.analysis.chain import chain_in_use, cycle_at
from gamekit.analysis.model_error import HeldOut, ModelError, judge
from gamekit.analysis.prediction_of_base import doubts
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range


@dataclass(frozen=True)
class HostCycle:
    """The calibrated cycle of the host that the plan is about, in words; ids are of findings."""

    ids: tuple[str, ...]
    time: str
    rounded: str
    steps: str
    basis: str
    spread: str
    verify: str | None
    rest: str


@dataclass(frozen=True)
class PredictionRow:
    """One accept length: its cycle, and how far off its rate is as the others predict it."""

    ids: tuple[str, ...]
    accept_length: str
    cycle: str
    error: str
    noise: str


@dataclass(frozen=True)
class Predictions:
    """One chain whose rates were predicted from each other."""

    target: str | None
    what: str
    other_target: bool
    prefill_included: bool
    time: str
    spread: str
    rows: tuple[PredictionRow, ...]
    errors: str
    verdict: str
    growth: str
    pays: str
    without: str
    eager: str
    apart: tuple[str, ...]


class ModelSection:
    """Calibration and model error as the section of the plan shows them."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    @cached_property
    def _calibration(self) -> Calibration:
        return calibrate(self._knowledge)

    def applies(self) -> bool:
        """Whether there is anything to say: a model in the configuration, or predictions."""
        return self._knowledge.config.model is not None or bool(self.predictions())

    def host(self) -> HostCycle | None:
        """The cycle of the roles in gamekit.yaml; None where their figures do not pair."""
        cycle = self._calibration.host
        if cycle is None:
            return None
        split = cycle.split
        rest = "" if split is None else _milliseconds(split.rest, split.rest_rounded)
        return HostCycle(
            ids=cycle.ids,
            time=numbers.with_unit(numbers.span(cycle.time), "ms"),
            rounded=_wider(cycle.time, cycle.rounded),
            steps="an unknown number of" if cycle.steps is None else str(cycle.steps),
            basis=_basis(cycle),
            spread=_spread(cycle),
            verify=None if split is None else split.verify,
            rest=rest,
        )

    def growth(self) -> str:
        """How the host's cycle grows with its draft steps, or why nobody can say."""
        host, chain = self._calibration.host, chain_in_use(self._knowledge)
        if chain is not None and chain.steps is not None:
            longer = cycle_at(self._knowledge, chain, chain.steps + 1)
            if longer.is_measured:
                return f"{chain.steps + 1} steps take [[{longer.id}]]"
        for growth in self._calibration.growth:
            if host in growth.cycles:
                by = numbers.with_unit(numbers.span(growth.per_step), "ms a step")
                kept = "" if growth.has_interval else " (two points, so without an interval)"
                return f"{by}{kept}, verify, draft and overhead together"
        return "unknown"

    def doubts(self) -> tuple[str, ...]:
        """What does not fit together among the findings that play the parts."""
        chain = chain_in_use(self._knowledge)
        return () if chain is None else tuple(doubts(self._knowledge, chain))

    def predictions(self) -> list[Predictions]:
        """Chains at several accept lengths, each predicted from the others."""
        judged = [judge(cycle) for cycle in self._calibration.cycles]
        return [self._shown(one) for one in judged if one is not None]

    def main_predictions(self) -> list[Predictions]:
        """One a target, that of the most accept lengths; the page on the decision has all.

        Those of decoding alone, where there are any: prefill is no part of a cycle.
        """
        found = self.predictions()
        decoding = [one for one in found if not one.prefill_included] or found
        best: dict[str | None, Predictions] = {}
        for one in decoding:
            if one.target not in best or len(one.rows) > len(best[one.target].rows):
                best[one.target] = one
        return list(best.values())

    def _shown(self, error: ModelError) -> Predictions:
        cycle, host = error.cycle, self._calibration.host
        own = (cycle.subject.target, cycle.subject.host)
        low, high = numbers.percent(error.range.low), numbers.percent(error.range.high)
        return Predictions(
            target=cycle.subject.target,
            what=_what(cycle),
            other_target=host is None or (host.subject.target, host.subject.host) != own,
            prefill_included=cycle.whole_requests,
            time=_mean(cycle),
            spread=_spread(cycle),
            rows=tuple(
                _row(self._knowledge, one, noisy=error.noise is not None) for one in error.held_out
            ),
            errors=f"{low.removesuffix(' %')} to {high}",
            verdict=_verdict(error),
            growth=self._growth_of(cycle),
            pays=self._pays(cycle),
            without=self._without(cycle),
            eager=self._eager(cycle),
            apart=tuple(self._apart(cycle)),
        )

    def _growth_of(self, cycle: Cycle) -> str:
        """What one draft step more adds to a cycle; empty where it was measured at one number."""
        for growth in self._calibration.growth:
            if cycle in growth.cycles:
                steps = sorted(str(one.steps) for one in growth.cycles)
                by = numbers.with_unit(numbers.span(growth.per_step), "ms")
                return f"{by} ({', '.join(steps)} steps)"
        return ""

    def _eager(self, cycle: Cycle) -> str:
        """The cycle of the same chain without CUDA graphs; empty where it was not measured."""
        if cycle.subject.cuda_graphs != "captured":
            return ""
        for other in self._same_chain(cycle):
            if other.subject.cuda_graphs == "eager":
                return _mean(other)
        return ""

    def _pays(self, cycle: Cycle) -> str:
        """From which accept length speculation pays there, by the rate without it."""
        baseline = baseline_of(self._knowledge, cycle)
        if baseline is None or cycle.whole_requests:
            return ""
        ends = zip(
            (baseline.low, baseline.mid, baseline.high),
            (cycle.time.low, cycle.time.mid, cycle.time.high),
            strict=True,
        )
        even = Range(*(rate * time / 1000 for rate, time in ends))
        return numbers.with_unit(numbers.span(even), "tok/cycle")

    def _without(self, cycle: Cycle) -> str:
        """The rate without speculation there; empty where it was not measured."""
        baseline = baseline_of(self._knowledge, cycle)
        return "" if baseline is None else numbers.with_unit(numbers.span(baseline), "tok/s")

    def _apart(self, cycle: Cycle) -> Iterator[str]:
        """Findings of the same chain that are judged apart, since something else was told too."""
        for other in self._same_chain(cycle):
            yield from _sources(self._knowledge, other.ids)

    def _same_chain(self, cycle: Cycle) -> Iterator[Cycle]:
        named = ("target", "drafter", "steps", "topk", "host", "concurrency")
        for other in self._calibration.cycles:
            alike = all(
                getattr(other.subject, field) == getattr(cycle.subject, field) for field in named
            )
            if other is not cycle and alike and other.whole_requests == cycle.whole_requests:
                yield other


def _basis(cycle: Cycle) -> str:
    """What the figures of a cycle are, and how they came together."""
    ways = {one.pairing for one in cycle.estimates}
    if ways == {"roles"}:
        untold = _listed(cycle.estimates[0].untold)
        told = f"; {untold} untold" if untold else ""
        return f"reported, paired by role{told}"
    if ways == {None}:
        return "cycles that were counted and timed"
    if ways == {"imposed"}:
        return "rates at an imposed accept length"
    return "rate and accept length of the same subject"


def _spread(cycle: Cycle) -> str:
    """Spread from request to request and from start to start, each unknown where it is."""
    if cycle.within is None and cycle.between is None:
        return "unknown (no samples)"
    within = "unknown" if cycle.within is None else f"{numbers.number(cycle.within, 2)} ms"
    between = "unknown" if cycle.between is None else f"{numbers.number(cycle.between, 2)} ms"
    boots = cycle.between_boots
    of_boots = "" if boots is None else f", between boots {numbers.number(boots, 2)} ms"
    return f"{within} within a start, {between} between{of_boots}"


def _what(cycle: Cycle) -> str:
    subject = cycle.subject
    imposed = {one.subject.acceptance for one in cycle.estimates} == {"imposed"}
    known = [
        subject.target,
        *(["random weights"] if subject.weights == "dummy" else []),
        *(["imposed lengths"] if imposed else []),
        f"{subject.steps} steps",
        *([f"{subject.concurrency} in flight"] if (subject.concurrency or 1) > 1 else []),
        subject.host,
    ]
    said = ", ".join(str(one) for one in known)
    return f"{said}; prefill included" if cycle.whole_requests else said


def _sources(knowledge: Knowledge, ids: Iterable[str]) -> tuple[str, ...]:
    """The findings by what they measured first: a run's other metrics are of the same requests."""
    first: dict[str, str] = {}
    for name in ids:
        run = knowledge.record(name).run
        first.setdefault(name if run is None else run.id, name)
    return tuple(first.values())


def _row(knowledge: Knowledge, held: HeldOut, *, noisy: bool) -> PredictionRow:
    low, high = numbers.percent(held.error.low), numbers.percent(held.error.high)
    return PredictionRow(
        ids=_sources(knowledge, held.ids),
        accept_length=numbers.number(held.accept_length),
        cycle=numbers.number(held.cycle_ms),
        error=numbers.percent(held.error.mid),
        noise=f"{low.removesuffix(' %')} to {high}" if noisy else "unknown",
    )


def _mean(cycle: Cycle) -> str:
    mean = numbers.with_unit(numbers.number(cycle.time.mid), "ms")
    return mean if cycle.time.is_exact else f"{mean} ({numbers.span(cycle.time)})"


def _verdict(error: ModelError) -> str:
    if error.noise is None:
        return "the noise is unknown, so nothing follows"
    beyond = "within" if error.within_noise else "in part beyond"
    widest = max((one.error.high - one.error.low) / 2 for one in error.held_out)
    size = f"(±{numbers.number(widest * 100, 2)} %)"
    if error.noise == "between starts":
        return f"{beyond} the noise between server starts {size}"
    return f"{beyond} the noise of requests {size}"


def _milliseconds(figure: Range, rounded: Range) -> str:
    text = numbers.with_unit(numbers.span(figure, rounded), "ms")
    wider = _wider(figure, rounded)
    return f"{text} ({wider})" if wider else text


def _wider(figure: Range, rounded: Range) -> str:
    text = numbers.span(rounded)
    return "" if text == numbers.span(figure) else text


def _listed(fields: tuple[str, ...]) -> str:
    return " and ".join(field.replace("_", " ") for field in fields)
