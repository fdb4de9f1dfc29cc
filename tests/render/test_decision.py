"""The decision in plan and site: the target, levers and options, and which conclusions moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.commands.failures import run
from gamekit.render import documents
from gamekit.render.pages import DECISION_PAGE, HISTORY_PAGE, LLMS_FILE, rendered_documents
from gamekit.store.load import load

from .living import PLAN, baseline_run, copy_of_repository, put, section

VERIFY = "value: {value: 30, unit: ms}"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = copy_of_repository(tmp_path_factory.mktemp("base"))
    return rendered_texts(root)


def rendered_texts(root: Path) -> dict[str, str]:
    """The documents that are texts, by path: figures are not drawn."""
    found, _ = rendered_documents(load(root))
    return {one.path: one.text for one in found if not one.path.endswith(".svg")}


def test_the_plan_says_that_no_drafter_can(texts: dict[str, str]) -> None:
    """While the ceiling is below the target, the plan says so and what would have to change."""
    told = section(texts[PLAN], "Levers and options")
    # 3 tokens in 2.0/61 to 2.0/59 s; 3, 4, 5 tokens at 150 tok/s.
    assert "No drafter can: the ceiling is 88.5 to 91.5 tok/s at 2 steps" in told
    assert "20 ms at 2, 26.7 ms at 3, 33.3 ms at 4" in told


def test_the_plan_shows_every_lever_with_its_assumption(texts: dict[str, str]) -> None:
    """One row a lever, and the doubt about the figure that the shorter verify rests on."""
    told = section(texts[PLAN], "Levers and options")
    rows = [line for line in told.splitlines() if line.startswith("| **")]
    assert len(rows) == 5
    (verify,) = [row for row in rows if "Shorten verify" in row]
    # 2.0 tokens in 19 + 2.8 to 3.9 ms
    assert "| 87 to 92 tok/s |" in verify
    assert "19 ms, superseded" in verify
    assert "not reproduced" in verify


def test_an_option_states_the_cycle_it_assumes(texts: dict[str, str]) -> None:
    """No rate of a published drafter without the cycle it is at, and the longest that pays."""
    told = section(texts[PLAN], "Levers and options")
    options = [line for line in told.splitlines() if line.startswith("- [The lightseekorg")]
    assert len(options) == 2
    for option in options:
        assert "if 3 steps took" in option
        assert "while a cycle is below" in option
    assert "vLLM" in options[1]
    # 3.809 / 83 to 3.809 / 82
    assert "45.9 to 46.5 ms" in options[0]


def test_a_measured_three_step_cycle_takes_the_place_of_the_assumption(tmp_path: Path) -> None:
    """A figure of the 3-step series: rates are at it, and nothing is said of favour."""
    root = copy_of_repository(tmp_path)
    path = root / "findings" / "verify_costs.yaml"
    path.write_text(
        path.read_text(encoding="utf-8")
        + """
  - id: three-steps-told
    kind: measurement
    title: A three-step cycle
    metric: cycle_time
    value: {value: 40, unit: ms}
    subject: {target: Kimi-K2.5, quantization: INT4, steps: 3, host: kimi-pcie8}
    series: cycle-time-three-steps
    source: {kind: person, name: Ada, said: "2026-12-01"}
""",
        encoding="utf-8",
    )
    told = section(rendered_texts(root)[PLAN], "Levers and options")
    assert "at the measured [40 ms]" in told
    # 3.809 tokens in 40 ms
    assert "95.2 tok/s on BFCL v3 multiple" in told
    assert "favourable" not in told


def test_without_a_model_the_page_says_so(tmp_path: Path) -> None:
    """A knowledge base without roles has a page and no figures, levers or options."""
    root = tmp_path / "new"
    assert run(["init", str(root)]) == 0
    found, _ = rendered_documents(load(root))
    texts = {one.path: one for one in found}
    assert "names no model" in texts[DECISION_PAGE].text
    assert not [path for path in texts if path.endswith(".svg")]


def test_llms_lists_the_conclusions(texts: dict[str, str]) -> None:
    """Order, sides, target, gates and claims stand in llms.txt, one a line."""
    told = texts[LLMS_FILE]
    for line in (
        "- order of the approaches: C, A, B",
        "- accept length against break-even: below",
        "- target rate: no drafter can",
        "- gate 1 of approach-c: unknown",
        "- claim verify-explains-rate: contradicted",
    ):
        assert line in told.splitlines()


def test_render_names_the_conclusions_that_moved_and_what_moved_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that puts the baseline below speculation is named beside the side that turned."""
    root = copy_of_repository(tmp_path)
    first = documents.render(root)
    assert first.changes == []
    record = baseline_run([50.0, 50.1, 49.9, 50.2, 49.8])
    put(root, record)
    monkeypatch.chdir(root)
    capsys.readouterr()
    assert run(["render"]) == 0
    shown = capsys.readouterr().out
    cause = record.findings[0].id
    for line in (
        f"conclusion: rate against no speculation: below → above, by {cause}",
        f"conclusion: accept length against break-even: below → above, by {cause}",
    ):
        assert line in shown.splitlines()
    assert documents.render(root).changes == []


def test_history_tells_what_each_figure_turned(texts: dict[str, str]) -> None:
    """The replay shows the early rate above the baseline, and the one that turned it."""
    told = texts[HISTORY_PAGE].partition("## How the conclusions came about")[2]
    steps = told.split("\n### ")
    (turned,) = [step for step in steps if "By [eagle3-reported]" in step]
    assert "- rate against no speculation: above → **below**" in turned
    # The early rate against the early baseline, and not against the one that replaced it.
    assert "[slowdown]: -5.62 % → **26 to 29 %**" in turned
