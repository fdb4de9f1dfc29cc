"""``query``, ``show`` and ``check``: what they print, their JSON, and what they refuse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gamekit.commands.terminal import table

from .conftest import Command, parsed
from .test_compare import run_file

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
        (["--grade", "reported", "--metric", "decode_rate"], ["rate-old", "rate-new"]),
        (["--grade", "inadequate"], []),
        (["--metric", "cycle_time"], ["cost"]),
        (["--subject", "host=box"], ["rate"]),
        (["--subject", "target=model-x", "--kind", "measurement"], ["rate-old", "rate-new"]),
        (["believed", "RATE"], ["rate-old"]),
        (["--metric", "verify_time"], []),
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
        ["query", "--grade", "passable"],
        ["query", "--metric", "nonsense"],
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


@pytest.mark.parametrize("command", [["show"], ["compare", "rate-new"]])
def test_part_of_an_id_and_one_like_no_other_are_answered_with_ids(
    base: Path, refused: Callable[..., str], command: list[str]
) -> None:
    """A part names what it is a part of; what resembles nothing, the newest runs."""
    assert "did you mean rate-old or rate-new?" in refused(2, *command, "ate-")
    run_file(base, "r-20261201", [80.0, 81.0])
    assert "newest runs are: r-20261201" in refused(2, *command, "zzz")


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


def test_show_leaves_names_of_variables_as_they_are(base: Path, gamekit: Command) -> None:
    """What is typed, such as NCCL_P2P_LEVEL, is shown so, as name and within a text."""
    text = """\
schema: 1
findings:
  - id: links
    kind: setting
    title: Settings of the links
    component: nccl
    reaches: all
    verify: [look]
    why: it is faster
    variables: {NCCL_P2P_LEVEL: SYS}
    persisted_in: sitecustomize.py
    effect: NCCL_P2P_LEVEL=SYS is faster
    candidates: {NCCL_IB_DISABLE: 0 or 1}
    source: {kind: investigation, messages: ["1"]}
"""
    (base / "findings" / "links.yaml").write_text(text, encoding="utf-8")
    shown = gamekit("show", "links")
    assert "  NCCL_P2P_LEVEL: SYS\n" in shown
    assert "effect: NCCL_P2P_LEVEL=SYS is faster\n" in shown
    assert "  NCCL_IB_DISABLE: 0 or 1\n" in shown


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


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")


LONG = "published-lightseek-k25-phase1-bfcl-v3-multiple"


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_an_id_is_never_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    """Columns are left out, the least telling first, before an id or another word is broken."""
    on_a_terminal(monkeypatch, columns)
    headings = ("id", "kind", "status", "value", "title")
    row = (LONG, "measurement", "superseded", "3.75 tok/cycle (n = 12)", "some words " * 9)
    table(headings, [row, ("x", *row[1:])], dropped=("kind", "status", "title"))
    shown = click.unstyle(capsys.readouterr().out)
    assert LONG in shown
    assert "tok/cycle" in shown
    assert max(map(len, shown.splitlines())) <= columns
    assert ("measurement" in shown) == (columns == 200)
    assert ("some" in shown) == (columns == 200)


def test_piped_rows_are_one_line_each(base: Path, gamekit: Command) -> None:
    """Outside a terminal every finding is one line with its whole id, without a tab."""
    rows = parsed(gamekit("query", "--json"))
    lines = gamekit("query").splitlines()[1:]
    assert [line.split()[0] for line in lines] == [row["id"] for row in rows]
    assert not any("\t" in line for line in lines)


TOLD = """\
schema: 1
findings:
  - id: probe
    kind: series
    title: Accept length of the probe
    metric: accept_length
    unit: tok/cycle
    better: higher
    match: {target: model-x, steps: 2}
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: length
    kind: measurement
    title: Length as it was stated
    metric: accept_length
    value: {value: 2.0, unit: tok/cycle}
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: plan-c
    kind: approach
    title: Try it
    label: C
    state: proposed
    why: It rests on [[length]] and on [[probe]].
    work: {load: Load it.}
    effort: {unknown: nobody said}
    confidence: {unknown: nobody said}
    gates:
      - title: Does it pay?
        predicate: "[probe] >= [length]"
        if_holds: {text: Go on.}
        if_fails: {text: Stop.}
      - title: Is it more than nothing?
        predicate: "[length] >= 1.5"
        if_holds: {text: "As [[length]] says.", next: [plan-c]}
        if_fails: {text: Stop.}
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: measure-it
    kind: evaluation
    title: Measure it
    state: planned
    purpose: To know.
    command: |
      python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --port 30000 \\
        --speculative-algorithm EAGLE3 --speculative-num-steps 2 --speculative-eagle-topk 1
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: tried
    kind: failed_experiment
    title: It was tried
    hypothesis: It helps.
    tried: The flag.
    outcome: It did not help.
    reason: {unknown: nobody looked}
    scope: That host.
    retry_when: The flag does something.
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""


