"""A new knowledge base says how what was measured comes into its plan, and a question out of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gamekit.commands.failures import run
from gamekit.store.begin import begin

from .rates import run_file

HINT = "the plan shows what gamekit.yaml names, and that names no finding yet"
SERIES = """\
schema: 1
findings:
  - id: rate
    kind: series
    title: Decode rate
    metric: decode_rate
    unit: tok/s
    better: higher
    match: {target: model-x, speculation: none, concurrency: 1, host: box}
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""
ANSWER = """\
  - id: baseline-measured
    kind: review
    title: The baseline is measured
    verdict: supersedes
    of: [question-baseline]
    evidence: [rate]
    reason: "[[rate]] answers it."
    author: Ada
    source: {kind: person, name: Ada, said: "2026-12-01"}
"""


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a command in a new knowledge base with a declared series, and gives what it printed."""
    folder = tmp_path / "base"
    begin(folder)
    (folder / "findings" / "rate.yaml").write_text(SERIES, encoding="utf-8")
    monkeypatch.chdir(folder)

    def command(*arguments: str) -> str:
        capsys.readouterr()
        assert run(arguments) == 0
        return capsys.readouterr().out

    return command


def test_render_gives_the_lines_that_put_a_measured_series_into_the_plan(
    printed: Callable[..., str],
) -> None:
    """Pasted into gamekit.yaml they do, and nothing is said any more."""
    assert HINT not in printed("render")  # nothing was measured
    run_file(Path(), "one", [80.0, 80.1, 80.2, 80.1, 80.0])
    text = printed("render")
    assert HINT in text
    config = Path("gamekit.yaml")
    pasted = text[text.index("key_numbers:") :]
    assert pasted == "key_numbers:\n  - rate\n"
    config.write_text(config.read_text("utf-8").replace("key_numbers: []\n", pasted), "utf-8")
    assert HINT not in printed("render")
    assert "80.08 tok/s" in Path("game-plan.md").read_text("utf-8")


def test_what_the_stand_in_gave_is_said_to_be_in_no_plan(printed: Callable[..., str]) -> None:
    """Nobody is told to name a series that has no figure."""
    run_file(Path(), "one", [80.0, 80.1, 80.2, 80.1, 80.0], engine={"stand_in": True})
    text = printed("render")
    assert HINT in text
    assert "key_numbers" not in text


def test_next_says_how_a_question_is_answered(printed: Callable[..., str]) -> None:
    """A review that supersedes it takes it off the list."""
    run_file(Path(), "one", [80.0, 80.1, 80.2, 80.1, 80.0])
    assert "a question is asked until a review supersedes it" in printed("next")
    with Path("findings/questions.yaml").open("a", encoding="utf-8") as file:
        file.write(ANSWER)
    assert "question" not in printed("next").replace("no open evaluation, approach, question", "")
