"""A run with the findings it gave: its ids, its text as a run file, and how a failed one looks."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from gamekit.errors import KnowledgeError
from gamekit.findings import SCHEMA_VERSION, Finding, Measurement, Run, RunSource, Subject
from gamekit.findings.table import table_text
from gamekit.metrics import METRICS
from gamekit.quantity import Quantity
from gamekit.store.load import Record, Topic, read_findings
from gamekit.store.plain import plain
from gamekit.store.root import MEASURED_FOLDER
from gamekit.strict_yaml import parse_yaml, write_yaml

# Relative, so that an editor finds it wherever the knowledge base is checked out.
_HEADER = ("yaml-language-server: $schema=../../findings.schema.json",)


def utc_text(at: datetime) -> str:
    """A time as run files have it: UTC, always with microseconds, so that texts sort as times."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_run_id(benchmark: str, at: datetime) -> str:
    """``<YYYYMMDD-HHMMSS>-<benchmark>-<6 hex digits>`` in UTC; the digits are drawn at random."""
    name = re.sub(r"[^a-z0-9]+", "-", benchmark.lower()).strip("-")
    return f"{at.astimezone(UTC):%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(3)}"


def file_of_run(run_id: str) -> str:
    """The path of a run's file below the root, in the folder of the month in which it began."""
    return f"{MEASURED_FOLDER}/{run_id[:4]}-{run_id[4:6]}/{run_id}.yaml"


@dataclass(frozen=True)
class RunRecord:
    """One run and the findings it gave, whose ids begin with the run's."""

    run: Run
    findings: tuple[Finding, ...]

    @property
    def file(self) -> str:
        """The path of its run file below the root."""
        return file_of_run(self.run.id)

    def renamed(self, run_id: str) -> RunRecord:
        """The same record under another run id: ids, sources and series that it began follow."""
        old = self.run.id
        ids = {
            finding.id: run_id + finding.id.removeprefix(old)
            for finding in self.findings
            if finding.id.startswith(f"{old}.")
        }
        findings = []
        for finding in self.findings:
            changes: dict[str, object] = {"id": ids.get(finding.id, finding.id)}
            if isinstance(finding.source, RunSource):
                changes["source"] = RunSource(kind="run", run=run_id)
            findings.append(finding.model_copy(update=changes))
        return RunRecord(self.run.model_copy(update={"id": run_id}), tuple(findings))

    def text(self) -> str:
        """The record as the text of its run file; the loader has read it back equal."""
        return self._written[0]

    def loaded(self) -> tuple[Topic, list[Record]]:
        """The topic and records that loading its run file gives."""
        return self._written[1]

    @cached_property
    def _written(self) -> tuple[str, tuple[Topic, list[Record]]]:
        run = self.run.model_dump(exclude_defaults=True)
        for case in run.get("cases", ()):
            if "samples" in case:
                case["samples"] = table_text(plain(case["samples"], "samples"))
        data = {
            "schema": SCHEMA_VERSION,
            "run": run,
            "findings": [one.model_dump(exclude_defaults=True) for one in self.findings],
        }
        text = write_yaml(data, _HEADER)
        topic, records = read_findings(parse_yaml(text.encode(), self.file), self.file)
        if topic.run != self.run or tuple(one.finding for one in records) != self.findings:
            raise KnowledgeError(
                "the run does not read back as it was written", file=self.file, mend="report this"
            )
        return text, (topic, records)


def failed_findings(
    run: Run, units: Mapping[str, str], subject: Subject, series: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """One measurement a metric whose value is unknown, for a run that is not done.

    ``units`` has the metrics and their units; ``series`` names, by metric, the existing series
    that the run would have joined.
    """
    return tuple(
        Measurement(
            id=f"{run.id}.{metric}",
            kind="measurement",
            title=f"{title_of_metric(metric)}: not measured, the run {_ending(run)}",
            source=RunSource(kind="run", run=run.id),
            metric=metric,
            value=Quantity(unit=unit, unknown=run.reason),
            subject=subject,
            series=(series or {}).get(metric),
        )
        for metric, unit in units.items()
    )


def title_of_metric(metric: str) -> str:
    """The words for a metric; a benchmark's own metric has its name for them."""
    known = METRICS.get(metric)
    return known.title if known is not None else metric.replace("_", " ")


def _ending(run: Run) -> str:
    return "was interrupted" if run.outcome == "interrupted" else "failed"
