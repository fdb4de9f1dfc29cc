"""The findings of an imported file, and the file of the knowledge base that holds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from gamekit.errors import KnowledgeError
from gamekit.findings import (
    SCHEMA_VERSION,
    Environment,
    Finding,
    ImportSource,
    Measurement,
    Subject,
)
from gamekit.imports.figures import Figure, Taken
from gamekit.imports.given import Given
from gamekit.quantity import Quantity
from gamekit.store.append import put_new_file
from gamekit.store.load import Base, Record, Topic, read_findings
from gamekit.store.record import title_of_metric, utc_text
from gamekit.strict_yaml import parse_yaml, write_yaml

FOLDER = "findings/imported"
_HEADER = ("yaml-language-server: $schema=../../findings.schema.json",)


def stem(given: Given, tool: str) -> str:
    """The name of the findings file, by the tool and the digest of what it wrote."""
    return f"{re.sub(r'[^a-z0-9]+', '-', tool.lower()).strip('-')}-{given.sha256[:12]}"


def source_of(given: Given, taken: Taken, now: datetime, file: str) -> ImportSource:
    """The source of every figure of the file; ``file`` is its name as it may be recorded."""
    return ImportSource(
        kind="import",
        tool=taken.tool,
        version=taken.version,
        file=" ".join(file.split())[:200] or "-",
        sha256=given.sha256,
        measured=taken.measured,
        imported=utc_text(now),
        stand_in=taken.stand_in,
    )


def already(base: Base, given: Given) -> list[Record]:
    """The findings of a file of the same bytes that was imported before."""
    return [
        record
        for record in base.records.values()
        if isinstance(record.finding.source, ImportSource)
        and record.finding.source.sha256 == given.sha256
    ]


def measurement(
    name: str,
    figure: Figure,
    source: ImportSource,
    subject: Subject,
    environment: Environment,
    series: str | None,
) -> Measurement:
    """The finding of one figure."""
    interval = {}
    if figure.interval is not None:
        low, high, kind = figure.interval
        interval = {"low": _rounded(low), "high": _rounded(high), "range": kind}
    about = ", ".join(f"{key} {value}" for key, value in figure.parameters.items())
    title = f"{title_of_metric(figure.metric)} by {source.tool}{f', {about}' if about else ''}"
    return Measurement.model_validate(
        {
            "id": f"{name}.{figure.key}",
            "kind": "measurement",
            "title": title[:300],
            "source": source,
            "metric": figure.metric,
            "value": Quantity.model_validate(
                {
                    "unit": figure.unit,
                    "value": _rounded(figure.value),
                    **interval,
                    **_step(figure.value),
                    "count": figure.count,
                }
            ),
            "subject": subject,
            "environment": environment,
            "series": series,
            "convention": figure.convention,
        }
    )


def _rounded(value: float) -> float:
    # Six digits: more than any of these tools can measure, and what it prints is shorter still.
    return float(f"{value:.6g}")


def _step(value: float) -> dict[str, float]:
    # A float written with an exponent keeps no zero behind its digits: 5e-05 is 5.00000e-05.
    exponent = f"{value:.5e}".partition("e")[2]
    return {"rounded_to": float(f"1e{int(exponent) - 5}")} if 0 < value < 1e-4 else {}


@dataclass(frozen=True)
class ImportRecord:
    """The findings file of one imported file."""

    name: str
    source: ImportSource
    findings: tuple[Finding, ...]
    aside: Mapping[str, Any]
    left_out: Sequence[str]

    @property
    def file(self) -> str:
        """Its path below the root, in the folder of the month of the import."""
        return f"{FOLDER}/{self.source.imported[:7]}/{self.name}.yaml"

    def loaded(self) -> tuple[Topic, list[Record]]:
        """The topic and records that loading the file gives."""
        return self._written[1]

    def append(self, root: Path) -> Path:
        """Put the file below ``root``. Raises ``FileExistsError`` where it is there already."""
        return put_new_file(root, self.file, self._written[0])

    @cached_property
    def _written(self) -> tuple[str, tuple[Topic, list[Record]]]:
        aside = dict(self.aside)
        if self.left_out:
            aside["not_taken"] = [text[:1000] for text in self.left_out][:60]
        data = {
            "schema": SCHEMA_VERSION,
            "title": f"Imported from {self.source.tool}: {self.source.file}"[:300],
            "aside": aside,
            "findings": [one.model_dump(exclude_defaults=True) for one in self.findings],
        }
        text = write_yaml(data, _HEADER)
        topic, records = read_findings(parse_yaml(text.encode(), self.file), self.file)
        if tuple(one.finding for one in records) != self.findings:
            raise KnowledgeError(
                "the import does not read back as it was written", file=self.file, mend="report it"
            )
        return text, (topic, records)
