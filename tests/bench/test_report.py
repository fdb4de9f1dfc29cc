"""What a run is set against when others append at the same time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from workbench import COUNTING, knowledge_base

from gamekit.bench.report import against_their_series, knowledge_with
from gamekit.bench.runner import RunOutcome, run_benchmarks

# The rate is no matter of the subject: runs of two rates are of one series.
ONE_SERIES = COUNTING.replace('"tok/s")', '"tok/s", effort=True)')


def counted(root: Path, rate: float) -> RunOutcome:
    """A run of five rates that is appended to a base of its own."""
    knowledge_base(root, {"counting": ONE_SERIES})
    (outcome,) = run_benchmarks(root, ["counting"], settings=[f"rate={rate}"], append=True)
    assert outcome.record is not None
    assert outcome.record.run.outcome == "done", outcome.record.run.reason
    return outcome


@pytest.mark.parametrize("mine", [0, 1])
def test_of_two_runs_that_began_a_series_at_once_each_is_set_against_the_other(
    tmp_path: Path, mine: int
) -> None:
    """Whichever of the two files stands for the series, it is there without its own run."""
    roots = [tmp_path / "a", tmp_path / "b"]
    outcomes = [counted(roots[0], 80), counted(roots[1], 180)]
    for outcome in outcomes:
        assert outcome.file is not None
        for root in roots:
            if not (root / outcome.file).exists():
                shutil.copy(roots[outcomes.index(outcome)] / outcome.file, root / outcome.file)
    outcomes.sort(key=lambda one: one.file or "")
    knowledge = knowledge_with(roots[0], [outcomes[mine]])
    (found,) = against_their_series(knowledge, [outcomes[mine]]).values()
    assert found.outcome == "shifted"
    other = outcomes[1 - mine].record
    assert other is not None
    assert f"shifted against {other.run.id}.decode_rate" in found.words


def test_a_run_that_alone_began_its_series_is_set_against_nothing(tmp_path: Path) -> None:
    """The series did not exist before it."""
    outcome = counted(tmp_path / "a", 80)
    knowledge = knowledge_with(tmp_path / "a", [outcome])
    assert against_their_series(knowledge, [outcome]) == {}
