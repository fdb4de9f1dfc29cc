"""What the site's pages list: topics, every field of a record, runs, and benchmarks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from gamekit.analysis.boots import FigureBoots, boots_of_key_numbers
from gamekit.analysis.history import Step, replay
from gamekit.analysis.standing_conclusions import standing_conclusions
from gamekit.bench.discovery import discover
from gamekit.bench.module import Benchmark, Needs
from gamekit.errors import GamekitError
from gamekit.findings import (
    Claim,
    Finding,
    ImportSource,
    Measurement,
    Run,
    RunSource,
    Subject,
    Unknown,
)
from gamekit.quantity import Quantity
from gamekit.render import markdown
from gamekit.render.markdown import Markdown
from gamekit.render.view import View
from gamekit.store.load import Record, Topic

# Told elsewhere on the page: by the heading, the text under it, or the figure.
_TOLD = {"id", "kind", "title", "notes", "source", "value", "supersedes_because"}
# Fields whose texts are shown as code.
_CODE = {"formula", "predicate", "command", "verify", "persisted_in", "candidates", "variables"}


class SiteContent:
    """The lists behind the site's pages."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._knowledge = view.knowledge

    def topics(self) -> list[tuple[Topic, list[Record]]]:
        """Curated topics with their records, in the order of files."""
        return [(topic, found) for topic, found in self._by_topic() if topic.run is None]

    def runs(self) -> list[tuple[Topic, list[Record]]]:
        """Runs with their records, the newest first."""
        found = [(topic, records) for topic, records in self._by_topic() if topic.run is not None]
        return sorted(found, key=lambda item: (_started(item[0]), item[0].name), reverse=True)

    def _by_topic(self) -> list[tuple[Topic, list[Record]]]:
        records: dict[str, list[Record]] = {topic.file: [] for topic in self._knowledge.base.topics}
        for record in self._knowledge.base.records.values():
            records[record.file].append(record)
        return [(topic, records[topic.file]) for topic in self._knowledge.base.topics]

    def fields(self, record: Record) -> list[tuple[str, Markdown]]:
        """The fields of a record that are filled in: label, and value for reading."""
        finding = record.finding
        rows = []
        for field in type(finding).model_fields:
            value = getattr(finding, field)
            if field in _TOLD or value is None or value in ([], {}):
                continue
            if isinstance(value, BaseModel) and not value.model_dump(exclude_defaults=True):
                continue
            shown = self._value(field, value)
            if shown:
                rows.append((field.replace("_", " "), shown))
        return rows

    def _value(self, field: str, value: Any) -> Markdown:
        if isinstance(value, Unknown):
            return self._view.line(value)
        if isinstance(value, Subject):
            return self._view.subject(value)
        if isinstance(value, Quantity):
            return markdown.inline(self._view.quantity_text(value))
        if isinstance(value, BaseModel):
            value = value.model_dump(exclude_none=True, exclude_defaults=True)
        if isinstance(value, dict):
            parts = [
                f"{markdown.code(str(key))}: {self._value(key, item)}"
                for key, item in value.items()
            ]
            return Markdown("<br>".join(parts))
        if isinstance(value, list):
            separator = (
                "<br>" if any(isinstance(item, dict | BaseModel) for item in value) else ", "
            )
            return Markdown(separator.join(self._value(field, item) for item in value))
        return self._scalar(field, value)

    def _scalar(self, field: str, value: Any) -> Markdown:
        if field in ("formula", "predicate"):
            return self._view.linked_ids(str(value))
        if field in _CODE:
            lines = str(value).strip().splitlines()
            return Markdown("<br>".join(markdown.code(line) for line in lines))
        if isinstance(value, str) and value in self._knowledge.base.records and field != "label":
            return self._view.name(value)
        if isinstance(value, str) and value.startswith(("https://", "http://")):
            return markdown.address(value)
        return self._view.cell(value)

    def source_address(self, record: Record) -> str:
        """The address of a published source, or nothing."""
        return getattr(record.finding.source, "address", None) or ""

    def date(self, record: Record) -> str:
        """The date of a record's source; nothing where it has none."""
        source = record.finding.source
        if isinstance(source, RunSource):
            return self._knowledge.base.runs[source.run].started[:10]
        if isinstance(source, ImportSource):
            return source.moment[:10]
        return getattr(source, "read", None) or getattr(source, "said", None) or ""

    def dependents(self, record: Record) -> Markdown:
        """What refers to a record, linked; nothing where nothing does."""
        found = [item for item in self._knowledge.dependents(record.id) if item.through is None]
        return Markdown(", ".join(self._view.ident(item.record.id) for item in found))

    def series(self) -> list[Record]:
        """All series, curated before those that runs began."""
        return sorted(self._knowledge.of_kind("series"), key=lambda record: record.run is not None)

    def boots(self) -> list[FigureBoots]:
        """Of each key number that was measured on a host, the boots that its figure rests on."""
        return [one for one in boots_of_key_numbers(self._knowledge) if one.parts]

    def boots_with(self, standing: str) -> list[str]:
        """The key numbers whose boots stand so: newest, gone or unknown."""
        return [one.name for one in self.boots() if one.standing == standing]

    def conclusions(self) -> dict[str, str]:
        """What the findings lead to today, by name."""
        return standing_conclusions(self._knowledge)

    def steps(self) -> list[Step]:
        """The moments at which conclusions turned, the newest first."""
        turned = [
            step
            for step in replay(self._knowledge)
            if step.conclusions.notable or step.conclusions.gates or step.conclusions.sides
        ]
        return turned[::-1]

    def run_link(self, topic: Topic) -> Markdown:
        """A run's id, linked to its place on its month's page."""
        target = self._view.links.to_topic(topic)
        return markdown.link(markdown.code(topic.name), f"{target}#{topic.name}")

    def title_of_runs(self, files: set[str]) -> str:
        """The title of the page that shows the runs in ``files``: their month."""
        months = {_started(topic)[:7] for topic, _ in self.runs() if topic.file in files}
        return f"Measured in {', '.join(sorted(months))}"

    def front_matter_of_runs(self, files: set[str]) -> Markdown:
        """The head of that page."""
        records = [item for topic, found in self.runs() if topic.file in files for item in found]
        return front_matter(self.title_of_runs(files), records)

    def day(self, moment: str) -> Markdown:
        """The day of a date or time; the browser adds its age, for a page must not change."""
        return Markdown(f'<time datetime="{moment[:10]}">{moment[:10]}</time>')

    def bench_command(self, benchmark: Benchmark) -> str:
        """The command that runs a benchmark and records what it measured."""
        server = " --url http://127.0.0.1:30000" if benchmark.needs == Needs.SERVER else ""
        return f"gamekit bench {benchmark.name}{server} --append"

    def warnings(self, run: Run) -> list[str]:
        """What a run warned of, once each: the cases of a sweep repeat each other."""
        return list(dict.fromkeys(warning for case in run.cases for warning in case.warnings))

    def benchmarks(self) -> list[Benchmark]:
        """The benchmarks of this knowledge base, by name."""
        return list(discover(self._knowledge.base.root).benchmarks.values())

    def benchmark_problems(self) -> list[GamekitError]:
        """What is wrong with files in ``benchmarks/``."""
        return list(discover(self._knowledge.base.root).problems)


def front_matter(title: str, records: list[Record]) -> Markdown:
    """The head of a page: its title, and the kinds on it as tags for the search."""
    kinds = sorted({record.finding.kind.replace("_", " ") for record in records})
    lines = ["---", f"title: {json.dumps(title, ensure_ascii=False)}"]
    if kinds:
        lines.append(f"tags: {json.dumps(kinds)}")
    return Markdown("\n".join([*lines, "---"]))


def is_measurement(finding: Finding) -> bool:
    """Whether a finding is a measurement."""
    return isinstance(finding, Measurement)


def is_claim(finding: Finding) -> bool:
    """Whether a finding is a claim."""
    return isinstance(finding, Claim)


def pretty(data: Mapping[str, Any]) -> str:
    """Plain data as indented JSON, for a code block."""
    return json.dumps(data, indent=2, ensure_ascii=False, sort_keys=False)


def _started(topic: Topic) -> str:
    return topic.run.started if topic.run is not None else ""
