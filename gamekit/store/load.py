"""Reads every findings file of a knowledge base into records that know their file and line."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, JsonValue

from gamekit.errors import (
    FindingError,
    GamekitError,
    KnowledgeError,
    KnowledgeErrors,
    ReferenceFault,
)
from gamekit.findings import (
    KINDS,
    SCHEMA_VERSION,
    Environment,
    Finding,
    ImportSource,
    Measurement,
    Run,
    Series,
)
from gamekit.findings.base import Line, Strict, Text
from gamekit.store.digits import lost_digits
from gamekit.store.root import FINDINGS_FOLDER, Config, read_config
from gamekit.store.validate import validated
from gamekit.strict_yaml import Document, file_bytes, parse_yaml


@dataclass(frozen=True)
class Topic:
    """A findings file: where it lies (relative to the root, with ``/``), its title and text."""

    file: str
    title: str
    about: str | None
    run: Run | None = None

    @property
    def name(self) -> str:
        """The file's name without its suffix: the topic's name, or the run's id."""
        return Path(self.file).stem


@dataclass(frozen=True)
class Record:
    """A finding and where it stands. ``run`` is the run whose file it is in, if any."""

    finding: Finding
    topic: Topic
    line: int
    lines: Mapping[tuple[str | int, ...], int] = field(repr=False)

    @property
    def id(self) -> str:
        """The finding's id."""
        return self.finding.id

    @property
    def file(self) -> str:
        """The file it is in, relative to the root."""
        return self.topic.file

    @property
    def run(self) -> Run | None:
        """The run that gave it, when it is in a run file."""
        return self.topic.run

    @property
    def environment(self) -> Environment:
        """The environment of a measurement: its run's, or the one stated with it."""
        if self.run is not None:
            return self.run.environment
        return self.finding.environment if isinstance(self.finding, Measurement) else Environment()

    def line_of(self, *path: str | int) -> int:
        """The line of a field of the finding, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.line)


@dataclass(frozen=True)
class Base:
    """A knowledge base as loaded: every record by id, in the order of files and lines."""

    root: Path
    config: Config
    topics: tuple[Topic, ...]
    records: Mapping[str, Record]
    runs: Mapping[str, Run]


# A file's path below the root and its digest; and what such a file holds.
_Key = tuple[str, bytes]
_Read = tuple[Topic, tuple[Record, ...]]
# What was read, by root: of each the files of its last load and no others, and of no more roots
# than this, so that memory is bounded by the bases loaded last, however many files they have.
# Name and content alone decide what is equal: a copy of a base is not parsed again either.
_ROOTS_KEPT = 8
# Of the findings folder: no one appends for ever.
_MOST_LISTINGS = 100
_KEPT: dict[Path, dict[_Key, _Read]] = {}


class _Head(Strict):
    title: Line | None = None
    about: Text | None = None
    run: Run | None = None
    aside: dict[Line, JsonValue] = Field(default_factory=dict)


def load(root: Path) -> Base:
    """Load the knowledge base at ``root``: curated files first, then run files, each by name.

    Whoever loads again, as ``serve`` does, reads only news: a file that is as it was in one of the
    last loads is not parsed. Raises ``KnowledgeErrors`` that holds every problem of every file, in
    that order.
    """
    problems: list[GamekitError] = []
    topics: list[Topic] = []
    records: dict[str, Record] = {}
    runs: dict[str, Run] = {}
    kept: dict[_Key, _Read] = {}
    config = None
    try:
        config = read_config(root)
    except GamekitError as error:
        problems.extend(_flat(error))
    if not (root / FINDINGS_FOLDER).is_dir():
        problems.append(_no_folder(root / FINDINGS_FOLDER))
    for path in findings_files(root):
        file = path.relative_to(root).as_posix()
        try:
            topic, found = _read_file(path, file, kept)
        except GamekitError as error:
            problems.extend(_flat(error))
            continue
        topics.append(topic)
        if topic.run is not None:
            runs[topic.run.id] = topic.run
        for record in found:
            first = records.setdefault(record.id, record)
            if first is not record and not _one_series(first.finding, record):
                problems.append(_twice(first, record))
    _keep(root, kept)
    if config is None or problems:
        raise KnowledgeErrors(problems)
    return Base(root, config, tuple(topics), records, runs)


def _no_folder(folder: Path) -> KnowledgeError:
    there = folder.exists() or folder.is_symlink()
    return KnowledgeError(
        "this is no folder" if there else "there is no such folder",
        file=FINDINGS_FOLDER,
        mend=f"{'put a folder in its place' if there else 'make it'}: findings files lie in it",
    )


def findings_files(root: Path) -> list[Path]:
    """Every YAML file under ``findings/``, curated before measured, in the order of their names.

    Others may append meanwhile, and one listing may have a run without the one before it, whose
    series it joined. The folder is therefore listed until it is found as it was: a run is written
    only when the one that it builds upon is there, so that the listing after has both.
    """
    folder = root / FINDINGS_FOLDER
    files = _yaml_files(folder)
    for _ in range(_MOST_LISTINGS):
        before, files = files, _yaml_files(folder)
        if files == before:
            break
    return sorted(files, key=lambda path: (path.parent != folder, path.relative_to(folder).parts))


def _yaml_files(folder: Path) -> set[Path]:
    return {
        path
        for suffix in ("*.yaml", "*.yml")
        for path in folder.rglob(suffix)
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def _read_file(path: Path, file: str, kept: dict[_Key, _Read]) -> _Read:
    """What the file holds, parsed unless an equal one was; it is put among ``kept``."""
    data = file_bytes(path, file)
    key = (file, hashlib.sha256(data).digest())
    # A copy of the values, since another thread may end a load meanwhile.
    read = next((those[key] for those in tuple(_KEPT.values()) if key in those), None)
    if read is None:
        topic, records = read_findings(parse_yaml(data, file), file)
        read = topic, tuple(records)
    kept[key] = read
    return read


def _keep(root: Path, kept: dict[_Key, _Read]) -> None:
    """Remember what the load of ``root`` read in place of its load before."""
    place = root.absolute()
    _KEPT.pop(place, None)
    _KEPT[place] = kept
    for oldest in tuple(_KEPT)[:-_ROOTS_KEPT]:
        _KEPT.pop(oldest, None)


def read_findings(document: Document, file: str) -> tuple[Topic, list[Record]]:
    """The topic and the records of one findings file, ``file`` being its path below the root.

    Raises ``FindingError``, or ``KnowledgeErrors`` when several things are wrong with it.
    """
    _check_shape(document, file)
    data = document.data
    path = Path(file)
    head = {key: data[key] for key in ("title", "about", "run", "aside") if key in data}
    parts = Document(head, document.file, document.lines, document.raw, document.text)
    checked = validated(_Head, parts, file)
    topic = Topic(file, checked.title or path.stem.replace("_", " "), checked.about, checked.run)
    if checked.run is not None and checked.run.id != path.stem:
        raise FindingError(
            f"run {checked.run.id} is in a file named {path.name}",
            file=file,
            line=document.line_of(("run", "id")),
            mend=f"a run file is named after its run: {checked.run.id}.yaml",
        )
    records: list[Record] = []
    problems: list[GamekitError] = []
    lines = _lines_of_findings(document)
    for index in range(len(data["findings"])):
        try:
            records.append(_read_finding(document, file, index, topic, lines[index]))
        except GamekitError as error:
            problems.extend(_flat(error))
    problems.extend(lost_digits(document, file))
    if problems:
        problems.sort(key=lambda problem: problem.line or 0)
        raise KnowledgeErrors(problems)
    return topic, records


def _check_shape(document: Document, file: str) -> None:
    data = document.data
    if not isinstance(data, dict):
        raise FindingError(
            "a findings file is a mapping with schema and findings",
            file=file,
            line=1,
            mend="begin it with: schema: 1",
        )
    version = data.get("schema")
    if version != SCHEMA_VERSION or type(version) is not int:
        told = "no schema version" if version is None else f"schema version {version!r}"
        raise FindingError(
            f"{told}; this gamekit reads version {SCHEMA_VERSION}",
            file=file,
            line=document.line_of(("schema",)),
            mend=f"write schema: {SCHEMA_VERSION}, or use the gamekit that wrote it",
        )
    if not isinstance(data.get("findings"), list):
        raise FindingError(
            "findings: must be a list",
            file=file,
            line=document.line_of(("findings",)),
            mend="write findings: [] when there are none",
        )
    for key in data:
        if key not in ("schema", "title", "about", "run", "aside", "findings"):
            raise FindingError(
                f"{key}: there is no such field",
                file=file,
                line=document.line_of((key,)),
                mend="a findings file has schema, title, about, run, aside and findings",
            )


def _lines_of_findings(document: Document) -> Mapping[int, dict[tuple[str | int, ...], int]]:
    lines: dict[int, dict[tuple[str | int, ...], int]] = defaultdict(dict)
    for path, number in document.lines.items():
        if len(path) >= 2 and path[0] == "findings" and isinstance(path[1], int):
            lines[path[1]][path[2:]] = number
    return lines


def _read_finding(
    document: Document,
    file: str,
    index: int,
    topic: Topic,
    lines: Mapping[tuple[str | int, ...], int],
) -> Record:
    path = ("findings", index)
    data = document.data["findings"][index]
    line = document.line_of(path)
    if not isinstance(data, dict):
        raise FindingError("a finding is a mapping", file=file, line=line, mend="give id and kind")
    name = data.get("id") if isinstance(data.get("id"), str) else f"number {index + 1}"
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise FindingError(
            "kind: is missing" if kind is None else f"kind: {kind!r} is no kind of finding",
            file=file,
            line=document.line_of((*path, "kind")),
            finding=name,
            mend=f"one of: {', '.join(KINDS)}",
        )
    finding = validated(KINDS[kind], document, file, path, name)
    return Record(finding, topic, line, lines)


def _one_series(first: Finding, second: Record) -> bool:
    """Whether two runs (at once, or on two branches) began the very same series: it is one."""
    again = second.finding
    return (
        (second.run is not None or isinstance(again.source, ImportSource))
        and isinstance(first, Series)
        and isinstance(again, Series)
        and (first.metric, first.unit, first.better, first.match)
        == (again.metric, again.unit, again.better, again.match)
    )


def _twice(first: Record, second: Record) -> ReferenceFault:
    return ReferenceFault(
        f"the id is taken already, in {first.file}:{first.line}",
        file=second.file,
        line=second.line,
        finding=second.id,
        mend="give one of the two another id",
    )


def _flat(error: GamekitError) -> Iterator[GamekitError]:
    if isinstance(error, KnowledgeErrors):
        for problem in error.problems:
            yield from _flat(problem)
    else:
        yield error
