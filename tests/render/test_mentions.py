"""What a text shows where it mentions a finding, and which day the plan says it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.knowledge import build
from gamekit.render.links import Links
from gamekit.render.view import View
from gamekit.store.load import load

from .living import PLAN, baseline_run, copy_of_repository, put

REVIEW = """\
schema: 1
findings:
  - id: review-of-it
    kind: review
    title: What became of it
    verdict: {verdict}
    of: [{name}]
    reason: Another job was running on the host.
    author: a reviewer
    source: {{kind: person, name: a reviewer, said: "2026-12-09"}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of_repository(tmp_path)


def _view(root: Path) -> View:
    return View(build(load(root)), Links(PLAN))


def _review(root: Path, verdict: str, name: str) -> None:
    text = REVIEW.format(verdict=verdict, name=name)
    (root / "findings" / "reviews.yaml").write_text(text, encoding="utf-8")


def test_a_text_that_mentions_a_superseded_figure_says_so(root):
    """Whoever reads the text alone still sees that the figure is not to be quoted."""
    view = _view(root)
    assert view.line("It was [[eagle3-early]].") == "It was [94 tok/s, superseded][eagle3-early]."
    assert view.mention("eagle3-reported") == "[59 to 61 tok/s][eagle3-reported]"


@pytest.mark.parametrize(("verdict", "word"), [("retracts", "retracted"), ("disputes", "disputed")])
@pytest.mark.parametrize(
    ("name", "shown"), [("eagle3-reported", "59 to 61 tok/s"), ("question-boot", "What made")]
)
def test_a_mention_carries_what_a_review_made_of_it(root, verdict, word, name, shown):
    """Figures and titles that were retracted or disputed say so wherever a text mentions them."""
    _review(root, verdict, name)
    mention = _view(root).mention(name)
    assert mention.startswith(f"[{shown}")
    assert mention.endswith(f", {word}][{name}]")


def test_the_figure_of_a_series_is_linked_to_the_record_that_holds_it(root):
    """Whoever follows the link finds the value there, also after a new run."""
    assert _view(root).figure("baseline-decode-rate") == "[82 to 83 tok/s][baseline-reported]"
    run = baseline_run([69.8, 70.1, 70.3, 69.9, 70.2, 70.0])
    put(root, run)
    for shown in (_view(root).figure, _view(root).mention):
        assert shown("baseline-decode-rate").endswith(f"][{run.findings[0].id}]")


def test_a_series_without_a_figure_is_linked_itself(root):
    """Where nobody has measured anything yet, the link leads to the series."""
    view = _view(root)
    assert view.figure("probe-accept-length") == "[unknown][probe-accept-length]"
    assert view.mention("probe-accept-length").endswith("][probe-accept-length]")


def test_the_day_of_a_document_counts_the_reviews_behind_its_standings(root):
    """A review that made a figure what the document says of it is as new as what it prints."""
    _review(root, "disputes", "eagle3-reported")
    view = _view(root)
    view.mention("eagle3-reported")
    assert "review-of-it" in {record.id for record in view.dated()}
    assert "review-of-it" not in view.printed
