"""Loading: what a file cannot say is one error with its line and a way to mend it."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from gamekit.errors import GamekitError, KnowledgeErrors
from gamekit.store import load as module
from gamekit.store.load import Record, load

CONFIG = "schema: 1\ntitle: T\nplan: plan.md\n"


def measured(value: str = "{value: 82, unit: tok/s}", **fields: str) -> str:
    """A file of one measurement, the value on line 8."""
    given = {"id": "m", "title": "T", "messages": '["12"]', "schema": "1", **fields}
    return (
        f"schema: {given['schema']}\nfindings:\n  - id: {given['id']}\n    kind: measurement\n"
        f"    title: {given['title']}\n    source: {{kind: investigation, messages:"
        f" {given['messages']}}}\n    metric: decode_rate\n    value: {value}\n"
    )


def problems(root: Path, text: str | None = None, config: str = CONFIG) -> list[GamekitError]:
    (root / "gamekit.yaml").write_text(config, encoding="utf-8")
    if text is not None:
        (root / "findings").mkdir()
        (root / "findings" / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(KnowledgeErrors) as caught:
        load(root)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (measured(id="Bad"), 3, "id: is no id"),
        (measured(title='"  "'), 5, "title: is blank"),
        (measured(messages='["١٢"]'), 6, "is no message number"),
        (measured(messages='["1234567890"]'), 6, "is no message number"),
        (measured(schema="1.0"), 1, "schema version 1.0"),
        (measured('{value: "82", unit: tok/s}'), 8, "value.value: is a text, and not a number"),
        (measured("{value: true, unit: tok/s}"), 8, "value.value: is a logical value, true"),
        (measured("{value: 82, count: 5.0, unit: tok/s}"), 8, "5.0, and not a whole number"),
        (measured('{unknown: " ", unit: tok/s}'), 8, "value.unknown: is blank"),
        (measured("{value: 82, unit: tok/s}\n    subject: {host: ' '}"), 9, "host: is blank"),
    ],
)
def test_a_wrong_field_is_one_fault_with_its_mend(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    """However many types may stand somewhere, what fits none of them is told once."""
    (problem,) = problems(tmp_path, text)
    assert what in problem.message
    assert (problem.file, problem.line) == ("findings/a.yaml", line)
    assert problem.mend
    assert "input should" not in str(problem)


@pytest.mark.parametrize(
    ("value", "mend"),
    [
        ("{value: 2.00, unit: tok/s}", "write rounded_to: 0.01 beside it"),
        ("{value: 2.500, unit: tok/s}", "write rounded_to: 0.001 beside it"),
        ("{low: 2.50, high: 3.1, range: observed, unit: tok/s}", "write rounded_to: 0.01"),
    ],
)
def test_zeros_that_would_be_lost_are_refused(tmp_path: Path, value: str, mend: str) -> None:
    """A figure is known to its last written digit; one that a float does not keep is refused."""
    (problem,) = problems(tmp_path, measured(value))
    assert "the last digits" in problem.message
    assert (problem.line, problem.finding) == (8, "m")
    assert problem.mend is not None
    assert problem.mend.startswith(mend)


@pytest.mark.parametrize(
    "value",
    [
        "{value: 2.00, rounded_to: 0.01, unit: tok/s}",
        "{value: 2.0, unit: tok/s}",
        "{low: 2.50, high: 3.0, range: rounded, unit: tok/s}",
    ],
)
def test_zeros_that_are_kept_or_do_not_matter_are_taken(tmp_path: Path, value: str) -> None:
    """The step that was stated, one zero, and the ends of a rounding lose nothing."""
    (tmp_path / "gamekit.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "a.yaml").write_text(measured(value), encoding="utf-8")
    assert list(load(tmp_path).records) == ["m"]


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (CONFIG.replace("schema: 1", "schema: 1.0"), 1),
        (CONFIG.replace("plan.md", "../plan.md"), 3),
        (CONFIG + "goal: [x\n", 4),
    ],
)
def test_faults_of_the_configuration_name_it_from_the_root(
    tmp_path: Path, config: str, line: int
) -> None:
    """What is wrong with gamekit.yaml says so by its name and line, wherever the root lies."""
    problem = problems(tmp_path, measured("{value: 1, unit: x}"), config)[0]
    assert (problem.file, problem.line) == ("gamekit.yaml", line)


def test_what_is_no_file_is_named_from_the_root(tmp_path: Path) -> None:
    """A folder and a link to nothing called like findings files are faults of their own."""
    (tmp_path / "findings" / "b.yaml").mkdir(parents=True)
    (tmp_path / "findings" / "c.yaml").symlink_to(tmp_path / "nothing")
    found = problems(tmp_path)
    assert [(one.file, one.line) for one in found] == [
        ("findings/b.yaml", 1),
        ("findings/c.yaml", 1),
    ]


@pytest.mark.parametrize("there", [True, False])
def test_without_a_folder_of_findings_nothing_is_loaded(tmp_path: Path, there: bool) -> None:
    """A base whose findings are gone is wrong, and not one without findings."""
    if there:
        (tmp_path / "findings").touch()
    (problem,) = problems(tmp_path)
    assert problem.file == "findings"
    assert problem.mend


def written(root: Path, *names: str) -> Path:
    """A base with one measurement a file, each called as its file."""
    (root / "findings").mkdir(parents=True)
    (root / "gamekit.yaml").write_text(CONFIG, encoding="utf-8")
    for name in names:
        write(root, name)
    return root


def write(root: Path, name: str, value: int = 82) -> None:
    text = measured(f"{{value: {value}, unit: tok/s}}", id=name)
    (root / "findings" / f"{name}.yaml").write_text(text, encoding="utf-8")


def same(one: Record, other: Record) -> bool:
    """Whether a record was not parsed again."""
    return one is other


def test_only_what_changed_is_read_again_however_many_files_there_are(tmp_path: Path) -> None:
    """Of more than a thousand files the changed one is parsed, and every other is as it was."""
    root = written(tmp_path, *(f"m{number:04}" for number in range(1001)))
    first = load(root).records
    write(root, "m0500", 83)
    second = load(root).records
    assert [name for name in first if not same(first[name], second[name])] == ["m0500"]
    assert second["m0500"].finding.value.value == 83  # type: ignore[union-attr]
    assert list(first) == list(second)


def test_bases_loaded_in_turn_do_not_displace_each_other(tmp_path: Path) -> None:
    """Two bases with files of the same names keep what was read of each."""
    roots = [written(tmp_path / name, "m") for name in ("a", "b")]
    write(roots[1], "m", 83)
    first, again = ([load(root).records["m"] for root in roots] for _ in range(2))
    assert all(map(same, first, again))
    assert [one.finding.value.value for one in again] == [82, 83]  # type: ignore[union-attr]


def test_a_wrong_file_does_not_make_the_others_be_read_again(tmp_path: Path) -> None:
    """What a failed load could read is kept as well."""
    root = written(tmp_path, "m", "other")
    first = load(root).records
    (root / "findings" / "other.yaml").write_text("schema: 1\nfindings: 1\n", encoding="utf-8")
    with pytest.raises(KnowledgeErrors):
        load(root)
    write(root, "other")
    assert same(load(root).records["m"], first["m"])


def test_what_is_no_longer_in_a_base_is_forgotten(tmp_path: Path) -> None:
    """Nothing is kept of a file that changed or went, nor of a base after many others."""
    root = written(tmp_path / "a", "gone", "kept", "new")
    records = {name: weakref.ref(record) for name, record in load(root).records.items()}

    def held() -> set[str]:
        gc.collect()
        return {name for name, record in records.items() if record() is not None}

    assert held() == {"gone", "kept", "new"}
    (root / "findings" / "gone.yaml").unlink()
    write(root, "new", 83)
    load(root)
    assert held() == {"kept"}
    for number in range(20):
        load(written(tmp_path / f"b{number}", f"m{number}"))
    assert held() == set()


def test_a_listing_that_passed_a_file_by_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two files written one after the other, one listing may see the second alone."""
    root = written(tmp_path, "first", "second")
    look = module._yaml_files
    listings = iter([{root / "findings" / "second.yaml"}])
    monkeypatch.setattr(module, "_yaml_files", lambda folder: next(listings, look(folder)))
    assert list(load(root).records) == ["first", "second"]
