"""Decides which series a measurement joins, or begins one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gamekit.bench.module import Measures
from gamekit.bench.subject import Told, same_value
from gamekit.errors import UsageFault
from gamekit.findings import ImportSource, RunSource, Series, Subject
from gamekit.store.load import Base
from gamekit.store.record import title_of_metric

# What tells a new series apart at first sight, in the order in which its id names it.
_IN_ID = ("target", "speculation", "steps", "workload", "host")
# How a title has the fields of a subject whose value says what it is, or how many of what.
_WORDS = {
    "target": "{}",
    "weights": "{} weights",
    "steps": "{} steps",
    "draft_tokens": "{} draft tokens",
    "imposed_accept_length": "accept length {} imposed",
    "cuda_graphs": "graphs {}",
    "workload": "{}",
    "input_tokens": "{} tokens in",
    "output_tokens": "{} tokens out",
    "concurrency": "{} in flight",
    "api": "{} route",
    "host": "{}",
}


@dataclass(frozen=True)
class Joined:
    """The series of one measurement, how it was found, and the subject in that series' spelling."""

    metric: str
    series: str | None
    how: str
    subject: Subject
    begins: Series | None = None


def told_series(base: Base | None, ids: Sequence[str], metrics: Sequence[str]) -> dict[str, Series]:
    """The series of ``--series`` options by their metric.

    Raises ``UsageFault`` for an id that is no series, for two of one metric, and for one whose
    metric none of the selected benchmarks measures.
    """
    told: dict[str, Series] = {}
    for name in ids:
        record = None if base is None else base.records.get(name)
        if record is None or not isinstance(record.finding, Series):
            what = (
                "there is no finding of that id" if record is None else "that finding is no series"
            )
            raise UsageFault(
                f"--series '{name}': {what}", mend="list them with: gamekit query --kind series"
            )
        series = record.finding
        if series.metric not in metrics:
            raise UsageFault(
                f"--series {name} is a series of {series.metric}, which is not measured here",
                mend=f"what is measured: {', '.join(metrics)}",
            )
        if series.metric in told:
            raise UsageFault(
                f"--series {told[series.metric].id} and {name} are both of {series.metric}",
                mend="give one a metric",
            )
        told[series.metric] = series
    return told


def told_by_series(told: Mapping[str, Series]) -> list[Told]:
    """What the series told say of the subject: it must hold, and fills what is unknown."""
    return [Told(f"series {one.id}", firm=one.match.named()) for one in told.values()]


def join(
    measures: Measures, subject: Subject, base: Base | None, told: Mapping[str, Series], run_id: str
) -> Joined:
    """The series that a measurement of ``subject`` joins.

    That is the one told; else the declared one whose fields are all met and whose parameters are
    the same, the most specific where several are; else the one that an earlier run began for
    exactly this subject; else a new one. Raises ``UsageFault`` where several declared series are
    met and none is the most specific, and where the one told is not met.
    """
    if measures.metric in told:
        series = told[measures.metric]
        if not _met(series, subject):  # its fields were merged in: one of them was taken back
            raise UsageFault(
                f"series {series.id} does not fit {_shown(subject)}", mend="leave --series out"
            )
        return _joined(measures, series, subject, "as told")
    found = (
        []
        if base is None
        else [
            record.finding
            for record in base.records.values()
            if isinstance(record.finding, Series) and record.finding.metric == measures.metric
        ]
    )
    begun = [one for one in found if isinstance(one.source, RunSource | ImportSource)]
    declared = [one for one in found if one not in begun and _met(one, subject)]
    if declared:
        series = _most_specific(measures, declared)
        return _joined(
            measures, series, subject, "its subject has all the fields that the series names"
        )
    for one in begun:
        if one.match.known().keys() == subject.known().keys() and _met(one, subject):
            return _joined(measures, one, subject, "an earlier run of the same subject began it")
    if not subject.named():
        how = "nothing is known of the subject: tell it with --subject key=value"
        return Joined(measures.metric, None, how, subject)
    new = _new_series(measures, subject, run_id)
    if base is not None and new.id in base.records:  # by hand, with other fields
        how = f"the id {new.id} is taken by another finding: tell the series with --series"
        return Joined(measures.metric, None, how, subject)
    return Joined(measures.metric, new.id, "no series has this subject yet", subject, new)


