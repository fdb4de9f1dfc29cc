"""Bad files: each gives one line with file and line, exit 1, and changes nothing on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

HEAD = "schema: 1\nfindings:\n"
QUESTION = (
    HEAD + "  - id: q\n    kind: question\n    title: T\n    question: Q\n"
    "    why_it_matters: W\n    settle: S\n"
    '    source: {kind: person, name: A, said: "2026-01-01"}\n'
)
MEASUREMENT = (
    HEAD + "  - id: m\n    kind: measurement\n    title: T\n    metric: decode_rate\n"
    "    value: {value: VALUE, unit: tok/s}\n    source: {kind: investigation, messages: ['1']}\n"
)


def valued(scalar: str) -> str:
    return MEASUREMENT.replace("VALUE", scalar)


def titled(scalar: str) -> str:
    return QUESTION.replace("title: T", f"title: {scalar}")


# What is wrong, the text, and the line that the error names.
REFUSED: list[tuple[str, str | bytes, int]] = [
    *((f"number {scalar}", valued(scalar), 7) for scalar in ("1e3", "017", "08", "0o17", "12:30")),
    *((f"text {scalar}", titled(scalar), 5) for scalar in ("NO", "1e3", "017", "12:30", "3.10")),
    ("not a number", valued(".nan"), 7),
    ("infinity", valued(".inf"), 7),
    ("giant integer", valued("9" * 5000), 7),
    ("unquoted date", QUESTION.replace('"2026-01-01"', "2026-01-01"), 9),
    ("impossible date", QUESTION.replace("2026-01-01", "2026-02-30"), 9),
    ("duplicate key", QUESTION.replace("title: T", "title: T\n    title: U"), 6),
    ("duplicate id", QUESTION + QUESTION.removeprefix(HEAD), 10),
    (
        "alias bomb",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + QUESTION,
        1,
    ),
    ("deep nesting", "schema: 1\nfindings: " + "[" * 5000 + "]" * 5000 + "\n", 2),
    ("empty file", "", 1),
    ("conflict marker", QUESTION.replace("    title", "<<<<<<< HEAD\n    title"), 5),
    ("wrong encoding", QUESTION.replace("title: T", "title: Ä").encode("latin-1"), 5),
    ("control character", QUESTION.replace("title: T", "title: T\x00"), 5),
    ("tab as indentation", QUESTION.replace("    title", "\ttitle"), 5),
    ("no mapping", "- a\n- b\n", 1),
    ("several documents", QUESTION + "---\n" + QUESTION, 10),
    ("unknown schema version", QUESTION.replace("schema: 1", "schema: 99"), 1),
    ("unknown kind", QUESTION.replace("kind: question", "kind: rumour"), 4),
    ("missing kind", QUESTION.replace("    kind: question\n", ""), 3),
    ("unknown field", QUESTION.replace("settle:", "setle:"), 8),
    ("missing field", QUESTION.replace("    settle: S\n", ""), 3),
    ("wrong unit", valued("1").replace("tok/s", "furlong"), 3),
]


@pytest.mark.parametrize(
    ("text", "line"), [item[1:] for item in REFUSED], ids=[item[0] for item in REFUSED]
)
def test_a_bad_file_is_one_line_and_changes_nothing(
    base: Path, refused: Callable[..., str], text: str | bytes, line: int
) -> None:
    """check, render, query and bench --append all end with exit 1 and leave every byte alone."""
    bad = base / "findings" / "bad.yaml"
    bad.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    told = refused(1, "check").splitlines()
    assert told, "the fault is told"
    # A duplicate key or a misspelt field may be a fault of its own kind besides; each is one line.
    assert any(message.startswith(f"findings/bad.yaml:{line}: ") for message in told)
    assert all(len(message) < 1000 for message in told)
    for arguments in (["render"], ["query"], ["bench", "--append"]):
        assert refused(1, *arguments).splitlines() == told
    assert {path: path.read_bytes() for path in base.rglob("*") if path.is_file()} == before


def test_a_bad_configuration_is_one_line(base: Path, refused: Callable[..., str]) -> None:
    """A field of gamekit.yaml that names no finding is exit 1 with its line."""
    path = base / "gamekit.yaml"
    text = path.read_text(encoding="utf-8").replace("key_numbers: []", "key_numbers: [nothing]")
    path.write_text(text, encoding="utf-8")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "nothing]" in row)
    assert refused(1, "check").startswith(f"gamekit.yaml:{line}: ")


def test_a_bad_template_names_itself_its_line_and_the_finding(
    base: Path, refused: Callable[..., str]
) -> None:
    """A template of the knowledge base that asks for a missing field is exit 1; nothing changes."""
    (base / "templates").mkdir()
    (base / "templates" / "plan.md.j2").write_text(
        "# Plan\n{{ finding('rate-new').no_such_field }}\n", encoding="utf-8"
    )
    before = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    line = refused(1, "render")
    assert line.startswith("templates/plan.md.j2:2: ")
    assert "rate-new" in line
    assert "no_such_field" in line
    assert {path: path.read_bytes() for path in base.rglob("*") if path.is_file()} == before
