"""The strict reader: what it refuses, on which line, and that nothing else escapes from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gamekit.errors import MachineRefused, YamlError
from gamekit.strict_yaml import (
    MAX_BYTES,
    MAX_DEPTH,
    Document,
    field_name,
    parse_yaml,
    read_yaml,
    reader,
)

from .readers import read_1_1, read_1_2, same

# Each refused kind once: what the file holds, the line of the fault, words of the message.
REFUSED: dict[str, tuple[Any, ...]] = {
    "duplicate key": (b"a: 1\nb:\n  - c: 1\n    d: 2\n    c: 3\n", 5, "line 3 and in line 5"),
    "duplicate key in brackets": (b"a: {b: 1,\n  b: 2}\n", 2, "line 1 and in line 2"),
    "duplicate key in quotes": (b"a: 1\n'a': 2\n", 2, "line 1 and in line 2"),
    "number as key": (b"a:\n  1: x\n", 2, "key '1' of a is not a text"),
    "null as key": (b"a:\n  ~: x\n", 2, "key '~' of a is null"),
    "empty key": (b"a:\n  ? \n  : x\n", 2, "key '' of a is null"),
    "ambiguous key": (b"a:\n  no: x\n", 2, "key 'no' of a: YAML 1.1 reads no as false"),
    "merge key": (b"a: {}\nb:\n  <<: {}\n", 3, "merge"),
    "list as key": (b"a: 1\n? [b]\n: c\n", 2, "as a key"),
    "mapping as key": (b"a: 1\n? {b: c}\n: d\n", 2, "as a key"),
    "anchor": (b"a: 1\nb: &x [1]\nc: *x\n", 2, "anchor &x"),
    "anchor on a key": (b"a: 1\n&x b: 1\n", 2, "anchor &x"),
    "alias": (b"a: 1\nb: *x\n", 2, "alias *x"),
    "alias as a key": (b"a: 1\n*x : 1\n", 2, "alias *x"),
    "standard tag": (b"a: 1\nb: !!int 3\n", 2, "tag !!int"),
    "python tag": (b"a: !!python/object/apply:os.system [x]\n", 1, "tag !!python"),
    "local tag": (b"a: 1\nb: !foo\n  c: 1\n", 2, "tag !foo"),
    "lone tag": (b"a: 1\nb: ! 12\n", 2, "tag !"),
    "tag on a quoted text": (b"a: 1\nb: !!str 'x'\n", 2, "tag !!str"),
    "second document": (b"a: 1\n---\nb: 1\n", 2, "second document"),
    "tab as indentation": (b"a:\n\tb: 1\n", 2, "spaces, not with tabs"),
    "mapping in a line": (b"a: 1\nb: c: d\n", 2, "mapping values"),
    "open bracket": (b"a: 1\nb: [1, 2\n", 2, "not YAML"),
    "open quote": (b"a: 1\nb: 'x\n", 2, "not YAML"),
    "reserved character": (b"a: 1\nb: @x\n", 2, "begins with @"),
    "bad indentation": (b"a:\n    b: 1\n  c: 2\n", 3, "not YAML"),
    "unknown escape": (b'a: 1\nb: "\\q"\n', 2, "not YAML"),
    "half a surrogate pair": (b'a: 1\nb: "\\ud800"\n', 2, "Unicode character escape", "surrogate"),
    "beyond Unicode": (b'a: "\\U00110000"\n', 1, "not YAML"),
    "conflict, ours": (b"a: 1\n<<<<<<< HEAD\nb: 1\n", 2, "conflict marker"),
    "conflict, base": (b"a: 1\n||||||| 1234\nb: 1\n", 2, "conflict marker"),
    "conflict, middle": (b"a: 1\r\n=======\r\nb: 1\r\n", 2, "conflict marker"),
    "conflict, theirs": (b"a: 1\n>>>>>>> branch\n", 2, "conflict marker"),
    "empty": (b"", 1, "file is empty"),
    "only blanks": (b"\n  \n", 1, "file is empty"),
    "only comments": (b"# nothing\n# here\n", 1, "file is empty"),
    "only a document marker": (b"---\n", 1, "file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", 1, "file is empty"),
    "UTF-16": ("a: 1\n".encode("utf-16"), 1, "UTF-16"),
    "UTF-16 without mark": ("a: 1\n".encode("utf-16-le"), 1, "U+0000"),
    "Latin-1": (b"a: 1\nb: caf\xe9\n", 2, "0xe9 is not UTF-8"),
    "surrogate in UTF-8": (b"a: 1\nb: \xed\xa0\x80\n", 2, "not UTF-8"),
    "cut character": (b"a: 1\nb: \xe2\x82", 2, "not UTF-8"),
    "NUL": (b"a: 1\nb: \x00\n", 2, "U+0000"),
    "escape character": (b"a: 1\nb: \x1b[31m\n", 2, "U+001B"),
    "delete character": (b"a: 1\nb: '\x7f'\n", 2, "U+007F"),
    "lone carriage return": (b"a: 1\nb: 1\rc: 1\n", 2, "U+000D"),
    "next line": ("a: 1\nb: 'x\x85y'\n".encode(), 2, "U+0085"),
    "line separator": ("a: 1\n# x\u2028b: 1\n".encode(), 2, "U+2028"),
    "paragraph separator": ("a: 1\nb: x\u2029y\n".encode(), 2, "U+2029"),
    "byte order mark inside": ("a: 1\nb: x\ufeffy\n".encode(), 2, "U+FEFF"),
    "nested lists": (b"a: 1\nb:\n  " + b"- " * 100 + b"x\n", 3, "levels deep"),
    "thousands of brackets": (b"a: 1\nb: " + b"[" * 50_000, 2, "levels deep"),
    "brackets over lines": (b"[\n" * 50_000, MAX_DEPTH + 1, "levels deep"),
    "thousands of braces": (b"a: " + b"{a: " * 50_000, 1, "levels deep"),
    "thousands of dashes": (b"- " * 50_000, 1, "levels deep"),
    "thousands of questions": (b"? " * 50_000, 1, "as a key"),
    "block text alone": (b"|\n# c\n", 1, "block text"),
    "other YAML version": (b"%YAML 3.0\n---\na: 1\n", 1, "not YAML"),
}


@pytest.fixture(params=["libyaml", "pure"])
def either_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pure":
        monkeypatch.setattr(reader, "_LOADER", yaml.SafeLoader)
    return str(request.param)


@pytest.mark.parametrize("kind", REFUSED)
def test_each_refused_kind_names_file_line_and_how_to_mend(kind: str, either_loader: str) -> None:
    """Every refused kind is one line with the right line number, with and without libyaml."""
    data, line, *words = REFUSED[kind]
    with pytest.raises(YamlError) as caught:
        parse_yaml(data, "folder/f.yaml")
    message = str(caught.value)
    # Where several are given, libyaml and the pure loader see the fault at different stages.
    assert any(word in message for word in words)
    assert message.startswith(f"folder/f.yaml:{line}: ")
    assert len(message.splitlines()) == 1
    assert len(message) < 300
    assert caught.value.mend


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    """A file of aliases that would expand to billions of items is refused before it does."""
    bomb = ["a0: &a0 [x, x]"]
    bomb += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    with pytest.raises(YamlError, match=r"f\.yaml:1: the anchor &a0"):
        parse_yaml("\n".join(bomb).encode(), "f.yaml")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """More than 16 MiB is refused, from bytes and from a file, and 16 MiB are read."""
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: '" + b"x" * (MAX_BYTES - 5) + b"'")
    assert len(read_yaml(path).data["a"]) == MAX_BYTES - 5
    with path.open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(YamlError, match="larger than 16 MiB"):
        read_yaml(path)


def test_the_deepest_nesting_that_is_allowed_is_read() -> None:
    """Nesting is counted in mappings and lists, and the limit itself is inside."""
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    value = parse_yaml(text.encode(), "f.yaml").data
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


def test_lines_and_source_texts_are_kept(either_loader: str) -> None:
    """Every key and item knows its line, every unquoted number the text it was written as."""
    document = parse_yaml(
        b"# a comment\n"
        b"schema: 1\n"
        b"findings:\n"
        b"  - id: a\n"
        b"    value: {low: 3.10,\n"
        b"      high: 4}\n"
        b"\n"
        b"  -\n"
        b"    id: 'b'\n"
        b"  - [1,\n"
        b"     2.50]\n"
        b"last:\n",
        "f.yaml",
    )
    assert document.data == {
        "schema": 1,
        "findings": [{"id": "a", "value": {"low": 3.1, "high": 4}}, {"id": "b"}, [1, 2.5]],
        "last": None,
    }
    assert document.lines == {
        (): 2,
        ("schema",): 2,
        ("findings",): 3,
        ("findings", 0): 4,
        ("findings", 0, "id"): 4,
        ("findings", 0, "value"): 5,
        ("findings", 0, "value", "low"): 5,
        ("findings", 0, "value", "high"): 6,
        ("findings", 1): 9,
        ("findings", 1, "id"): 9,
        ("findings", 2): 10,
        ("findings", 2, 0): 10,
        ("findings", 2, 1): 11,
        ("last",): 12,
    }
    assert document.raw == {
        ("schema",): "1",
        ("findings", 0, "value", "low"): "3.10",
        ("findings", 0, "value", "high"): "4",
        ("findings", 2, 0): "1",
        ("findings", 2, 1): "2.50",
        ("last",): "",
    }
    assert document.line_of(["findings", 1, "value", "low"]) == 9
    assert document.line_of(("missing",)) == 2


def test_windows_line_ends_and_a_byte_order_mark_are_accepted() -> None:
    """A file from an editor on Windows reads as the same file elsewhere does."""
    document = parse_yaml(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n", "f.yaml")
    assert document.data == {"a": 1, "b": "x\ny\n"}
    assert document.lines[("b",)] == 2
    assert document.text.startswith("a: 1")


def test_escapes_inside_double_quotes_are_read() -> None:
    """What may not stand in a file as it is can be written as an escape."""
    document = parse_yaml(rb'a: "\0\x85\u2028\U0001f600\ufeff"', "f.yaml")
    assert document.data == {"a": "\0\x85\u2028\U0001f600\ufeff"}


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, a pipe and a missing file are faults of the knowledge base, told in one line."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(YamlError, match="folder, not a file"):
        read_yaml(tmp_path)
    with pytest.raises(YamlError, match="pipe"):
        read_yaml(tmp_path / "pipe")
    with pytest.raises(YamlError, match="no such file"):
        read_yaml(tmp_path / "missing.yaml")


def test_a_path_the_machine_does_not_resolve_is_the_machines_refusal(tmp_path: Path) -> None:
    """What the operating system refuses is exit code 7, not a fault of the knowledge base."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    with pytest.raises(MachineRefused, match=r"loop\.yaml: cannot be read") as caught:
        read_yaml(loop)
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ((), "the document"),
        (("findings", 3, "value", "low"), "findings[3].value.low"),
        ((0, "a-b"), "[0].a-b"),
        (("a", "b c", "x.y"), "a['b c']['x.y']"),
        (("line\nbreak",), r"['line\nbreak']"),
    ],
)
def test_a_path_is_named_as_people_write_it(path: tuple[str | int, ...], name: str) -> None:
    """Keys are joined by dots, items stand in brackets, odd keys are quoted."""
    assert field_name(path) == name


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60))
@example(b"%TAG ! x\n---\na: 1")
@example(b'"\\U99999999"')
def test_arbitrary_bytes_raise_nothing_but_a_yaml_error(data: bytes) -> None:
    """Whatever the bytes, they are read or refused in one line with a line number in the file."""
    document = _read_or_refuse(data)
    # What was read came from text: bytes that are no UTF-8 are never taken.
    assert document is None or data.decode("utf-8-sig") is not None


INDICATORS = "ab1:-?,[]{}#&*!|>'\"%@` \n\n"
LONGER = (
    *(": ", "- ", "? ", "\n  ", "\n - ", "---\n", "|\n", ">-\n", "\t", "\\", "key: ", "'x'"),
    *("# c", "...\n", "!!str ", "&a ", "*a", "<<: ", "1.50", "~", "  "),
)
PIECES = st.sampled_from([*INDICATORS, *LONGER])


@settings(max_examples=2000, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_whatever_is_accepted_reads_alike_in_both_versions(text: str) -> None:
    """Any structure the reader accepts, PyYAML reads to equal data, and ruamel.yaml if it can."""
    document = _read_or_refuse(text.encode())
    if document is None:
        return
    assert same(read_1_1(text), document.data)
    try:
        other = read_1_2(text)
    except Exception:  # ruamel.yaml refuses some of what libyaml accepts
        return
    assert same(other, document.data)


def _read_or_refuse(data: bytes) -> Document | None:
    try:
        return parse_yaml(data, "f.yaml")
    except YamlError as refused:
        error = refused
    assert len(str(error).splitlines()) == 1
    assert error.line is not None
    assert 1 <= error.line <= data.count(b"\n") + 1
    return None
