"""What a host's forwards and all-reduces cost, from the series of the machine's own benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from gamekit.findings import Measurement, Series
from gamekit.findings.subject import Setting
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range

Side = tuple[tuple[str, Setting], ...]
Effect = Literal["faster", "slower", "inconclusive"]

_REFUSED = {"superseded", "disputed", "retracted", "unreproduced"}
# A group of ranks is started once a run, and two starts differ: on the lab's two GPUs a setting
# that does nothing there (NCCL_IB_DISABLE=1) came out as 3 %, with an interval that left 0 out.
# Less than this, however narrow the interval, is nobody's effect.
_LEAST_EFFECT = 0.05
_CONTROL = "none"


@dataclass(frozen=True)
class Cost:
    """The figure of a series over all its adequate runs.

    It reaches over the intervals of all of them, since each is of one start: two starts differ by
    more than the samples of one tell. ``transport`` is what NCCL's own log says that the data of
    the current one went by, empty where it says nothing.
    """

    series: str
    figure: Range
    starts: int = 1
    transport: str = ""


@dataclass(frozen=True)
class ForwardRow:
    """Forwards of so many tokens; ``floor_ratio`` is the graph's time over the bandwidth floor."""

    tokens: int
    graph: Cost | None
    eager: Cost | None
    floor_ratio: Cost | None

    @property
    def saved(self) -> float | None:
        """Eager time over the graph's; None where one of them is unknown."""
        if self.graph is None or self.eager is None:
            return None
        return self.eager.figure.mid / self.graph.figure.mid


@dataclass(frozen=True)
class Stack:
    """Layers of one shape on one host. ``more`` is what else tells the stack apart."""

    host: str
    shape: str
    more: Side
    rows: tuple[ForwardRow, ...]


@dataclass(frozen=True)
class SettingEffect:
    """What a setting does to the latency: the ratio to the control that was measured in turns."""

    setting: str
    mode: str
    size: int
    latency: Cost | None
    ratio: Cost
    effect: Effect


@dataclass(frozen=True)
class LatencyRow:
    """All-reduces of ``size`` bytes without any setting."""

    size: int
    graph: Cost | None
    eager: Cost | None
    bus_bandwidth: Cost | None


@dataclass(frozen=True)
class AllReduces:
    """All-reduces between the same ranks; ``more`` is what else tells them apart."""

    host: str
    ranks: int
    more: Side
    rows: tuple[LatencyRow, ...]
    effects: tuple[SettingEffect, ...]


@dataclass(frozen=True)
class _Found:
    metric: str
    host: str
    graphed: bool
    parameters: dict[str, Setting]
    cost: Cost


def stacks(knowledge: Knowledge) -> list[Stack]:
    """The stacks whose forwards were measured on a GPU, by host and shape."""
    groups: dict[tuple[str, str, Side], list[_Found]] = {}
    for one in _found(knowledge, ("forward_time", "floor_ratio")):
        shape = one.parameters.get("shape")
        if shape is not None and "tokens" in one.parameters:
            key = (one.host, str(shape), _rest(one, "shape", "tokens", "mode"))
            groups.setdefault(key, []).append(one)
    return [
        Stack(host, shape, more, tuple(_forward_rows(found)))
        for (host, shape, more), found in sorted(groups.items(), key=_in_order)
    ]


def _forward_rows(found: list[_Found]) -> Iterator[ForwardRow]:
    for tokens in sorted({cast(int, one.parameters["tokens"]) for one in found}):
        here = [one for one in found if one.parameters["tokens"] == tokens]
        yield ForwardRow(
            tokens,
            graph=_cost(here, "forward_time", graphed=True),
            eager=_cost(here, "forward_time", graphed=False),
            floor_ratio=_cost(here, "floor_ratio", graphed=True),
        )


def all_reduces(knowledge: Knowledge) -> list[AllReduces]:
    """The groups of several ranks whose all-reduces were measured over NCCL, by host."""
    groups: dict[tuple[str, int, Side], list[_Found]] = {}
    metrics = ("allreduce_latency", "latency_ratio", "bus_bandwidth")
    for one in _found(knowledge, metrics):
        ranks = one.parameters.get("ranks")
        if not isinstance(ranks, int) or ranks < 2 or one.parameters.get("backend") == "gloo":
            continue
        more = _rest(one, "ranks", "backend", "bytes", "mode", "setting")
        if "bytes" in one.parameters:
            groups.setdefault((one.host, ranks, more), []).append(one)
    return [
        AllReduces(host, ranks, more, tuple(_latency_rows(found)), tuple(_effects(found)))
        for (host, ranks, more), found in sorted(groups.items(), key=_in_order)
    ]


