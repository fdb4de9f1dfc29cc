"""The plan's section on the model says what the findings say, and moves with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamekit.render.pages import rendered_documents
from gamekit.store.load import load

from .living import PLAN, REPOSITORY, copy_of_repository, section

HEADING = "Does the model hold?"


def plan_of(root: Path) -> str:
    documents, _ = rendered_documents(load(root))
    (plan,) = [document.text for document in documents if document.path == PLAN]
    return plan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of_repository(tmp_path)


def change(root: Path, file: str, old: str, new: str) -> None:
    path = root / "findings" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_section_shows_this_host_and_what_it_leaves_open(root: Path) -> None:
    """Cycle with its rounding, verify and the rest together, and unknown spread and growth."""
    text = section(plan_of(root), HEADING)
    for said in (
        "**32.8 to 33.9 ms** (32 to 35) at 2 steps",
        "workload and concurrency untold",
        "spread unknown (no samples)",
        "2.8 to 3.9 ms (1 to 6)",
        "With more steps: unknown.",
    ):
        assert said in text, said
    assert len(text.encode()) <= 1200


def test_the_section_follows_the_reported_figures(root: Path) -> None:
    """Another reported rate gives another cycle, without anything else being touched."""
    change(root, "speculation.yaml", "{low: 59, high: 61,", "{low: 79, high: 81,")
    assert "24.7 to 25.3 ms" in section(plan_of(root), HEADING)


def test_the_section_follows_what_was_measured_elsewhere(root: Path) -> None:
    """A server that is much slower at one length is an error beyond the noise."""
    text = section(plan_of(root), HEADING)
    assert "%, within the noise of requests" in text
    change(root, "recordings.yaml", "samples: [684, 674, 682]", "samples: [384, 374, 382]")
    documents, _ = rendered_documents(load(root))
    texts = {document.path: document.text for document in documents}
    assert "%, in part beyond the noise" in section(texts[PLAN], HEADING)
    page = section(texts["docs/decision/index.md"], HEADING)
    assert "| 2 | 5.26 |" in page
    assert "No cycle time carries over" in page


def test_without_recordings_and_a_pair_the_section_says_so(root: Path) -> None:
    """Nothing to predict leaves no table, and a rate alone calibrates nothing."""
    (root / "findings" / "recordings.yaml").unlink()
    change(root, "speculation.yaml", "{value: 2.0, unit", "{unknown: nobody counted it, unit")
    text = section(plan_of(root), HEADING)
    assert "T is not calibrated" in text
    assert "Elsewhere" not in text


def test_errors_on_others_subjects_are_no_conclusions_of_the_plan(root: Path) -> None:
    """What is computed from published figures alone stays on its own page."""
    plan = plan_of(root)
    assert "h200-model-error" not in plan
    page = next(
        document.text
        for document in rendered_documents(load(root))[0]
        if document.path == "docs/findings/recordings.md"
    )
    assert "h200-model-error-at2" in page


def test_the_real_runs_say_whether_the_model_holds() -> None:
    """On a target that the GPU binds every rate is predicted within 3 %, and the noise is told."""
    documents, _ = rendered_documents(load(REPOSITORY))
    texts = {document.path: document.text for document in documents}
    plan = section(texts[PLAN], HEADING)
    (dense,) = [line for line in plan.splitlines() if "llama-8b" in line]
    worst = re.search(r"err by (-?[\d.]+) to \+?(-?[\d.]+) %", dense)
    assert worst is not None
    assert max(abs(float(one)) for one in worst.groups()) < 3
    assert "within the noise between server starts" in dense
    assert "prefill included" not in plan
    page = section(texts["docs/decision/index.md"], HEADING)
    assert "prefill included" in page
