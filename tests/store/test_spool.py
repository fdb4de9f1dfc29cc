"""Spools: what a run has seen survives a kill, and live runs are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from writing import beginning, sampled

from gamekit.errors import FindingError
from gamekit.store.load import load
from gamekit.store.spool import SPOOL_FOLDER, Spool, recover


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "findings").mkdir()
    (tmp_path / "gamekit.yaml").write_text("schema: 1\ntitle: T\nplan: plan.md\n")
    return tmp_path


def spools(root: Path) -> list[Path]:
    return sorted((root / SPOOL_FOLDER).iterdir())


def test_a_live_run_is_left_alone(root: Path) -> None:
    """The spool of a run that goes on is neither recovered nor removed."""
    spool = Spool(root, beginning())
    assert recover(root) == []
    assert [path.stem for path in spools(root)] == [spool.run_id]
    spool.remove()
    spool.close()


def test_events_are_on_the_disk_when_they_are_told(root: Path) -> None:
    """Each event is a line of JSON that another process could read at once."""
    spool = Spool(root, beginning())
    spool.event("sample", case=0, values={"decode_rate": 82.0})
    lines = [json.loads(line) for line in spools(root)[0].read_text().splitlines()]
    assert [line["event"] for line in lines] == ["begin", "sample"]
    spool.remove()
    spool.close()


def test_a_dead_run_becomes_a_failed_one(root: Path) -> None:
    """What was sampled is kept raw, the figure is unknown, and the spool is gone."""
    spool = Spool(root, beginning())
    spool.event("case", case=0, parameters={}, subject={"host": "bench-host"})
    spool.event("sample", case=0, values={"decode_rate": 82.0})
    spool.event("sample", case=0, values={"error": "reset"})
    spool.close()
    (record,) = recover(root)
    assert record.run.cases[0].samples == {"decode_rate": [82.0, None], "error": [None, "reset"]}
    assert load(root).runs[record.run.id].outcome == "failed"
    assert spools(root) == []


def test_a_line_that_the_kill_cut_off_is_left_out(root: Path) -> None:
    """Half a last line loses that line and nothing before it."""
    spool = Spool(root, beginning())
    spool.event("case", case=0, parameters={}, subject={})
    spool.event("sample", case=0, values={"decode_rate": 82.0})
    spool.event("sample", case=0, values={"decode_rate": 83.0})
    spool.close()
    path = spools(root)[0]
    path.write_bytes(path.read_bytes()[:-20])
    (record,) = recover(root)
    assert record.run.cases[0].samples == {"decode_rate": [82.0]}


def test_a_run_killed_before_its_first_sample_is_recorded_too(root: Path) -> None:
    """A spool that only says that a run began gives a failed run without samples."""
    Spool(root, beginning()).close()
    (record,) = recover(root)
    assert (record.run.outcome, record.run.cases) == ("failed", [])


def test_a_spool_that_cannot_be_read_is_left(root: Path) -> None:
    """What gamekit did not write as it stands is neither recorded nor deleted."""
    sampled(root, append=True)
    strange = root / SPOOL_FOLDER / "20261130-000000-x-000000.jsonl"
    strange.write_text('{"event": "begin"}\n')
    assert recover(root) == []
    assert strange.exists()


def test_git_ignores_the_spool(root: Path) -> None:
    """The folder of spools ignores itself, so that no half run is committed."""
    sampled(root, append=True)
    assert (root / ".gamekit/.gitignore").read_text() == "*\n"


def test_a_sample_that_is_no_number_is_refused(root: Path) -> None:
    """NaN reaches no spool."""
    spool = Spool(root, beginning())
    with pytest.raises(FindingError, match="NaN"):
        spool.event("sample", case=0, values={"decode_rate": float("nan")})
    spool.remove()
    spool.close()
