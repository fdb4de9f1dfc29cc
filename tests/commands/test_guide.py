"""The examples of the guide on adding things work as they are printed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from gamekit.commands.failures import run

REPOSITORY = Path(__file__).resolve().parents[2]
GUIDE = (REPOSITORY / "docs/guide/adding.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    """The fenced blocks of the guide in ``language``."""
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository's curated findings, as the current folder."""
    shutil.copytree(
        REPOSITORY / "findings",
        tmp_path / "findings",
        # Measured runs, and what is computed from them.
        ignore=shutil.ignore_patterns("measured", "lab"),
    )
    shutil.copy(REPOSITORY / "gamekit.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_findings_of_the_guide_can_be_pasted(repository: Path, gamekit) -> None:
    """Both YAML examples, put at the end of the baselines, are valid and do what the text says."""
    measurement, review = examples("yaml")
    path = repository / "findings" / "baselines.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "\n" + measurement, encoding="utf-8")
    gamekit("check")
    added = json.loads(gamekit("query", "--subject", "host=kimi-pcie8", "baseline", "--json"))
    assert "baseline-after-driver-update" in json.dumps(added)
    path.write_text(path.read_text(encoding="utf-8") + "\n" + review, encoding="utf-8")
    gamekit("check")
    shown = gamekit("show", "baseline-after-driver-update")
    assert "disputed" in shown
    assert "baseline-decode-rate" in shown


def test_the_benchmark_of_the_guide_runs_and_is_recorded(base: Path, gamekit) -> None:
    """The example benchmark, copied as it is, measures, and its run carries unit and subject."""
    (program,) = examples("python")
    (base / "benchmarks").mkdir(exist_ok=True)
    (base / "benchmarks" / "read_speed.py").write_text(program, encoding="utf-8")
    assert run(["bench", "read_speed", "--set", "size=1", "--append"]) == 0
    (file,) = (base / "findings" / "measured").rglob("*.yaml")
    text = file.read_text(encoding="utf-8")
    assert "read_rate" in text
    assert "unit: MiB/s" in text
    assert "one file, read whole" in text
    assert gamekit("check")
