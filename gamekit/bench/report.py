"""What the runs of one call gave, as knowledge: graded like every other finding."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gamekit.analysis.against_series import AgainstSeries, against_series
from gamekit.bench.runner import RunOutcome
from gamekit.findings import Measurement
from gamekit.knowledge import Knowledge, build
from gamekit.store.load import Base, load
from gamekit.store.root import Config


def knowledge_with(root: Path | None, outcomes: Sequence[RunOutcome]) -> Knowledge:
    """The knowledge base at ``root`` with the runs of ``outcomes``, also those not appended.

    Without a root it holds these runs alone. Raises what ``load`` and ``build`` raise.
    """
    base = base_at(root)
    topics, records, runs = list(base.topics), dict(base.records), dict(base.runs)
    for outcome in outcomes:
        if outcome.record is None or outcome.record.run.id in runs:
            continue
        topic, loaded = outcome.record.loaded()
        topics.append(topic)
        runs[outcome.record.run.id] = outcome.record.run
        for record in loaded:
            records.setdefault(record.id, record)
    return build(Base(base.root, base.config, tuple(topics), records, runs))


def base_at(root: Path | None) -> Base:
    """The base at ``root``, or one without anything."""
    return _nothing() if root is None else load(root)


def measured_rows(knowledge: Knowledge, outcome: RunOutcome) -> list[dict[str, Any]]:
    """The measurements of a run in the form of ``query --json``, each with the engine's address.

    Without a file they have no file and line. ``knowledge`` comes from ``knowledge_with``.
    """
    findings = () if outcome.record is None else outcome.record.findings
    engine = None if outcome.record is None else outcome.record.run.engine
    address = None if engine is None else engine.address
    rows = [
        {**knowledge.as_json(one.id), "address": address}
        for one in findings
        if isinstance(one, Measurement)
    ]
    if outcome.file is None:
        rows = [{**row, "file": None, "line": None} for row in rows]
    return rows


def against_their_series(
    knowledge: Knowledge, outcomes: Sequence[RunOutcome]
) -> dict[str, AgainstSeries]:
    """By id, what the measurements of this call are against the series they joined.

    Each is set against the series as it stood without the runs of this call. Those that began
    their series have nothing to be set against. ``knowledge`` comes from ``knowledge_with``.
    """
    records = [one.record for one in outcomes if one.record is not None and not one.recovered]
    before = _without(knowledge, {record.run.id for record in records})
    found = {
        finding.id: against_series(knowledge, before, finding.id)
        for record in records
        for finding in record.findings
        if isinstance(finding, Measurement)
    }
    return {name: one for name, one in found.items() if one is not None}


def _without(knowledge: Knowledge, runs: Collection[str]) -> Knowledge:
    base = knowledge.base
    kept = {
        name: record
        for name, record in base.records.items()
        if record.run is None or record.run.id not in runs
    }
    # A series that several runs began at once stands once, in the file of one of them, and is all
    # of theirs. The runs themselves stay for it.
    for record in tuple(kept.values()):
        series = record.finding.series if isinstance(record.finding, Measurement) else None
        if series is not None:
            kept[series] = base.records[series]
    return build(replace(base, records=kept))


def _nothing() -> Base:
    config = Config.model_validate({"schema": 1, "title": "no knowledge base", "plan": "plan.md"})
    return Base(Path.cwd(), config, (), {}, {})
