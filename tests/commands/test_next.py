"""``gamekit next``: what to do now, for people and for agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Command, parsed

PLANNED = """
  - id: weigh
    kind: evaluation
    title: Weigh a cycle
    state: planned
    purpose: "Tells what [[rate]] has to be set against."
    command: gamekit bench serving_decode
    series: [cycles]
    source: {kind: investigation, messages: ["20"]}
  - id: cycles
    kind: series
    title: Time of a cycle
    metric: cycle_time
    unit: ms
    better: lower
    match: {target: model-x}
    source: {kind: investigation, messages: ["20"]}
"""


def test_nothing_to_do_says_so(base: Path, gamekit: Command) -> None:
    """Without anything open the command succeeds and says that nothing waits."""
    (base / "findings" / "questions.yaml").unlink()
    assert "nothing is waiting" in gamekit("next")
    assert parsed(gamekit("next", "--json")) == []


def test_a_question_that_nothing_answers_waits(base: Path, gamekit: Command) -> None:
    """A knowledge base that was just begun has one, shown with what would settle it."""
    shown = " ".join(gamekit("next").split())
    assert "1. How fast is the server without any tuning? (question-baseline)" in shown
    assert "gamekit bench serving_decode --url" in shown


def test_a_planned_evaluation_is_shown_with_its_command(base: Path, gamekit: Command) -> None:
    """Title, purpose with figures in place of ids, and the command line by line."""
    path = base / "findings" / "rates.yaml"
    path.write_text(path.read_text(encoding="utf-8") + PLANNED, encoding="utf-8")
    shown = gamekit("next")
    assert "1. Weigh a cycle (weigh)" in shown
    assert "82 to 83 tok/s [rate]" in shown
    assert "     gamekit bench serving_decode\n" in shown
    (told,) = [one for one in parsed(gamekit("next", "--json")) if one["id"] == "weigh"]
    assert set(told) == {"kind", "id", "title", "why", "command", "outcomes", "settles"}
    assert told["command"] == "gamekit bench serving_decode"


def test_outside_a_knowledge_base_it_is_a_usage_fault(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No gamekit.yaml here or above: exit 2."""
    monkeypatch.chdir(tmp_path)
    assert "gamekit init" in refused(2, "next")
