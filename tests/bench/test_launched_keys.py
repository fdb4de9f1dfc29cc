"""Keys in the command of an engine are recorded nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_launch import bench, run_of, script
from workbench import knowledge_base


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return knowledge_base(tmp_path / "kb")


@pytest.mark.parametrize("key", ["hush-hush-1", "4711081512", "0815471108", "4711e2", "k1x2"])
@pytest.mark.parametrize(
    "form",
    [
        "{engine} --api-key {{k}}",
        "sh -c 'exec {engine} --api-key {{k}} --port {{port}}'",
        "sh -c 'MY_TOKEN=one-of-another exec {engine} --api-key {{k}} --port {{port}}'",
    ],
)
def test_keys_are_not_recorded(root: Path, tmp_path: Path, key: str, form: str) -> None:
    """A key of the command is in no part of the run file, also where the engine prints it.

    Nor where it consists of digits, or stands within the command of a shell.
    """
    command = form.format(engine=script(tmp_path))
    (outcome,) = bench(root, command, settings=[f"k={key}"], append=True)
    assert outcome.file is not None
    text = (root / outcome.file).read_text(encoding="utf-8")
    assert "my key is [redacted]" in text
    for shown in (key, key.lstrip("0"), "471100"):
        assert shown not in text


def test_a_short_key_is_hidden_by_the_name_of_its_flag(root: Path, tmp_path: Path) -> None:
    """A key too short to be looked for in texts is no parameter of the run either."""
    (outcome,) = bench(root, f"{script(tmp_path)} --api-key {{k}}", settings=["k=4711"])
    launch = run_of(outcome).launch
    assert launch is not None
    assert launch.parameters == {"k": "[redacted]"}


def test_what_a_placeholder_of_a_secret_name_stands_for_is_not_recorded(
    root: Path, tmp_path: Path
) -> None:
    """Its own name says what it is, where the variable that it fills does not."""
    key = "hush-hush-22"
    command = f"HEADER={{token}} {script(tmp_path)}"
    (outcome,) = bench(root, command, settings=[f"token={key}"], append=True)
    assert run_of(outcome).outcome == "done"
    assert outcome.file is not None
    assert key not in (root / outcome.file).read_text(encoding="utf-8")
