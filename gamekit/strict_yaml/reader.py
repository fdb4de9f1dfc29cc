"""Reads a YAML file strictly: what two readers would read differently is refused, with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from gamekit.errors import YamlError
from gamekit.strict_yaml.document import Document, FieldPath, field_name, shortened
from gamekit.strict_yaml.judgement import Refused, judge
from gamekit.strict_yaml.limits import MAX_DEPTH
from gamekit.strict_yaml.source import checked_text, file_bytes

# libyaml is an order of magnitude faster; both give the same events.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_FLATTER = "make the structure flatter"
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_yaml(path: Path, file: str | None = None) -> Document:
    """The document in the file at ``path``; ``file`` is the name used in errors, else the path.

    Raises ``YamlError`` (one line: file, line, field, how to mend it) for what is refused, and
    ``MachineRefused`` when the machine does not let the file be read.
    """
    name = file or str(path)
    return parse_yaml(file_bytes(path, name), name)


def parse_yaml(data: bytes, file: str) -> Document:
    """The document in ``data``; ``file`` is the name used in errors. Raises ``YamlError``."""
    text = checked_text(data, file)
    building = _Building(file)
    for event in _events(text, file):
        building.take(event)
    if not building.has_content:
        raise YamlError(
            "the file is empty", file=file, line=1, mend="write its content, or delete the file"
        )
    return Document(building.data, file, building.lines, building.raw, text)


def _events(text: str, file: str) -> Iterator[Any]:
    # Events come one at a time and the stack of open mappings and lists is ours, so that nothing
    # recurses and nesting is refused before it has grown.
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, file) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # Only the loader without libyaml: an escape beyond the last character of Unicode.
        raise YamlError(
            f"this is not YAML: {error}", file=file, line=1, mend="check its escapes"
        ) from error


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    path: FieldPath
    items: dict[str, Any] | list[Any]
    key: str | None = None
    key_lines: dict[str, int] = field(default_factory=dict)


class _Building:
    """The document so far."""

    def __init__(self, file: str) -> None:
        self.data: Any = None
        self.has_content = False
        self.lines: dict[FieldPath, int] = {(): 1}
        self.raw: dict[FieldPath, str] = {}
        self._file = file
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Adds one event of the parser."""
        line = event.start_mark.line + 1
        match event:
            case yaml.ScalarEvent():
                self._scalar(event, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._start(event, line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case yaml.AliasEvent():
                self._refuse(line, f"the alias *{event.anchor}", "write the content out again")
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse(line, "a second document", "keep one document in a file")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        plain = event.style in (None, "")
        # The lone tag "!" leaves no tag, but an unquoted scalar that is not to be resolved.
        if event.tag is not None or (plain and not event.implicit[0]):
            self._refuse_tag(event.tag, line)
        self._refuse_anchor(event.anchor, line)
        parent = self._open[-1] if self._open else None
        if parent is None and event.style in ("|", ">"):
            # An unindented line below it belongs to the text in YAML 1.2 and ends it in YAML 1.1.
            self._refuse(line, "a block text as the whole document", "put it under a key")
        if parent is not None and isinstance(parent.items, dict) and parent.key is None:
            self._key(parent, event.value, line, plain)
            return
        path = self._path(parent)
        value: Any = event.value
        if plain:
            value = judge(event.value)
            if isinstance(value, Refused):
                self._fail(line, f"{_field(path)}: {value.why}", value.mend + value.or_else)
            if not isinstance(value, str):
                self.raw[path] = event.value
        self._refuse_surrogate(event.value, line)
        self.has_content = self.has_content or not plain or event.value != ""
        self._put(parent, path, value, line)

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        if event.tag is not None:
            self._refuse_tag(event.tag, line)
        self._refuse_anchor(event.anchor, line)
        parent = self._open[-1] if self._open else None
        if parent is not None and isinstance(parent.items, dict) and parent.key is None:
            self._refuse(line, "a mapping or list as a key", "make the key a text")
        if len(self._open) == MAX_DEPTH:
            self._fail(line, _TOO_DEEP, _FLATTER)
        path = self._path(parent)
        items: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.has_content = True
        self._put(parent, path, items, line)
        self._open.append(_Open(path, items))

    def _key(self, parent: _Open, text: str, line: int, plain: bool) -> None:
        value = judge(text) if plain else text
        if isinstance(value, Refused):
            self._fail(line, f"{_key_name(text, parent)}: {value.why}", value.mend)
        if not isinstance(value, str):
            what = "null" if value is None else "not a text"
            self._fail(line, f"{_key_name(text, parent)} is {what}", "write the key in quotes")
        self._refuse_surrogate(text, line)
        first = parent.key_lines.setdefault(text, line)
        if text in parent.items:
            self._fail(
                line,
                f"{_key_name(text, parent)} stands twice, in line {first} and in line {line}",
                "keep one of the two",
            )
        parent.key = text
        self.lines[(*parent.path, text)] = line

    @staticmethod
    def _path(parent: _Open | None) -> FieldPath:
        if parent is None:
            return ()
        step = len(parent.items) if isinstance(parent.items, list) else parent.key
        return (*parent.path, step)  # type: ignore[arg-type]  # a value follows its key

    def _put(self, parent: _Open | None, path: FieldPath, value: Any, line: int) -> None:
        if parent is None:
            self.data = value
            self.lines[path] = line
        elif isinstance(parent.items, list):
            parent.items.append(value)
            self.lines[path] = line
        else:
            parent.items[str(parent.key)] = value
            parent.key = None

    def _refuse_tag(self, tag: str | None, line: int) -> NoReturn:
        shown = shortened((tag or "!").replace("tag:yaml.org,2002:", "!!"))
        self._refuse(line, f"the tag {shown}", "leave it out, and quote what is a text")

    def _refuse_anchor(self, anchor: str | None, line: int) -> None:
        if anchor is not None:
            self._refuse(
                line, f"the anchor &{shortened(anchor)}", "write the content out each time"
            )

    def _refuse_surrogate(self, text: str, line: int) -> None:
        if _SURROGATE.search(text):
            self._refuse(line, "half of a surrogate pair", "write the whole character")

    def _refuse(self, line: int, what: str, mend: str) -> NoReturn:
        self._fail(line, f"{what} is not allowed here", mend)

    def _fail(self, line: int, what: str, mend: str) -> NoReturn:
        raise YamlError(what, file=self._file, line=line, mend=mend)


def _field(path: FieldPath) -> str:
    return f"field {field_name(path)}" if path else field_name(path)


def _key_name(text: str, mapping: _Open) -> str:
    return f"the key {shortened(text)!r} of {field_name(mapping.path)}"


def _not_yaml(error: yaml.MarkedYAMLError, text: str, file: str) -> YamlError:
    mark: Any = error.problem_mark or error.context_mark
    problem = error.problem or str(error.context)
    rows = text.split("\n")
    if mark.index >= len(text.rstrip()) and error.context_mark:
        # A bracket or quote that is never closed is told of where it was opened.
        mark = error.context_mark
    line = min(mark.line, len(rows) - 1) + 1
    if "nesting depth" in problem:  # libyaml has a limit of its own for brackets
        return YamlError(_TOO_DEEP, file=file, line=line, mend=_FLATTER)
    message = f"this is not YAML: {problem}"
    if error.context and error.context_mark and error.context_mark.line + 1 < line:
        message += f" {error.context} that begins in line {error.context_mark.line + 1}"
    return YamlError(
        message, file=file, line=line, mend=_mend(problem, rows[line - 1], mark.column)
    )


def _mend(problem: str, row: str, column: int) -> str:
    found = row[column : column + 1]
    if found == "\t" or " tab " in problem or row.lstrip(" ").startswith("\t"):
        return "indent with spaces, not with tabs"
    if found in ("@", "`", "%", "*", "&", "!", "|", ">"):
        return f"quote a text that begins with {found}"
    if "mapping values" in problem:
        return 'quote a text that holds ": "'
    return "check the indentation, brackets and quotes here"
