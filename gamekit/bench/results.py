"""Turns the samples of one case into measurements, each with its series and its flaws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.module import ERROR, PART, Benchmark, Measures, Replicate, Sample
from gamekit.bench.series import Joined, join
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.findings import Finding, Measurement, Run, RunSource, Series, Subject
from gamekit.findings.possible import why_impossible
from gamekit.host.redact import Redactor
from gamekit.quantity import LARGEST, Quantity
from gamekit.store.load import Base
from gamekit.store.plain import plain
from gamekit.store.record import failed_findings, title_of_metric

_LONGEST_LINE = 300


def case_findings(  # noqa: PLR0913 - all that a finding is made of, by keyword
    run: Run,
    benchmark: Benchmark,
    context: Context,
    rows: Sequence[Mapping[str, Any]],
    *,
    prefix: str,
    base: Base | None,
    told: Mapping[str, Series],
    redactor: Redactor,
) -> tuple[list[Finding], list[Joined]]:
    """The measurements of a case of a run that is done, and the series that each joined.

    A metric that no replicate gave has no measurement, unless the benchmark says why it is unknown
    or it is a headline: then its value is unknown with the reason. Replicates with an error do not
    count, and they or their parts are a flaw of every figure.
    """
    findings: list[Finding] = []
    joined: list[Joined] = []
    counted = [row for row in rows if row.get(PART) is None and not row.get(ERROR)]
    shared = []
    subject = subject_of(context, redactor)
    failed, words = failures(rows)
    if failed:
        shared.append(words)
    for measures in benchmark.measures:
        value = _quantity(measures, counted, context, measures in benchmark.headlines)
        if value is None:
            continue
        if value.unknown is not None:
            value = Quantity(unit=value.unit, unknown=redactor.text(value.unknown))
        of_metric = benchmark.subject_for(measures.metric, subject)
        try:
            series = join(measures, of_metric, base, told, run.id)
        except (
            UsageFault
        ) as error:  # facts told late opened a choice: the figure is not lost for it
            series = Joined(measures.metric, None, str(error), of_metric)
        joined.append(series)
        flaws = [*shared, *context.flaws.get(measures.metric, ())]
        findings.append(
            Measurement(
                id=f"{prefix}.{measures.metric}",
                kind="measurement",
                title=line(f"{title_of_metric(measures.metric)}, measured by {benchmark.name}"),
                source=RunSource(kind="run", run=run.id),
                metric=measures.metric,
                value=value,
                subject=series.subject,
                series=series.series,
                flaws=[line(redactor.text(flaw)) for flaw in flaws],
                convention=measures.convention,
            )
        )
    return findings, joined


def unknown_findings(
    run: Run,
    benchmark: Benchmark,
    subject: Subject,
    prefix: str,
    base: Base | None,
    told: Mapping[str, Series],
) -> tuple[Finding, ...]:
    """The headlines of a run that is not done, each unknown, in the series that it would join."""
    findings: list[Finding] = []
    for measures in benchmark.headlines:
        metric = measures.metric
        of_metric = benchmark.subject_for(metric, subject)
        series: dict[str, str] = {}
        # Where it could be in several series it is in none.
        with suppress(UsageFault):
            found = join(measures, of_metric, base, told, run.id)
            if found.begins is None and found.series is not None:
                series[metric] = found.series
        findings += [
            one.model_copy(update={"id": prefix + one.id.removeprefix(run.id)})
            for one in failed_findings(run, {metric: measures.unit}, of_metric, series)
        ]
    return tuple(findings)


def failures(rows: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """How many replicates failed, or of those with parts how many parts, and that in words."""
    parts = [row for row in rows if row.get(PART) is not None]
    errors = [row[ERROR] for row in parts or rows if row.get(ERROR)]
    if not errors:
        return 0, ""
    of = f"{len(parts)} {parts[0][PART]}s" if parts else f"{len(rows)} replicates"
    how_many = "every one" if len(errors) == len(parts or rows) else str(len(errors))
    return len(errors), f"{how_many} of {of} failed, the first with: {errors[0]}"


def without_figure(metrics: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Why samples gave no figure of ``metrics``, the declared headlines, where nobody says it."""
    if not rows:
        return "the benchmark yielded no sample"
    columns = dict.fromkeys(name for row in rows for name in row)
    declared = ", ".join(metrics)
    if columns.keys() & set(metrics):
        return f"{declared} is empty in all samples ({len(rows)})"
    return (
        f"its samples have {', '.join(columns) or 'no column'}, and not {declared}, which it"
        " declares: a figure needs a column of the name that Measures(...) has"
    )


