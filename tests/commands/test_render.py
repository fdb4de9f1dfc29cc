"""``gamekit render``: writes, judges, shows differences, and never loses a hand edit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Command


@pytest.fixture
def rendered(base: Path, gamekit: Command) -> Path:
    """The small knowledge base, rendered."""
    gamekit("render")
    return base


def edit(path: Path) -> str:
    """Edit a document by hand."""
    text = path.read_text(encoding="utf-8").replace("82", "97")
    path.write_text(text, encoding="utf-8")
    return text


def test_a_fresh_rendering_is_clean(rendered: Path, gamekit: Command) -> None:
    """After render, --check and --diff have nothing to say."""
    assert "every document is as the findings say" in gamekit("render", "--check")
    assert "every document is as the findings say" in gamekit("render", "--diff")


def test_a_changed_finding_makes_documents_stale(
    rendered: Path, gamekit: Command, refused: Callable[..., str]
) -> None:
    """A new figure is stale under --check (exit 3), shown by --diff, and written by render."""
    path = rendered / "findings" / "rates.yaml"
    text = path.read_text(encoding="utf-8").replace("low: 82, high: 83", "low: 71, high: 72")
    path.write_text(text, encoding="utf-8")
    plan = (rendered / "game-plan.md").read_bytes()
    assert "gamekit render" in refused(3, "render", "--check")
    assert "71" in gamekit("render", "--diff")
    assert (rendered / "game-plan.md").read_bytes() == plan
    gamekit("render")
    gamekit("render", "--check")


def test_a_hand_edit_is_kept_and_shown(rendered: Path, refused: Callable[..., str]) -> None:
    """A document edited by hand is exit 3 for render as well, and stays byte for byte."""
    page = rendered / "docs" / "findings" / "rates.md"
    edited = edit(page)
    assert "edited by hand" in refused(3, "render", "--check")
    assert "--force" in refused(3, "render")
    assert page.read_text(encoding="utf-8") == edited


def test_force_replaces_a_hand_edit_and_puts_it_aside(rendered: Path, gamekit: Command) -> None:
    """--force writes the document, and the edited text can still be found."""
    page = rendered / "docs" / "findings" / "rates.md"
    edited = edit(page)
    gamekit("render", "--force")
    gamekit("render", "--check")
    kept = [path for path in (rendered / ".gamekit").rglob("*") if path.is_file()]
    assert edited in [path.read_text(encoding="utf-8") for path in kept]


def test_a_missing_and_an_orphaned_document_are_told_apart(
    rendered: Path, refused: Callable[..., str]
) -> None:
    """A committed document that is gone is missing; a page that nothing renders is orphaned."""
    (rendered / "game-plan.md").unlink()
    assert "missing" in refused(3, "render", "--check")
    (rendered / "findings" / "rates.yaml").unlink()
    assert "1 orphaned" in refused(3, "render", "--check")


def test_render_settles_a_merge(rendered: Path, gamekit: Command) -> None:
    """Two branches with findings of their own merge with no conflict but the derived files'.

    Those keep one side without markers, and rendering gives what the merged findings say.
    """

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *identity, *arguments],  # noqa: S607 - the git of this machine
            cwd=rendered,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit_change(old: str, new: str) -> None:
        path = rendered / "findings" / "rates.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        gamekit("render")
        git("add", "--all")
        assert git("commit", "-q", "-m", new).returncode == 0

    git("init", "-q", "-b", "main")
    commit_change("title: Rates", "title: Rates measured")
    git("checkout", "-q", "-b", "other")
    commit_change("value: 50, unit", "value: 51, unit")
    git("checkout", "-q", "main")
    commit_change("low: 82, high: 83", "low: 71, high: 72")
    merge = git("merge", "other")
    assert merge.returncode == 1
    unmerged = git("diff", "--name-only", "--diff-filter=U").stdout.split()
    assert set(unmerged) <= {"game-plan.md", "llms.txt", "findings/findings.schema.json"}
    assert "game-plan.md" in unmerged
    gamekit("render")
    gamekit("render", "--check")
    page = (rendered / "docs" / "findings" / "rates.md").read_text(encoding="utf-8")
    assert "51" in page
    assert "71" in page
