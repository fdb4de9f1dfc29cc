"""``gamekit predict``: its JSON, its words, where it works, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gamekit.store.begin import begin

from .conftest import Command, parsed

KEYS = {
    *("accept_len", "cycle_ms", "throughput_tok_s", "baseline_tok_s", "speedup"),
    *("break_even_accept_len", "ceiling_tok_s", "required_accuracy"),
}
HERE = ("--steps", "2", "--cycle-ms", "33.3", "--baseline", "82:83")

MODEL = """
model:
  baseline: rate
  speculative_rate: rate-new
  cycle_time: cost
  accept_length: tokens-per-cycle
"""


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that belongs to no knowledge base is the current one."""
    monkeypatch.chdir(tmp_path)


def test_json_has_the_contracted_keys(gamekit: Command) -> None:
    """All keys are there; a number with a range has its ends and unit, an exact one is plain."""
    told = parsed(gamekit("predict", *HERE, "--accept-len", "2", "--json"))
    assert told.keys() > KEYS | {"reasons", "assumptions", "conclusion"}
    assert told["steps"] == 2
    assert told["accept_len"] == 2
    assert told["cycle_ms"] == 33.3
    assert told["throughput_tok_s"] == pytest.approx(2000 / 33.3)
    assert told["baseline_tok_s"] == {"low": 82, "mid": 82.5, "high": 83, "unit": "tok/s"}
    assert told["speedup"]["unit"] == "1"
    assert told["break_even_accept_len"] == {
        "low": pytest.approx(2.7306),
        "mid": pytest.approx(2.74725),
        "high": pytest.approx(2.7639),
        "unit": "tok/cycle",
    }
    assert told["required_accuracy"]["mid"] == pytest.approx((math.sqrt(4 * 2.74725 - 3) - 1) / 2)
    assert told["reasons"] == {
        "target_tok_s": "unknown because no target was given",
        "steps_needed_at_accuracy": "no chain of up to 32 steps reaches it",
    }


def test_an_impossible_target_is_an_answer(gamekit: Command) -> None:
    """What no drafter can give is null with its reason, and exit code 0."""
    told = parsed(gamekit("predict", *HERE, "--target", "150", "--json"))
    assert told["required_accuracy"] is None
    assert told["reasons"]["required_accuracy"].startswith("no drafter can: the ceiling at 2 steps")
    assert told["steps_needed"] == 4
    assert isinstance(told["steps_needed"], int)
    text = gamekit("predict", *HERE, "--target", "150")
    assert "no drafter can: the ceiling at 2 steps is 90.1 tok/s" in " ".join(text.split())


def test_unknown_inputs_are_null_with_a_reason(gamekit: Command) -> None:
    """With a target alone everything else is null, and each says what was not given."""
    told = parsed(gamekit("predict", "--target", "150", "--json"))
    for key in KEYS:
        assert told[key] is None
        assert told["reasons"][key].startswith("unknown because")
    assert "without options the knowledge base is asked" in told["conclusion"][0]


def test_text_has_figures_ranges_reasons_and_assumptions(gamekit: Command) -> None:
    """The table has a line a figure; below it stand what is not there and what was assumed."""
    text = gamekit(
        "predict", "--steps", "2", "--verify-ms", "30", "--accuracy", "0.6:0.7", "--baseline", "82"
    )
    lines = text.splitlines()
    assert any(
        line.split() == ["break-even", "accept", "length", "2.46", "tok/cycle"] for line in lines
    )
    assert any(line.startswith("accept length ") and "1.96 to 2.19" in line for line in lines)
    assert "  target: unknown because no target was given" in lines
    assert any("leaves drafting and overhead out" in line for line in lines)


def test_accuracies_a_step_give_the_number_of_steps(gamekit: Command) -> None:
    """Several accuracies are one a step, each a number or a range."""
    told = parsed(gamekit("predict", "--accuracy", "0.8,0.5:0.7", "--json"))
    assert told["steps"] == 2
    assert (told["accept_len"]["low"], told["accept_len"]["high"]) == (2.2, 2.36)


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_without_options_the_knowledge_base_answers(
    base: Path, gamekit: Command, arguments: tuple[str, ...]
) -> None:
    """The findings that gamekit.yaml names are computed with; an unknown one says whose it is."""
    path = base / "gamekit.yaml"
    path.write_text(path.read_text(encoding="utf-8") + MODEL, encoding="utf-8")
    text = gamekit("predict", *arguments)
    reason = "unknown because [cost]: nobody measured it"
    if not arguments:
        assert reason in " ".join(text.split())
        assert "baseline: rate" in text
        return
    told = parsed(text)
    assert told["cycle_ms"] is None
    assert told["reasons"]["cycle_ms"] == reason
    assert told["baseline_tok_s"] == {"low": 82, "mid": 82.5, "high": 83, "unit": "tok/s"}
    assert told["with_rounding"]["baseline_tok_s"]["low"] == 81.5
    assert told["findings"]["baseline"] == "rate"
    assert "draft steps" in told["reasons"]["ceiling_tok_s"]


def test_a_new_knowledge_base_knows_nothing_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gamekit: Command
) -> None:
    """Without a model in gamekit.yaml every figure is unknown, and the role to fill is named."""
    begin(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    told = parsed(gamekit("predict", "--json"))
    assert all(told[key] is None for key in KEYS)
    assert "model.baseline" in told["reasons"]["baseline_tok_s"]


def test_numbers_leave_the_knowledge_base_alone(base: Path, gamekit: Command) -> None:
    """With any option nothing is read, so that a broken knowledge base does not matter."""
    (base / "gamekit.yaml").write_text("schema: [", encoding="utf-8")
    told: dict[str, Any] = parsed(gamekit("predict", "--steps", "2", "--json"))
    assert told["baseline_tok_s"] is None
    assert told["findings"] == {}


def test_outside_a_knowledge_base_numbers_are_asked_for(refused: Callable[..., str]) -> None:
    """Without options and without a knowledge base the error says which options to give."""
    line = refused(2, "predict")
    assert "no knowledge base here" in line
    assert "--cycle-ms" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["--accept-len", "3.2", "--steps", "2"],
        ["--accept-len", "2", "--accuracy", "0.5"],
        ["--accuracy", "64", "--steps", "2"],
        ["--accuracy", "0.5,", "--steps", "2"],
        ["--cycle-ms", "30", "--draft-ms", "1"],
        ["--baseline", "82-83"],
        ["--baseline", "83:82"],
        ["--baseline", "80:82:83"],
        ["--baseline", "-82"],
        ["--baseline", "0"],
        ["--target", "nan"],
        ["--target", "inf"],
        ["--steps", "0"],
        ["--steps", "2.5"],
        ["surplus"],
    ],
)
def test_wrong_numbers_are_one_line_and_exit_2(
    refused: Callable[..., str], arguments: list[str]
) -> None:
    """What no chain can have, and what is no number, is a usage error that says how to go on."""
    line = refused(2, "predict", *arguments)
    assert line.count("\n") == 1
    assert "; " in line