def _latency_rows(found: list[_Found]) -> Iterator[LatencyRow]:
    plain = [one for one in found if _setting(one) == _CONTROL]
    for size in sorted({cast(int, one.parameters["bytes"]) for one in plain}):
        here = [one for one in plain if one.parameters["bytes"] == size]
        graph = _cost(here, "bus_bandwidth", graphed=True)
        yield LatencyRow(
            size,
            graph=_cost(here, "allreduce_latency", graphed=True),
            eager=_cost(here, "allreduce_latency", graphed=False),
            bus_bandwidth=graph or _cost(here, "bus_bandwidth", graphed=False),
        )


def _effects(found: list[_Found]) -> Iterator[SettingEffect]:
    ratios = [one for one in found if one.metric == "latency_ratio" and _setting(one) != _CONTROL]
    ratios.sort(key=lambda one: (_setting(one), one.graphed, cast(int, one.parameters["bytes"])))
    for one in ratios:
        same = [
            other
            for other in found
            if other.graphed == one.graphed
            and _setting(other) == _setting(one)
            and other.parameters["bytes"] == one.parameters["bytes"]
        ]
        yield SettingEffect(
            setting=_setting(one),
            mode="graph" if one.graphed else "eager",
            size=cast(int, one.parameters["bytes"]),
            latency=_cost(same, "allreduce_latency", graphed=one.graphed),
            ratio=one.cost,
            effect=effect_of(one.cost.figure),
        )


def effect_of(ratio: Range) -> Effect:
    """What a ratio of latencies says: its whole interval must lie beyond the least effect."""
    if ratio.low > 1 + _LEAST_EFFECT:
        return "slower"
    if ratio.high < 1 - _LEAST_EFFECT:
        return "faster"
    return "inconclusive"


def _found(knowledge: Knowledge, metrics: tuple[str, ...]) -> Iterator[_Found]:
    """Measured figures of these metrics; none of a CPU, a stand-in or a failed run."""
    for record in knowledge.of_kind("series"):
        series = record.finding
        assert isinstance(series, Series)  # noqa: S101 - asked for by kind
        if series.metric not in metrics or series.match.host is None:
            continue
        parameters = series.match.parameters
        figures = _of_starts(knowledge, record.id)
        if not figures or parameters.get("device") == "cpu":
            continue
        figure = Range(
            min(one.low for one in figures),
            sum(one.mid for one in figures) / len(figures),
            max(one.high for one in figures),
        )
        yield _Found(
            series.metric,
            series.match.host,
            series.match.cuda_graphs == "captured" or parameters.get("mode") == "graph",
            parameters,
            Cost(record.id, figure, len(figures), _transport(knowledge, record.id)),
        )


def _of_starts(knowledge: Knowledge, series: str) -> list[Range]:
    """The figures of the series' adequate runs that nobody has refused."""
    figures = []
    for member in knowledge.series(series).members:
        grade = knowledge.grade(member.id)
        refused = _REFUSED & set(knowledge.standing(member.id).statuses)
        figure = knowledge.figure(member.id).known
        if grade is not None and grade.name == "adequate" and not refused and figure is not None:
            figures.append(figure)
    return figures


def _transport(knowledge: Knowledge, series: str) -> str:
    """By the facts of the case in which the series' current figure was measured."""
    current = knowledge.series(series).current
    if current is None or current.run is None or not isinstance(current.finding, Measurement):
        return ""
    for case in current.run.cases:
        said = case.facts.get("nccl")
        if case.subject.parameters == current.finding.subject.parameters and isinstance(said, dict):
            used = said.get("transports")
            return ", ".join(sorted(used)) if isinstance(used, dict) else ""
    return ""


def _rest(found: _Found, *shown: str) -> Side:
    return tuple(sorted(item for item in found.parameters.items() if item[0] not in shown))


def _in_order(group: tuple[tuple[str, str | int, Side], object]) -> tuple[str, str | int, int, str]:
    """By host and what is measured; what has its defaults first."""
    (host, what, more), _ = group
    return host, what, len(more), str(more)


def _setting(found: _Found) -> str:
    return str(found.parameters.get("setting", _CONTROL))


def _cost(found: list[_Found], metric: str, *, graphed: bool) -> Cost | None:
    these = [one.cost for one in found if one.metric == metric and one.graphed == graphed]
    return these[0] if these else None
