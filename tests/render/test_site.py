"""The site as it is built: strict, complete, and without anything fetched from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gamekit.findings import Case, Environment
from gamekit.render.documents import render
from gamekit.render.pages import rendered_documents
from gamekit.store.load import load

from .living import REPOSITORY, baseline_run, copy_of_repository, put

FETCHED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*\brel="(?:stylesheet|preconnect)"[^>]*href="(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's site, with a measured run, built strictly for reading from files."""
    root = tmp_path_factory.mktemp("site")
    copy_of_repository(root)
    put(root, baseline_run([69.8, 70.1, 70.3, 69.9, 70.2, 70.0]))
    shutil.copytree(
        REPOSITORY / "docs",
        root / "docs",
        ignore=shutil.ignore_patterns("plan", "findings", "history", "benchmarks", "decision"),
    )
    shutil.copy(REPOSITORY / "mkdocs.yml", root)
    render(root)
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", "built"],
        cwd=root,
        env={**os.environ, "OFFLINE": "true", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return root / "built"


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    """No page loads a script, picture or style sheet from another host."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert not FETCHED.search(page.read_text(encoding="utf-8")), page


def test_every_finding_has_its_place_on_the_site(site: Path) -> None:
    """Each finding's id is an anchor of exactly one page below findings/."""
    anchors = [
        name
        for page in (site / "findings").rglob("*.html")
        for name in re.findall(r'<a id="([^"]+)"></a>', page.read_text(encoding="utf-8"))
    ]
    ids = re.findall(
        r"^  - id: (\S+)$",
        "\n".join(path.read_text() for path in (site.parent / "findings").glob("*.yaml")),
        re.M,
    )
    assert len(ids) > 100
    assert set(ids) <= set(anchors)
    assert len(set(anchors)) == len(anchors)


def test_ages_are_added_by_the_browser(site: Path) -> None:
    """Pages carry dates that a script can age; no age is in the page itself."""
    page = next((site / "findings").glob("measured-*.html")).read_text(encoding="utf-8")
    assert '<time datetime="2026-12-01">2026-12-01</time>' in page
    assert "days ago" not in page


def test_a_run_shows_the_start_of_its_engine() -> None:
    """The command, and what the start told: seconds, memory, graphs."""
    documents, _ = rendered_documents(load(REPOSITORY))
    (page,) = [one.text for one in documents if one.path == "docs/findings/measured-2026-11.md"]
    shown = page.partition("## Run `20261130-183130-serving-decode-9511c6`")[2].partition("## Run")[
        0
    ]
    started = shown.partition("Started for it:")[2]
    assert "--speculative-num-steps 5" in started
    assert '"start_up_s": 106.081' in started
    assert '"verify": "captured"' in started


def test_the_history_says_which_key_numbers_rest_on_a_boot_that_is_gone(tmp_path: Path) -> None:
    """A later boot of the host, seen by a run of any series, makes the boot of a figure gone."""
    root = copy_of_repository(tmp_path)
    boots = [Environment(engine="sglang", engine_version="0.5.15", boot=name) for name in "ab"]
    put(root, baseline_run([82.0, 82.1, 82.2, 82.3, 82.4], number=1, environment=boots[0]))

    def row(name: str) -> str:
        documents, _ = rendered_documents(load(root))
        (page,) = [one.text for one in documents if one.path == "docs/history/index.md"]
        table = page.partition("rest on a boot that is gone")[2].partition("\n## ")[0]
        (found,) = [line for line in table.splitlines() if f"[{name}]" in line]
        return found

    assert "| the newest known |" in row("baseline-decode-rate")
    # That of the verify time is told, and no longer the newest.
    assert "| **gone** |" in row("verify-time")
    put(root, baseline_run([1.0], number=2, environment=boots[1]))
    assert "| **gone** |" in row("baseline-decode-rate")
    assert "| unknown |" in row("eagle3-decode-rate")


def test_a_warning_of_all_cases_of_a_sweep_is_shown_once(tmp_path: Path) -> None:
    """Two cases with one warning in common and one of its own: two lines, in their order."""
    root = copy_of_repository(tmp_path)
    record = baseline_run([69.8, 70.1, 70.3, 69.9, 70.2])
    cases = [Case(warnings=["random ids"]), Case(warnings=["random ids", "others waited"])]
    put(root, replace(record, run=record.run.model_copy(update={"cases": cases})))
    documents, _ = rendered_documents(load(root))
    (page,) = [one.text for one in documents if record.run.id in one.text and "Each is" in one.text]
    shown = page[page.index(record.run.id) :]
    assert [line for line in shown.splitlines() if line.startswith("- ")] == [
        "- random ids",
        "- others waited",
    ]
