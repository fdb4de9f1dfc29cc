"""Drafters that others published for our target: what their accept lengths would give on this host.

An accept length belongs to its own chain, and so does the cycle that turns it into a rate. A rate
here therefore states the cycle it assumes: the one measured for that chain on this host, otherwise
the cycle of the chain in use, unchanged. That is the favourable bound, given with the cycle at
which the option stops to pay. Where the drafter itself was measured here, that is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gamekit.analysis.chain import Chain, Cycle, chain_in_use, cycle_at, target_name
from gamekit.analysis.cycle_estimates import stands
from gamekit.analysis.derived import Derived, Relation, derive, figure_of, relation
from gamekit.findings import Measurement, Model, Unknown
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record


@dataclass(frozen=True)
class Workload:
    """One published accept length, carried over to this host.

    ``rate`` (tok/s) is at the option's cycle; ``longest_cycle`` (ms) is where it falls to the
    baseline; ``against_baseline`` compares ``rate`` with the baseline.
    """

    record: Record
    name: str
    accept_length: Derived
    rate: Derived
    longest_cycle: Derived
    against_baseline: Relation


@dataclass(frozen=True)
class MeasuredRate:
    """A decode rate (tok/s) of the drafter and chain on this host, the newest of its workload."""

    record: Record
    workload: str | None
    rate: Derived
    against_baseline: Relation


@dataclass(frozen=True)
class Option:
    """A published drafter with one chain. ``workloads`` go from the highest accept length down.

    ``obstacles`` are plain texts: what keeps it from running in place of the drafter in use.
    ``measured`` are its own rates on this host; they take the place of what is carried over.
    """

    model: Record
    steps: int
    cycle: Cycle
    obstacles: tuple[str, ...]
    workloads: tuple[Workload, ...]
    measured: tuple[MeasuredRate, ...]

    @property
    def paying(self) -> tuple[Workload, ...]:
        """The workloads on which its rate, at its cycle, is clearly above the baseline."""
        return tuple(one for one in self.workloads if one.against_baseline == "above")


def options(knowledge: Knowledge) -> list[Option]:
    """The published drafters of the target, in the order of files and lines.

    Those are the ``model`` findings that draft for ``target_model`` and have published accept
    lengths with that very target. Nothing without a model in ``gamekit.yaml`` that names it.
    """
    chain = chain_in_use(knowledge)
    if chain is None or chain.target is None:
        return []
    found = []
    for record in knowledge.of_kind("model"):
        model = record.finding
        assert isinstance(model, Model)  # noqa: S101 - asked for by kind
        if model.drafts_for != chain.target.id:
            continue
        for steps, published in _published(knowledge, model.name, target_name(chain)).items():
            found.append(_option(knowledge, chain, record, steps, published))
    return found


def as_json(option: Option) -> dict[str, Any]:
    """An option as plain data."""
    return {
        "drafter": option.model.id,
        "steps": option.steps,
        "cycle": option.cycle.id,
        "cycle_is_measured": option.cycle.is_measured,
        "obstacles": list(option.obstacles),
        "measured": [
            {
                "id": one.record.id,
                "workload": one.workload,
                "rate": one.rate.as_json(),
                "against_baseline": one.against_baseline,
            }
            for one in option.measured
        ],
        "workloads": [
            {
                "id": one.record.id,
                "workload": one.name,
                "accept_length": one.accept_length.as_json(),
                "rate": one.rate.as_json(),
                "longest_cycle": one.longest_cycle.as_json(),
                "against_baseline": one.against_baseline,
            }
            for one in option.workloads
        ],
    }


def _published(knowledge: Knowledge, drafter: str, target: str | None) -> dict[int, list[Record]]:
    """Published accept lengths of a drafter with the target, by draft steps."""
    by_steps: dict[int, list[Record]] = {}
    for record in knowledge.of_kind("measurement"):
        measured = record.finding
        assert isinstance(measured, Measurement)  # noqa: S101 - asked for by kind
        subject = measured.subject
        grade = knowledge.grade(record.id)
        if (
            measured.metric == "accept_length"
            and measured.value.is_known
            and (subject.drafter, subject.target) == (drafter, target)
            and subject.steps
            # An imposed accept length says how the engine drew, and nothing of the drafter.
            and subject.acceptance != "imposed"
            and grade is not None
            and grade.name == "published"
            and knowledge.standing(record.id).current
        ):
            by_steps.setdefault(subject.steps, []).append(record)
    return by_steps


def _option(
    knowledge: Knowledge, chain: Chain, model: Record, steps: int, published: list[Record]
) -> Option:
    cycle = cycle_at(knowledge, chain, steps)
    baseline = chain.roles.baseline
    rows = []
    for record in published:
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - as in _published
        rate = derive(knowledge, f"[{record.id}] / [{cycle.id}] * 1000", "tok/s")
        rows.append(
            Workload(
                record,
                finding.subject.workload or "workload not told",
                figure_of(knowledge, record.id),
                rate,
                derive(knowledge, f"[{record.id}] / [{baseline}] * 1000", "ms"),
                relation(rate.known, knowledge.figure(baseline).known),
            )
        )
    rows.sort(key=_highest_first)
    return Option(
        model,
        steps,
        cycle,
        _obstacles(knowledge, chain, model),
        tuple(rows),
        tuple(_measured(knowledge, chain, model, steps)),
    )


def _measured(
    knowledge: Knowledge, chain: Chain, model: Record, steps: int
) -> Iterator[MeasuredRate]:
    """The decode rates of the drafter that stand, oldest first; of one workload the newest."""
    assert isinstance(model.finding, Model)  # noqa: S101 - options are models
    wanted = (model.finding.name, target_name(chain), chain.host, steps)
    newest: dict[str | None, Record] = {}
    for record in knowledge.oldest_first(knowledge.of_kind("measurement")):
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - asked for by kind
        subject = finding.subject
        if (
            finding.metric == "decode_rate"
            and (subject.drafter, subject.target, subject.host, subject.steps) == wanted
            and subject.acceptance != "imposed"
            and stands(knowledge, record)
        ):
            newest[subject.workload] = record
    for workload, record in newest.items():
        rate = figure_of(knowledge, record.id)
        baseline = knowledge.figure(chain.roles.baseline).known
        yield MeasuredRate(record, workload, rate, relation(rate.known, baseline))


def _highest_first(row: Workload) -> tuple[float, str]:
    known = row.accept_length.known
    assert known is not None  # noqa: S101 - unknown ones were left out
    return (-known.mid, row.record.id)


def _obstacles(knowledge: Knowledge, chain: Chain, record: Record) -> tuple[str, ...]:
    """Where its architecture is not that of the drafter in use, what the findings say of it."""
    model = record.finding
    in_use = next(
        (
            other.finding
            for other in knowledge.of_kind("model")
            if isinstance(other.finding, Model) and other.finding.name == chain.drafter
        ),
        None,
    )
    assert isinstance(model, Model)  # noqa: S101 - callers looked
    if in_use is None or model.architecture == in_use.architecture:
        return ()
    theirs, ours = _told(model.architecture), _told(in_use.architecture)
    difference = f"Its architecture is {theirs}, and that of the drafter in use is {ours}."
    return (difference, model.notes) if model.notes else (difference,)


def _told(architecture: str | Unknown | None) -> str:
    return architecture if isinstance(architecture, str) else "unknown"
