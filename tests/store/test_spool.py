"""Spools: what a run has seen survives a kill, and live runs are left alone."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
from writing import beginning, sampled

from gamekit.errors import FindingError
from gamekit.store.load import load
from gamekit.store.plain import DEEPEST, plain
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


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('{"event": "begin"}\n', "it does not say 'benchmark'"),
        ("", "it does not say what began"),
        ("[" * 100_000, "RecursionError"),
    ],
)
def test_a_spool_that_cannot_be_read_is_set_aside(root: Path, lines: str, why: str) -> None:
    """What gamekit did not write as it stands is not recorded and not deleted: it is renamed."""
    strange = root / SPOOL_FOLDER / "20261130-000000-x-000000.jsonl"
    strange.parent.mkdir(parents=True)
    strange.write_text(lines)
    aside: list[tuple[Path, str]] = []
    assert recover(root, lambda path, why: aside.append((path, why))) == []
    ((path, said),) = aside
    assert why in said
    assert path.read_text() == lines
    assert recover(root, lambda path, why: pytest.fail(f"{path} again: {why}")) == []


@pytest.mark.parametrize(
    "value", [str(2**70), "1e400", f"{'[' * 90}{']' * 90}", '"\\ud800"', '{"a": 1}']
)
def test_a_sample_that_no_run_file_holds_blocks_no_other_run(root: Path, value: str) -> None:
    """Its spool is set aside, and the run that was killed after it is recorded."""
    spool = Spool(root, beginning())
    spool.event("case", case=0, parameters={}, subject={})
    spool.event("sample", case=0, values={"decode_rate": 82.0})
    spool.close()
    bad = root / SPOOL_FOLDER / f"{spool.run_id}.jsonl"
    bad.write_text(bad.read_text().replace("82.0", value))
    sampled(root, append=False)
    aside: list[str] = []
    assert len(recover(root, lambda path, _: aside.append(path.name))) == 1
    assert aside == [f"{bad.name}.bad"]
    assert [path.name for path in spools(root)] == aside
    assert len(load(root).runs) == 1


def test_what_a_kill_left_before_the_spool_had_a_name_is_cleared(root: Path) -> None:
    """An unnamed spool that nobody has locked is removed; that of a beginning run is left."""
    folder = root / SPOOL_FOLDER
    folder.mkdir(parents=True)
    (folder / ".dead.000000.tmp").write_text("half")
    with (folder / ".live.000000.tmp").open("w") as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        recover(root)
        assert [path.name for path in spools(root)] == [".live.000000.tmp"]


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


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (2**63, "beyond 64 bits"),
        ({1, 2}, "a set cannot be recorded"),
        (float("inf"), "infinity"),
        ({"k" * 2000: 1}, "a key of more than"),
    ],
)
def test_what_no_run_file_holds_is_not_plain(value: object, why: str) -> None:
    """What the writer would refuse is refused when it is measured."""
    with pytest.raises(FindingError, match=why):
        plain({"a": [value]})


def test_plain_data_nested_deeper_than_a_run_file_is_refused() -> None:
    """A structure that contains itself is refused as too deep, and the deepest allowed is kept."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(FindingError, match="nested more than"):
        plain(endless)
    deep: object = 1
    for _ in range(DEEPEST):
        deep = [deep]
    assert plain(deep) == deep