def _met(series: Series, subject: Subject) -> bool:
    wanted, known = series.match.named(), subject.named()
    return (
        bool(wanted)
        # A parameter left out has its default, so that here nothing is unknown.
        and series.match.parameters == subject.parameters
        # Random weights have timings of their own, which a series must ask for.
        and (subject.weights != "dummy" or series.match.weights == "dummy")
        and all(
            name in known and same_value(name, known[name], value) for name, value in wanted.items()
        )
    )


def _most_specific(measures: Measures, declared: Sequence[Series]) -> Series:
    for one in declared:
        fields = one.match.known().keys()
        if all(other is one or other.match.known().keys() < fields for other in declared):
            return one
    ids = [one.id for one in declared]
    raise UsageFault(
        f"{measures.metric} could join {' or '.join(ids)}, and neither is the more specific",
        mend=f"choose one: {' or '.join(f'--series {name}' for name in ids)}",
    )


def _joined(measures: Measures, series: Series, subject: Subject, how: str) -> Joined:
    # The series' own spelling, so that its members agree with it to the letter.
    spelled = subject.model_copy(update=series.match.named())
    return Joined(measures.metric, series.id, how, spelled)


def _new_series(measures: Measures, subject: Subject, run_id: str) -> Series:
    known = subject.known()
    # The same subject always gives the same id: runs that begin it at once begin one series.
    parameters = [f"{name} {value}" for name, value in sorted(subject.parameters.items())]
    told = [str(known[name]) for name in _IN_ID if name in known]
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:8]
    parts = [measures.metric, *told, *_apart(subject), *parameters]
    slug = re.sub(r"[^a-z0-9.]+", "-", "-".join(parts).lower()).strip("-.")[:100]
    if not measures.unit or measures.better == "":  # Measures fills both
        raise ValueError(f"{measures.metric} has no unit or direction")
    return Series(
        id=f"{slug}-{digest}",
        kind="series",
        title=f"{title_of_metric(measures.metric)}, {', '.join(_in_words(subject))}"[:300],
        source=RunSource(kind="run", run=run_id),
        metric=measures.metric,
        unit=measures.unit,
        better=measures.better,
        match=subject,
    )


def _apart(subject: Subject) -> list[str]:
    """What else tells series of one target and host apart, in words for the id."""
    words = []
    if subject.imposed_accept_length is not None:
        words.append(f"accept length {subject.imposed_accept_length:g} imposed")
    if subject.cuda_graphs == "eager":
        words.append("without CUDA graphs")
    if subject.concurrency is not None and subject.concurrency > 1:
        words.append(f"{subject.concurrency} in flight")
    return words


def _in_words(subject: Subject) -> list[str]:
    """Every field that is known in words, for a title: the series of a base differ in any of them.

    What is so wherever nobody chose otherwise, or follows from another field, is left out.
    """
    known = subject.named()
    usual = {"temperature": 0, "concurrency": 1, "topk": 1, "weights": "real"}
    usual |= {"quantization": "none", "drafter": "none", "acceptance": "natural"}
    if subject.imposed_accept_length is not None:
        usual["acceptance"] = "imposed"
    if subject.topk == 1 and subject.steps is not None:
        usual["draft_tokens"] = subject.steps + 1
    words = [
        _WORDS.get(name, f"{name.replace('_', ' ')} {{}}").format(value)
        for name, value in known.items()
        if name not in usual or value != usual[name]
    ]
    words = ["no speculation" if word == "speculation none" else word for word in words]
    words = [word.removeprefix("speculation ") for word in words]
    words += [f"{name} {value}" for name, value in sorted(subject.parameters.items())]
    return words or [_shown(subject)]


def _shown(subject: Subject) -> str:
    return ", ".join(f"{name} {value}" for name, value in subject.known().items())
