"""Appending: one new file, whole or not at all, however many write and whoever is killed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import record

from gamekit.errors import FindingError, MachineRefused
from gamekit.findings import Measurement
from gamekit.store.append import append_run, put_run_file
from gamekit.store.load import load
from gamekit.store.plain import plain
from gamekit.strict_yaml import read_yaml

WRITING = Path(__file__).parent / "writing.py"


def in_process(what: str, folder: Path, *numbers: int) -> Any:
    command = [sys.executable, str(WRITING), what, str(folder), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "findings").mkdir()
    (tmp_path / "gamekit.yaml").write_text("schema: 1\ntitle: T\nplan: plan.md\n")
    return tmp_path


def test_a_run_file_reads_back_equal(root: Path) -> None:
    """What the loader reads from a run file equals the record that was appended."""
    written = append_run(root, record())
    base = load(root)
    assert base.runs == {written.run.id: written.run}
    assert tuple(one.finding for one in base.records.values()) == written.findings


def test_a_run_file_lies_in_the_folder_of_its_month(root: Path) -> None:
    """The file is named after the run and lies in the month in which the run began, in UTC."""
    written = append_run(root, record())
    assert (root / "findings/measured/2026-11" / f"{written.run.id}.yaml").is_file()


def test_a_run_file_names_its_schema_relatively(root: Path) -> None:
    """The schema comment leads from the run file to findings/findings.schema.json."""
    written = append_run(root, record())
    first = (root / written.file).read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../findings.schema.json"
    named = (root / written.file).parent / first.partition("=")[2]
    assert named.resolve() == (root / "findings/findings.schema.json").resolve()


def test_an_id_that_is_taken_is_drawn_again(root: Path) -> None:
    """A collision changes no existing byte: the second run gets another id, in all its parts."""
    first = append_run(root, record("20261130-123015-serving-decode-abcdef"))
    before = (root / first.file).read_bytes()
    second = append_run(root, record("20261130-123015-serving-decode-abcdef", [1.0, 2.0]))
    assert (root / first.file).read_bytes() == before
    assert second.run.id != first.run.id
    finding = second.findings[0]
    assert finding.id == f"{second.run.id}.decode_rate"
    assert load(root).records[finding.id].finding == finding


def test_putting_a_file_never_replaces_one(root: Path) -> None:
    """Without another id the file that exists stays, and the attempt fails."""
    one = record("20261130-123015-serving-decode-abcdef")
    put_run_file(root, one)
    with pytest.raises(FileExistsError):
        put_run_file(root, one)
    assert [path.name for path in (root / one.file).parent.iterdir()] == [f"{one.run.id}.yaml"]


def test_twenty_writers_at_once_give_twenty_findings(root: Path) -> None:
    """Twenty processes that append at one moment each leave one whole run."""
    answer = in_process("many_at_once", root, 20)
    assert answer["codes"] == [0] * 20
    base = load(root)
    assert len(base.runs) == 20
    assert sum(isinstance(one.finding, Measurement) for one in base.records.values()) == 20


def test_a_kill_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    """Killed at any file event a run leaves nothing or a whole file, and recovery makes it one."""
    answer = in_process("killed_everywhere", tmp_path)
    assert answer["torn"] == []
    assert answer["deaths"] > 10


def test_two_recoveries_at_once_make_one_file(root: Path) -> None:
    """Several processes that recover one dead run write one failed run with its raw samples."""
    answer = in_process("recovered_at_once", root, 4)
    assert answer == {"codes": [0] * 4, "files": 1}
    base = load(root)
    (run,) = base.runs.values()
    assert (run.outcome, run.cases[0].samples) == ("failed", {"decode_rate": [82.0, 83.0]})
    (kept,) = (one.finding for one in base.records.values())
    assert isinstance(kept, Measurement)
    assert kept.value.unknown == run.reason
    assert kept.subject.host == "bench-host"


def test_a_disk_that_takes_no_more_is_told_and_leaves_nothing(root: Path) -> None:
    """Where the system refuses the bytes the error is the machine's, and no file is left."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(MachineRefused, match="cannot be written") as refused:
            append_run(root, record())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.exit_code == 7
    assert list((root / "findings/measured/2026-11").iterdir()) == []


def test_a_folder_that_is_a_file_is_told(root: Path) -> None:
    """Where findings/measured cannot be a folder the error is one line that names it."""
    (root / "findings/measured").write_text("")
    with pytest.raises(MachineRefused, match="findings/measured"):
        append_run(root, record())


def test_numpy_scalars_are_written_as_plain_numbers(root: Path) -> None:
    """Samples that came from numpy read back as the plain numbers they hold."""
    samples = plain(np.array([1.5, 2.5, 3.25]))
    written = append_run(root, record(samples=samples))
    data = read_yaml(root / written.file).data
    assert data["findings"][0]["value"]["samples"] == [1.5, 2.5, 3.25]


@given(
    st.one_of(
        st.integers(-(2**62), 2**62).map(np.int64),
        st.floats(allow_nan=False, allow_infinity=False).map(np.float64),
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
        st.booleans().map(np.bool_),
    )
)
def test_plain_keeps_the_value_and_loses_the_type(scalar: Any) -> None:
    """A numpy scalar becomes the Python object that equals it."""
    value = plain({"a": [scalar]})["a"][0]
    assert type(value) in (int, float, bool)
    assert value == scalar


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), np.float64("nan"), np.float32("inf")]
)
def test_what_is_no_measurement_is_refused_with_its_place(value: float) -> None:
    """NaN and infinity are refused, and the error names the field."""
    with pytest.raises(FindingError, match=r"sample\.rate\[1\]: (NaN|infinity) is not a number"):
        plain({"rate": [1.0, value]}, "sample")
