"""What ``gamekit bench`` says of a run against the current figure of the series it joined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Command, parsed

LEVELS = '''"""Gives the rates it is told, one a replicate."""

from gamekit.bench.module import Benchmark, Measures, Parameter


def measured(context):
    context.tell(workload="levels", concurrency=1)
    for step in range(10):
        level = context["rate"] if step < 5 else context["rate"] * context["later"]
        yield {"decode_rate": level + (-1) ** step * (step + 1) / 100}


BENCHMARK = Benchmark(
    name="levels",
    description="gives the figures it is told",
    measures=[Measures("decode_rate")],
    parameters=[
        Parameter("rate", float, 80.0, "the figure", unit="tok/s", effort=True),
        Parameter("later", float, 1.0, "what the second half is of it", effort=True),
    ],
    run=measured,
)
'''
SERIES = """\
schema: 1
findings:
  - id: levels-rate
    kind: series
    title: What levels measures on box
    metric: decode_rate
    unit: tok/s
    better: higher
    match: {workload: levels, concurrency: 1, host: box}
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""


@pytest.fixture
def bench(base: Path, gamekit: Command) -> Command:
    """Runs the benchmark against the declared series, and gives what it said in one line."""
    folder = base / "benchmarks"
    folder.mkdir(exist_ok=True)
    (folder / "levels.py").write_text(LEVELS, encoding="utf-8")
    (base / "findings" / "levels.yaml").write_text(SERIES, encoding="utf-8")

    def command(*settings: str) -> str:
        pairs = [word for pair in settings for word in ("--set", pair)]
        return gamekit("bench", "levels", "--subject", "host=box", "--append", *pairs)

    return command


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_first_run_has_nothing_to_be_compared_with(bench: Command) -> None:
    """A declared series without a figure says that there is none yet."""
    assert "no current figure to compare with: nothing has been measured" in one_line(bench())


def test_a_run_that_agrees_is_consistent_with_the_figure_by_name(bench: Command) -> None:
    """The figure, and how far the new one may lie from it; no review is proposed."""
    bench()
    told = one_line(bench())
    assert re.search(r"consistent with \S+-levels-\S+\.decode_rate \(.* tok/s\): \+?0\.0 %", told)
    assert "kind: review" not in told


def test_a_run_that_disagrees_prints_a_review_that_settles_it(
    bench: Command, base: Path, gamekit: Command
) -> None:
    """Pasted at the end of a topic file the review is valid, and the shift is settled by it."""
    bench()
    told = bench("rate=60")
    assert re.search(r"shifted against \S+ \(.*\) by -25 %, worse", one_line(told))
    assert "nothing that both recorded differs" in one_line(told)
    assert parsed(gamekit("show", "levels-rate", "--json"))["shifted"] is not None
    path = base / "findings" / "levels.yaml"
    review = told[told.index("  - id: review-") :]
    path.write_text(path.read_text(encoding="utf-8") + review, encoding="utf-8")
    assert "no errors" in gamekit("check")
    shown = parsed(gamekit("show", "levels-rate", "--json"))
    assert shown["shifted"] is None
    assert shown["value"]["mid"] == pytest.approx(60, abs=0.1)
    assert "verdict: disputes" in review


def test_a_run_of_two_states_is_noisy_and_leaves_the_figure(
    bench: Command, gamekit: Command
) -> None:
    """What changes within the run does not become the figure, and the line says why."""
    bench()
    told = one_line(bench("later=0.8"))
    assert "noisy, so that" in told
    assert "has two modes, 63.98" in told
    assert "changes over at sample 6" in told
    assert parsed(gamekit("show", "levels-rate", "--json"))["value"]["mid"] == pytest.approx(
        80, abs=0.1
    )


def test_without_append_there_is_no_review_to_write(
    bench: Command, base: Path, gamekit: Command
) -> None:
    """A run that is not recorded is compared all the same, and cannot be judged."""
    bench()
    told = gamekit("bench", "levels", "--subject", "host=box", "--set", "rate=60")
    assert "shifted against" in told
    assert "with --append it is recorded" in told
    assert "kind: review" not in told
