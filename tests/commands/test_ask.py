"""``query``, ``show`` and ``check``: what they print, their JSON, and what they refuse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gamekit.commands.terminal import table

from .conftest import Command, parsed

ROW = {
    *("id", "kind", "title", "status", "grade", "current", "why_not", "metric", "value"),
    *("subject", "series", "source", "supersedes", "superseded_by", "file", "line"),
}


def ids(text: str) -> list[str]:
    return [row["id"] for row in parsed(text)]


def test_query_json_has_the_contracted_keys(base: Path, gamekit: Command) -> None:
    """Every row has exactly the keys of the contract, null where one does not apply."""
    rows = parsed(gamekit("query", "--json"))
    assert all(set(row) == ROW for row in rows)
    row = next(row for row in rows if row["id"] == "rate-new")
    assert row["value"] == {
        "low": 82.0,
        "mid": 82.5,
        "high": 83.0,
        "unit": "tok/s",
        "n": None,
        "interval": "observed",
    }
    assert row["status"] == ["current"]
    assert row["current"] is True
    assert row["supersedes"] == ["rate-old"]
    assert row["file"] == "findings/rates.yaml"
    text = (base / row["file"]).read_text(encoding="utf-8").splitlines()[row["line"] - 1]
    assert text == "  - id: rate-new"
    question = next(row for row in rows if row["kind"] == "question")
    assert question["metric"] is question["value"] is question["series"] is None


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--kind", "series"], ["rate"]),
        (["--status", "superseded"], ["rate-old"]),
        (["--metric", "cycle_time"], ["cost"]),
        (["--subject", "host=box"], ["rate"]),
        (["--subject", "target=model-x", "--kind", "measurement"], ["rate-old", "rate-new"]),
        (["believed", "RATE"], ["rate-old"]),
        (["--metric", "no_such_metric"], []),
    ],
)
def test_query_meets_all_conditions(
    base: Path, gamekit: Command, arguments: list[str], found: list[str]
) -> None:
    """Conditions are combined, words match in either case, and nothing found is an empty list."""
    assert ids(gamekit("query", *arguments, "--json")) == found


def test_query_prints_one_aligned_line_a_finding(base: Path, gamekit: Command) -> None:
    """Outside a terminal the columns are aligned and a line is never wrapped."""
    lines = gamekit("query", "--kind", "measurement").splitlines()
    assert len(lines) == 4
    column = lines[0].index("value")
    assert lines[1][column:].startswith("89 tok/s")
    assert lines[2][column:].startswith("82.5 tok/s (82 to 83, observed)")
    assert gamekit("query", "nothing-is-called-this") == "nothing found\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "--kind", "measurment"],
        ["query", "--status", "supreme"],
        ["query", "--subject", "hots=box"],
        ["query", "--subject", "host"],
        ["query", "--subject", "host=a", "--subject", "host=b"],
        ["query", "--nonsense"],
        ["show"],
        ["show", "no-such-id"],
        ["show", "rate-nwe"],
        ["render", "--force", "--check"],
        ["nonsense"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    base: Path, refused: Callable[..., str], arguments: list[str]
) -> None:
    """A name or option that does not exist is a usage error that says how to go on."""
    line = refused(2, *arguments)
    assert line.count("\n") == 1
    assert "; " in line


def test_an_unknown_id_names_the_close_one(base: Path, refused: Callable[..., str]) -> None:
    """A misspelt id is answered with the id that was meant."""
    assert "rate-new" in refused(2, "show", "rate-nwe")


def test_show_tells_history_reasons_and_dependents(base: Path, gamekit: Command) -> None:
    """A superseded figure says by what and why, its series' history, and what rests on it."""
    told = parsed(gamekit("show", "rate-old", "--json"))
    assert set(told) > ROW
    assert "did not come back" in told["why_not"]
    assert [row["id"] for row in told["history"]] == ["rate-old", "rate-new"]
    assert "stated-gain" in [item["id"] for item in told["dependents"]]
    text = gamekit("show", "rate-old")
    for part in ("superseded", "did not come back", "history, oldest first", "stated-gain"):
        assert part in text


def test_show_evaluates_a_claim(base: Path, gamekit: Command) -> None:
    """A claim is shown with its verdict, which no file holds."""
    assert parsed(gamekit("show", "stated-gain", "--json"))["claim"]["verdict"] == "contradicted"
    assert "contradicted" in gamekit("show", "stated-gain")


def test_show_says_why_a_figure_is_unknown(base: Path, gamekit: Command) -> None:
    """An unknown figure gives its reason and no number."""
    assert "cycle_time: unknown: nobody measured it" in gamekit("show", "cost")
    assert parsed(gamekit("show", "cost", "--json"))["value"] is None


def test_check_counts_a_contradicted_claim_as_a_result(base: Path, gamekit: Command) -> None:
    """A contradicted claim and one over an unknown are told, and the exit code is 0."""
    told = parsed(gamekit("check", "--json"))
    assert told["claims"] == {"contradicted": ["stated-gain"], "unknown": ["tokens-per-cycle"]}
    assert told["kinds"]["measurement"] == 3
    assert told["findings"] == 7
    text = gamekit("check")
    assert "1 contradicted" in text
    assert text.endswith("no errors\n")


def test_check_tells_every_error_with_its_line(base: Path, refused: Callable[..., str]) -> None:
    """Several errors give one line each, in the order of the files; as JSON one object."""
    path = base / "findings" / "rates.yaml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("supersedes: [rate-old]", "supersedes: [rate-odl]")
    path.write_text(text.replace("[rate-new] - [rate-old]", "[rate-new] -"), encoding="utf-8")
    lines = refused(1, "check").splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"findings/rates.yaml:{number}"
        for number, line in enumerate(text.splitlines(), 1)
        if "rate-odl" in line or 'formula: "[rate-new] - [rate-old]"' in line
    ]
    assert ": finding rate-new: " in lines[0]
    assert "did you mean rate-old" in lines[0]
    problems = parsed(refused(1, "check", "--json"))["problems"]
    assert [problem["finding"] for problem in problems] == ["rate-new", "stated-gain"]


def test_commands_say_where_there_is_no_knowledge_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    """Outside a knowledge base the way to begin one is told."""
    monkeypatch.chdir(tmp_path)
    for command in (["check"], ["query"], ["show", "x"], ["render"], ["bench", "--append"]):
        assert "gamekit init" in refused(2, *command)


def test_hostile_text_is_shown_and_not_obeyed(base: Path, gamekit: Command) -> None:
    """Escape sequences and markup of a finding come out as characters, in table and text."""
    path = base / "findings" / "hostile.yaml"
    path.write_text(
        'schema: 1\nfindings:\n  - id: hostile\n    kind: question\n    title: "a\\e[2Jb [red]c"\n'
        '    question: "x\\u202ey"\n    why_it_matters: "{{ 7*7 }}"\n    settle: "$(reboot)"\n'
        '    source: {kind: person, name: A, said: "2026-01-01"}\n',
        encoding="utf-8",
    )
    for arguments in (["query", "hostile"], ["show", "hostile"]):
        text = gamekit(*arguments)
        assert "\x1b" not in text
        assert "\\x1b[2J" in text
        assert "[red]c" in text
    assert "{{ 7*7 }}" in gamekit("show", "hostile")
    assert "x\\u202ey" in gamekit("show", "hostile")


def test_a_terminal_gets_a_fitted_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the table keeps to its width, folding long cells, and obeys no markup."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    table(("id", "title"), [("x", "[bold]word " * 12)])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 40
    assert len(lines) > 4
    assert "[bold]word" in "".join(lines)