@pytest.fixture
def told(base: Path) -> Path:
    """The small knowledge base with an approach, an evaluation and a failed experiment."""
    (base / "findings" / "told.yaml").write_text(TOLD, encoding="utf-8")
    return base


def test_show_tells_how_the_gates_of_an_approach_stand(told: Path, gamekit: Command) -> None:
    """Each gate has its outcome, its figures and where both outcomes lead, in text and JSON."""
    text = " ".join(gamekit("show", "plan-c").split())
    assert "1. Does it pay? unknown" in text
    assert "probe is unknown; length is 2.0 tok/cycle" in text
    assert "2. Is it more than nothing? holds" in text
    assert "if it holds: As 2.0 tok/cycle [length] says. Next: plan-c." in text
    assert " -: " not in text
    gates = parsed(gamekit("show", "plan-c", "--json"))["gates"]
    assert [gate["outcome"] for gate in gates] == ["unknown", "holds"]
    assert gates[1]["left"]["mid"] == 2


def test_show_spells_references_and_keeps_the_digits(told: Path, gamekit: Command) -> None:
    """[[id]] in a text is a figure or title with the id, and 2.0 is not 2."""
    text = " ".join(gamekit("show", "plan-c").split())
    assert "It rests on 2.0 tok/cycle [length] and on Accept length of the probe [probe]." in text
    assert "[[" not in text
    assert "2.0 tok/cycle" in gamekit("show", "length")
    assert "2.0 tok/cycle" in gamekit("query", "--metric", "accept_length")


def test_a_command_is_printed_as_it_is(told: Path, gamekit: Command) -> None:
    """However long its lines are, a command can be copied."""
    text = gamekit("show", "measure-it")
    finding = parsed(gamekit("show", "measure-it", "--json"))["finding"]
    for line in finding["command"].splitlines():
        assert f"  {line}\n" in text


def test_show_json_has_what_an_agent_needs_before_it_retries(told: Path, gamekit: Command) -> None:
    """The outcome of a failed experiment and when to retry it are in the record of show --json."""
    finding = parsed(gamekit("show", "tried", "--json"))["finding"]
    assert finding["outcome"] == "It did not help."
    assert finding["retry_when"] == "The flag does something."
    (row,) = parsed(gamekit("query", "--kind", "failed_experiment", "--json"))
    assert set(row) == ROW


def test_errors_quote_what_they_do_not_know(base: Path, refused: Callable[..., str]) -> None:
    """An unknown name stands in quotes; an unknown metric is answered with the known ones."""
    assert "no finding and no run 'nothing'" in refused(2, "show", "nothing")
    assert "there is no benchmark 'nothing'" in refused(2, "bench", "nothing")
    line = refused(2, "query", "--metric", "nonsense")
    assert "there is no metric 'nonsense'" in line
    assert "decode_rate" in line


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


def test_show_says_that_samples_are_of_two_states(base: Path, gamekit: Command) -> None:
    """Also of a figure that somebody told, beside what else is against it."""
    path = base / "findings" / "rates.yaml"
    measured = """\
  - id: jumpy
    kind: measurement
    title: Five requests
    metric: end_to_end_rate
    value: {samples: [477.7, 498.9, 496.3, 772.5, 817.0], unit: tok/s}
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""
    path.write_text(path.read_text(encoding="utf-8") + measured, encoding="utf-8")
    shown = " ".join(gamekit("show", "jumpy").split())
    assert "unstable: has two modes, 491 (n = 3) and 794.8 tok/s" in shown
    assert len(parsed(gamekit("show", "jumpy", "--json"))["unstable"]) == 1
    assert parsed(gamekit("show", "rate-new", "--json"))["unstable"] == []
