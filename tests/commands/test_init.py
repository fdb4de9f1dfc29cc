"""``gamekit init``: a new knowledge base that works at once and harms nothing that is there."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from gamekit.commands.failures import run
from gamekit.store.begin import begin


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new knowledge base, which is the current folder."""
    folder = tmp_path / "base"
    assert run(["init", str(folder)]) == 0
    monkeypatch.chdir(folder)
    return folder


def test_a_new_knowledge_base_passes_at_once(begun: Path) -> None:
    """Check and render succeed on what init wrote, and a second render changes nothing."""
    assert run(["check"]) == 0
    assert run(["render", "--check"]) == 0
    before = {path: path.stat().st_mtime_ns for path in begun.rglob("*") if path.is_file()}
    assert run(["render"]) == 0
    assert run(["render", "--check"]) == 0
    assert {path: path.stat().st_mtime_ns for path in begun.rglob("*") if path.is_file()} == before


def test_what_comes_next_can_be_typed_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is sent to the folder he is in, and a name with a space is quoted."""
    monkeypatch.chdir(tmp_path)
    assert run(["init", "my server"]) == 0
    assert "\nnext: cd 'my server', then: gamekit bench" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert run(["init", "."]) == 0
    assert "\nnext: gamekit bench" in capsys.readouterr().out


def test_the_schema_that_findings_files_name_is_there(begun: Path) -> None:
    """The JSON Schema named in the first line of a findings file lies beside it."""
    assert (begun / "findings" / "findings.schema.json").is_file()
    first = (begun / "findings" / "questions.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first.endswith("$schema=findings.schema.json")


def test_a_folder_that_holds_a_knowledge_base_is_refused(
    begun: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second init exits 2 and leaves every byte as it is."""
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run(["init", str(begun)]) == 2
    assert "gamekit.yaml" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()} == before


def test_foreign_files_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that were there stay byte for byte, and the user is told."""
    (tmp_path / "AGENTS.md").write_text("mine", encoding="utf-8")
    (tmp_path / "train.py").write_text("mine too", encoding="utf-8")
    assert run(["init", str(tmp_path)]) == 0
    assert (tmp_path / "AGENTS.md").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == "mine too"
    assert "kept  AGENTS.md" in capsys.readouterr().out


def test_an_interrupted_init_can_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gamekit.yaml, which makes a folder a knowledge base, is the last file to be written."""
    real = os.link
    linked: list[str] = []

    def interrupted(source: Path, target: Path) -> None:
        linked.append(target.name)
        if target.name == "gamekit.yaml":
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr("gamekit.store.append.os.link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path)
    assert len(linked) == len(set(linked)) > 5
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {*linked[:-1]}
    monkeypatch.undo()
    assert begin(tmp_path).written == ("gamekit.yaml",)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """DIR names a file: exit 2."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(["init", str(tmp_path / "file")]) == 2


def test_a_folder_that_cannot_be_made_is_the_machine_refusing(tmp_path: Path) -> None:
    """A path below a file cannot be made: exit 7, one line."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(["init", os.fspath(tmp_path / "file" / "below")]) == 7


def test_the_guide_of_a_new_knowledge_base_is_true(begun: Path) -> None:
    """What the guide shows is taken by check, and the page on benchmarks claims no folder."""
    guide = (begun / "docs" / "guide.md").read_text(encoding="utf-8")
    shown = textwrap.dedent(guide.split("```yaml")[1].split("```")[0])
    lines = ["schema: 1", "findings:", *(f"  {line}" for line in shown.splitlines() if line)]
    (begun / "findings" / "shown.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(["check"]) == 0
    assert "(guide.md)" in (begun / "docs" / "index.md").read_text(encoding="utf-8")
    assert "retry_when" in (begun / "AGENTS.md").read_text(encoding="utf-8")
    page = (begun / "docs" / "benchmarks" / "index.md").read_text(encoding="utf-8")
    assert not (begun / "benchmarks").exists()
    assert "gamekit brings along" in page
    assert "| `api` | found out |" in page
    assert "| `input_ids` | not set |" in page