def subject_of(context: Context, redactor: Redactor, *, expected: bool = False) -> Subject:
    """The subject of a case as it is recorded; ``expected`` as in ``Context.belonging``."""
    subject = context.belonging(expected=expected)
    return subject.model_copy(update={"parameters": redactor.data(subject.parameters)})


def impossible_figure(
    benchmark: Benchmark, context: Context, rows: Sequence[Mapping[str, Any]]
) -> str | None:
    """Which figure of a case cannot be, and why; None when all can."""
    for measures in benchmark.measures:
        for row in rows:
            figure = row.get(measures.metric)
            if figure is None or row.get(ERROR):
                continue
            why = why_impossible(measures.metric, figure, context.subject)
            if why is not None:
                return f"{measures.metric} came out as {figure:g}, and {why}"
    return None


def checked_rows(benchmark: Benchmark, yielded: Sample | Replicate) -> list[dict[str, Any]]:
    """What a benchmark yielded, as the rows of its table of raw samples.

    Raises ``BenchmarkFailed`` for what cannot be recorded.
    """
    if isinstance(yielded, Replicate):
        return [_checked(benchmark, row) for row in yielded.rows()]
    row = _checked(benchmark, yielded)
    if PART in row:
        raise BenchmarkFailed(
            f"{benchmark.name} yielded a column {PART}, which tells what the rows of a Replicate"
            " are",
            mend="give it another name",
        )
    return [row]


def _checked(benchmark: Benchmark, sample: Any) -> dict[str, Any]:
    if not isinstance(sample, Mapping):
        raise BenchmarkFailed(
            f"{benchmark.name} yielded a {type(sample).__name__}, not a sample",
            mend="yield a mapping from column to value",
        )
    row: dict[str, Any] = plain(dict(sample), "sample")
    metrics = {one.metric for one in benchmark.measures}
    for name, value in row.items():
        if isinstance(value, list | dict):
            raise BenchmarkFailed(
                f"{benchmark.name} yielded several values for {name}",
                mend="one number, text or null a column; the rest belongs into context.fact",
            )
        if not name.strip():
            raise BenchmarkFailed(
                f"{benchmark.name} yielded {value!r} without a name", mend="name every column"
            )
        if name in metrics and (isinstance(value, bool | str)):
            raise BenchmarkFailed(
                f"{benchmark.name} yielded {value!r} for the metric {name}", mend="yield a number"
            )
        if name in metrics and value is not None and abs(value) > LARGEST:
            raise BenchmarkFailed(
                f"{benchmark.name} yielded {value:g} for the metric {name}",
                mend=f"a figure lies between {-LARGEST:g} and {LARGEST:g}",
            )
    return {line(name): value for name, value in row.items()}


def line(text: str) -> str:
    """A text as a field of one line has it."""
    one = " ".join(text.split())
    return one if len(one) <= _LONGEST_LINE else one[: _LONGEST_LINE - 1] + "…"


def _quantity(
    measures: Measures, rows: Sequence[Mapping[str, Any]], context: Context, headline: bool
) -> Quantity | None:
    samples = [row[measures.metric] for row in rows if row.get(measures.metric) is not None]
    if samples:
        return Quantity(unit=measures.unit, samples=samples)
    why = context.unknown.get(measures.metric)
    if why is None and headline:
        why = f"none of {len(rows)} replicates gave it"
    return None if why is None else Quantity(unit=measures.unit, unknown=why)
