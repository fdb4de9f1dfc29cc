"""What an import would record: its figures with merged subjects and the series they join."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gamekit.bench.module import Measures
from gamekit.bench.report import base_at
from gamekit.bench.series import Joined, join, told_by_series, told_series
from gamekit.bench.subject import Told, merge, parse_subject
from gamekit.errors import UsageFault
from gamekit.findings import Environment, Finding, ImportSource, Measurement, Series, Subject
from gamekit.host.redact import Redactor
from gamekit.imports.aside import kept_aside
from gamekit.imports.bounds import require_possible
from gamekit.imports.detect import taken
from gamekit.imports.figures import Figure
from gamekit.imports.given import Given, read
from gamekit.imports.record import ImportRecord, already, measurement, source_of, stem
from gamekit.knowledge import Knowledge, build
from gamekit.store.load import Base, Record
from gamekit.store.record import utc_text

# Fields in which tools note when they measured: vllm, aiperf, nccl-tests.
_TOLD_BY_TOOLS = ("date", "start_time", "end_time")
# Mostly by the clock of a machine whose zone nobody told: it may be so far behind UTC.
_FURTHEST_WEST = timedelta(hours=12)
_EARLIEST = 2000
# As tools name them: p99_ttft_ms, median_itl_ms, p999.
_PERCENTILE = re.compile(r"(?:^|_)(?:p\d{2,3}|median)(?:_|$)")
_MOST_NAMES = 12
OWN_WAY = "defined in the tool's own way, so that they join a series only if --series tells it"


@dataclass(frozen=True)
class Prepared:
    """An import as it would be recorded, or as it was: ``already`` are its findings then.

    ``how`` tells of each measurement, by id, which series it joins and why.
    """

    record: ImportRecord
    base: Base
    already: Sequence[Record]
    how: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """The ids of its measurements."""
        findings = [one.finding for one in self.already] or self.record.findings
        return [one.id for one in findings if isinstance(one, Measurement)]

    def knowledge(self) -> Knowledge:
        """The knowledge base with what is imported, whether it is recorded or not."""
        base = self.base
        if self.already:
            return build(base)
        topic, loaded = self.record.loaded()
        records = dict(base.records)
        for one in loaded:
            records.setdefault(one.id, one)
        topics = (*base.topics, topic)
        return build(Base(base.root, base.config, topics, records, base.runs))


def prepare(
    root: Path | None, file: Path, subject: Sequence[str], series: Sequence[str]
) -> Prepared:
    """Read ``file`` and decide what would be recorded. Writes nothing.

    ``subject`` and ``series`` are as for ``gamekit bench``. Raises ``UsageFault`` for a file that
    cannot be read, and for subjects that contradict each other.
    """
    base = base_at(root)
    told = Told("--subject", firm=parse_subject(subject).known())
    redactor = Redactor.of_this_process()
    given = read(file, redactor)
    found = taken(given)
    name = stem(given, found.tool)
    now = datetime.now(UTC)
    source = source_of(given, found, now, given.name)
    if found.measured is None:
        # An older file that is brought in later is no newer figure.
        source = source.model_copy(update={"written": utc_text(_written(file, found.aside, now))})
    metrics = list(dict.fromkeys(figure.metric for figure in found.figures))
    chosen = told_series(base, series, metrics)
    environment = Environment.model_validate(dict(found.environment))
    findings: list[Finding] = []
    how: dict[str, str] = {}
    begun: dict[str, Series] = {}
    for figure in found.figures:
        itself = Told(given.name, firm=figure.subject, hints=figure.hints)
        require_possible(given, figure, _merged(figure, (told, itself)))
        joined = _told_to_join(figure, (told, itself), chosen.get(figure.metric), base, name)
        if joined is None:
            joined = _joined(figure, _merged(figure, (told, itself)), base, source, name)
        if joined.begins is not None:
            begun.setdefault(joined.begins.id, joined.begins)
        require_possible(given, figure, joined.subject)  # a series may tell more of it
        finding = measurement(name, figure, source, joined.subject, environment, joined.series)
        findings.append(finding)
        how[finding.id] = _in_words(joined)
    _all_joined(chosen, findings, given)
    record = ImportRecord(
        name=name,
        source=source,
        findings=(*begun.values(), *findings),
        aside=kept_aside(found.aside, redactor),
        left_out=(*found.left_out, *_percentiles(found.aside)),
    )
    return Prepared(record, base, already(base, given), how)


def _percentiles(aside: Mapping[str, Any]) -> list[str]:
    """That percentiles and medians became no figures, by the fields that have them."""
    names = list(dict.fromkeys(_named_percentiles(aside)))
    if not names:
        return []
    shown = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return [f"{shown}{more}: figures are means; percentiles are kept with the file"]


def _named_percentiles(aside: Mapping[str, Any]) -> Iterator[str]:
    for name, value in aside.items():
        if isinstance(value, Mapping):
            yield from _named_percentiles(value)
        elif isinstance(value, int | float) and _PERCENTILE.search(name):
            yield name


def _written(file: Path, aside: Mapping[str, Any], now: datetime) -> datetime:
    """When a file was written at the latest: by its own time, and by what its tool noted in it."""
    known = [now, datetime.fromtimestamp(min(now.timestamp(), file.stat().st_mtime), UTC)]
    for name in _TOLD_BY_TOOLS:
        with suppress(ValueError, OverflowError):
            told = datetime.fromisoformat(str(aside.get(name)))
            if told.year >= _EARLIEST:
                known.append(told if told.tzinfo else told.replace(tzinfo=UTC) + _FURTHEST_WEST)
    return min(known)


def _merged(figure: Figure, sources: Sequence[Told]) -> Subject:
    return merge(sources).model_copy(update={"parameters": dict(figure.parameters)})


def _told_to_join(
    figure: Figure, sources: tuple[Told, Told], series: Series | None, base: Base, name: str
) -> Joined | None:
    """The series told for the figure's metric, or None where the figure does not fit it.

    A file holds figures of several subjects, such as sizes of a message: not all fit one series.
    """
    if series is None:
        return None
    told, itself = sources
    chosen = {series.metric: series}
    try:
        merged = _merged(figure, (told, *told_by_series(chosen), itself))
        return join(Measures(figure.metric), merged, base, chosen, name)
    except UsageFault:
        return None


def _all_joined(chosen: Mapping[str, Series], findings: Sequence[Finding], given: Given) -> None:
    joined = {one.series for one in findings if isinstance(one, Measurement)}
    for series in chosen.values():
        if series.id not in joined:
            raise UsageFault(
                f"no figure of {series.metric} fits series {series.id}",
                file=given.path,
                mend="leave --series out, or tell what is unknown with --subject",
            )


def _joined(
    figure: Figure, subject: Subject, base: Base, source: ImportSource, name: str
) -> Joined:
    if not figure.joins:
        return Joined(figure.metric, None, OWN_WAY, subject)
    joined = join(Measures(figure.metric), subject, base, {}, name)
    if joined.begins is None:
        return joined
    begins = joined.begins.model_copy(update={"source": source})
    return Joined(joined.metric, joined.series, joined.how, joined.subject, begins)


def _in_words(joined: Joined) -> str:
    if joined.series is None:
        return joined.how
    return f"{'begins' if joined.begins else 'joins'} series {joined.series}: {joined.how}"


def recorded(root: Path, prepared: Prepared) -> str:
    """Write the findings file and return its path below ``root``.

    Raises what ``build`` raises for what would not fit the knowledge base, before a byte is
    written; ``UsageFault`` where the file was written in the meantime.
    """
    prepared.knowledge()
    try:
        prepared.record.append(root)
    except FileExistsError:
        raise UsageFault(
            "it is there already", file=prepared.record.file, mend="see: gamekit check"
        ) from None
    return prepared.record.file
