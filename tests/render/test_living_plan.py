"""The plan follows the findings: a new run moves it, a run that does not count does not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from gamekit.findings import Environment
from gamekit.render.documents import check, render
from gamekit.render.pages import rendered_documents
from gamekit.store.load import load
from gamekit.store.record import RunRecord
from gamekit.strict_yaml import write_yaml

from .living import PLAN, REPOSITORY, baseline_run, copy_of_repository, put, row, section

RATES = [69.8, 70.1, 70.3, 69.9, 70.2, 70.0]  # mean 70.05


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the knowledge base, rendered."""
    root = copy_of_repository(tmp_path_factory.mktemp("base"))
    render(root)
    return root


@pytest.fixture
def root(rendered: Path, tmp_path: Path) -> Path:
    """A rendered copy that a test may change."""
    return Path(shutil.copytree(rendered, tmp_path / "base", symlinks=True))


def _plan(root: Path) -> str:
    """The plan as the findings give it now; figures are not drawn."""
    documents, _ = rendered_documents(load(root))
    (plan,) = [document.text for document in documents if document.path == PLAN]
    return plan


def _review(root: Path, verdict: str, name: str) -> None:
    data = {
        "schema": 1,
        "findings": [
            {
                "id": f"review-{verdict}",
                "kind": "review",
                "title": "What became of the new rate",
                "verdict": verdict,
                "of": [name],
                "reason": "Another job was running on the host.",
                "author": "a reviewer",
                "source": {"kind": "person", "name": "a reviewer", "said": "2026-12-02"},
            }
        ],
    }
    (root / "findings" / "reviews.yaml").write_text(write_yaml(data), encoding="utf-8")


def test_the_committed_plan_is_what_the_findings_give():
    """The plan in the repository is byte for byte the rendering of its findings and runs."""
    assert _plan(REPOSITORY).encode() == (REPOSITORY / PLAN).read_bytes()


def test_a_new_run_moves_figure_break_even_and_percentages(root):
    """An adequate run of the baseline's series becomes its figure, and conclusions follow."""
    put(root, baseline_run(RATES))
    plan = _plan(root)
    assert "(69.9 to 70.2)" in row(plan, "baseline-decode-rate")
    assert "adequate" in row(plan, "baseline-decode-rate")
    assert "shifted" in row(plan, "baseline-decode-rate")
    # By another route: L = 2.0 tokens a cycle at 59 to 61 tok/s, baseline 70.05 +- t * s / sqrt(n).
    mean, spread = 70.05, 0.187082869
    half = 2.570581836 * spread / 6**0.5
    low, high = (mean - half) * 2.0 / 61, (mean + half) * 2.0 / 59
    assert _numbers(row(plan, "break-even"))[:2] == pytest.approx([low, high], abs=0.006)
    loss = [(1 - 61 / (mean - half)) * 100, (1 - 59 / (mean + half)) * 100]
    assert _numbers(row(plan, "slowdown"))[:2] == pytest.approx(loss, abs=0.6)


def test_a_shift_shows_what_follows_from_either_figure(root):
    """Until a review settles it, the plan shows conclusions under the old and the new figure."""
    put(root, baseline_run(RATES, environment=Environment(engine="sglang", driver="580.1")))
    state = section(_plan(root), "Current state")
    assert "**Shifted:" in state
    assert "-15 %" in state
    assert "worse" in state
    table = [line for line in state.splitlines() if "([break-even])" in line]
    assert len(table) == 1
    before, after = table[0].split(" | ")[1:3]
    assert _numbers(before)[:2] == pytest.approx([2.69, 2.81])
    assert _numbers(after)[0] < 2.3


def test_an_agreeing_run_replaces_the_figure_without_a_shift(root):
    """A run inside the reported range becomes the figure, and nothing is marked as shifted."""
    put(root, baseline_run([82.3, 82.6, 82.4, 82.5, 82.7]))
    plan = _plan(root)
    assert "adequate" in row(plan, "baseline-decode-rate")
    assert "hifted" not in section(plan, "Current state")


@pytest.mark.parametrize(
    "run",
    [
        baseline_run([], outcome="failed"),
        baseline_run([], outcome="interrupted"),
        baseline_run(RATES, stand_in=True),
        baseline_run(RATES[:3]),
        baseline_run([40.0, 100.0, 70.0, 55.0, 90.0]),
        baseline_run(RATES, flaws=["the client was the bottleneck"]),
    ],
    ids=["failed", "interrupted", "simulated", "too-few", "too-wide", "flawed"],
)
def test_a_run_that_does_not_count_moves_nothing(root, run):
    """Key numbers, conclusions and shifts stay as they were under a run that is not adequate."""
    before = _plan(root)
    put(root, run)
    after = _plan(root)
    for heading in (
        "Current state",
        "Why, in numbers",
        "What does not fit",
        "Numbers not to quote",
    ):
        assert section(after, heading) == section(before, heading)


def test_simulated_and_failed_runs_leave_every_byte_of_the_plan(root):
    """What a stand-in gave, and what failed, is no part of the plan."""
    before = _plan(root)
    put(root, baseline_run(RATES, stand_in=True))
    put(root, baseline_run([], outcome="failed", number=2))
    assert _plan(root) == before


@pytest.mark.parametrize("verdict", ["supersedes", "disputes", "retracts"])
def test_a_review_moves_the_figure_back(root, verdict):
    """A review of the new rate restores the old figures; check showed what would change."""
    before = _plan(root)
    run = baseline_run(RATES)
    put(root, run)
    render(root)
    _review(root, verdict, run.findings[0].id)
    stale = {difference.path: difference for difference in check(root)}
    assert stale[PLAN].state == "stale"
    assert "+| Decode rate without speculation | [82 to 83 tok/s]" in stale[PLAN].diff
    after = _plan(root)
    for heading in ("Current state", "Why, in numbers", "What does not fit"):
        assert section(after, heading) == section(before, heading)
    assert run.findings[0].id in section(after, "Numbers not to quote")


def test_a_disputed_figure_of_another_host_stays_out(root):
    """Nobody quotes it for this host: what became of it is told on the site alone."""
    before = _plan(root)
    record = baseline_run(RATES)
    (finding,) = record.findings
    elsewhere = finding.subject.model_copy(update={"host": "elsewhere"})
    finding = finding.model_copy(update={"subject": elsewhere, "series": None})
    put(root, RunRecord(record.run, (finding,)))
    _review(root, "disputes", finding.id)
    assert section(_plan(root), "Numbers not to quote") == section(before, "Numbers not to quote")


def test_a_review_that_reproduces_settles_a_shift(root):
    """The new figure stays, and its mark goes, once somebody has reproduced it."""
    run = baseline_run(RATES)
    put(root, run)
    _review(root, "reproduces", run.findings[0].id)
    plan = _plan(root)
    assert "(69.9 to 70.2)" in row(plan, "baseline-decode-rate")
    assert "hifted" not in section(plan, "Current state")


def test_rendering_again_writes_nothing(root):
    """A second render without a change leaves every file alone."""
    put(root, baseline_run(RATES))
    render(root)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    report = render(root)
    assert report.written == []
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()} == times


def test_the_conclusion_turns_with_the_figures(root):
    """The plan's sentence on why the drafter must improve is computed: it turns with the rates."""
    before = section(_plan(root), "Why, in numbers")
    assert before.count("**below**") == 2
    assert "has to be right more often" in before
    path = root / "findings" / "speculation.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count("low: 59, high: 61") == 1
    path.write_text(text.replace("low: 59, high: 61", "low: 95, high: 97"), encoding="utf-8")
    after = section(_plan(root), "Why, in numbers")
    assert "**below**" not in after
    assert after.count("**above**") == 2
    assert "So speculation pays" in after


def test_the_plan_is_within_its_budgets(root):
    """No section of the plan, nor the whole, is larger than gamekit.yaml allows."""
    assert render(root).warnings == []


def test_a_section_over_its_budget_is_reported(root):
    """A budget that is exceeded is a warning that names the section and both sizes."""
    config = root / "gamekit.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(r"goal: \d+", "goal: 100", text), encoding="utf-8")
    (warning,) = render(root).warnings
    assert re.search(r"section goal of the plan has \d+ bytes, and its budget is 100", warning)


def test_order_of_approaches_in_the_plan_is_c_a_b(root):
    """The plan lists the approaches by what they consist of."""
    headings = re.findall(r"^### (\d)\. Approach (\w):", _plan(root), re.M)
    assert headings == [("1", "C"), ("2", "A"), ("3", "B")]


def test_order_follows_when_the_findings_are_rearranged(root):
    """Taking the load and evaluate items out of A puts it first: the order is derived."""
    path = root / "findings" / "approaches.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count("includes: [approach-c]") == 1
    text = text.replace("    includes: [approach-c]\n    depends_on: [k2-close-to-k25]\n", "")
    path.write_text(text, encoding="utf-8")
    headings = re.findall(r"^### (\d)\. Approach (\w):", _plan(root), re.M)
    assert headings == [("1", "A"), ("2", "B"), ("3", "C")]


def _numbers(text: str) -> list[float]:
    shown = text.split(" | ")[1] if text.startswith("| ") else text
    return [float(number) for number in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?", shown)]


def test_a_copy_of_the_plan_under_another_name_is_the_users(root):
    """A snapshot that somebody keeps of the plan is neither judged nor removed."""
    copy = root / "snapshot.md"
    copy.write_bytes((root / PLAN).read_bytes())
    assert check(root) == []
    assert render(root).removed == []
    assert copy.exists()


def test_the_plan_of_an_old_name_is_put_aside(root):
    """Under a new file name the old plan goes, and can still be found."""
    config = root / "gamekit.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(f"plan: {PLAN}", "plan: other-plan.md"), encoding="utf-8")
    old = (root / PLAN).read_text(encoding="utf-8")
    assert [(d.path, d.state) for d in check(root) if d.state == "orphaned"] == [(PLAN, "orphaned")]
    assert render(root).removed == [PLAN]
    assert (root / ".gamekit" / "replaced" / f"{PLAN}.1").read_text(encoding="utf-8") == old


def test_a_linked_plan_stays_a_link(root):
    """Where the plan is a symbolic link, rendering writes the file it leads to."""
    (root / PLAN).rename(root / "real.md")
    (root / PLAN).symlink_to("real.md")
    put(root, baseline_run(RATES))
    render(root)
    assert (root / PLAN).is_symlink()
    assert "adequate" in row((root / "real.md").read_text(encoding="utf-8"), "baseline-decode-rate")


def test_line_endings_of_a_checkout_are_no_edit(root):
    """A plan whose lines end as on Windows is what the findings say."""
    plan = root / PLAN
    plan.write_bytes(plan.read_bytes().replace(b"\n", b"\r\n"))
    assert check(root) == []


def test_a_topic_named_index_has_a_page_of_its_own(root):
    """A findings file named index does not take the place of the list of topics."""
    (root / "findings" / "index.yaml").write_text("schema: 1\nfindings: []\n", encoding="utf-8")
    render(root)
    assert check(root) == []
    assert (root / "docs" / "findings" / "index-topic.md").exists()


@pytest.mark.parametrize(("host", "shown"), [("kimi-pcie8", True), ("another-host", False)])
def test_conclusions_of_other_hosts_are_not_in_the_plan(root: Path, host: str, shown: bool) -> None:
    """What is computed from another host's figures alone is shown on the site, and not here."""
    said = {"kind": "person", "name": "Ada", "said": "2026-12-01"}
    figure = {
        "id": "rate-there",
        "kind": "measurement",
        "title": "A rate",
        "metric": "decode_rate",
        "value": {"value": 40, "unit": "tok/s"},
        "subject": {"target": "Other", "host": host},
        "source": said,
    }
    claim = {
        "id": "twice-the-rate",
        "kind": "claim",
        "title": "Twice the rate",
        "statement": "What two such machines would give.",
        "formula": "2 * [rate-there]",
        "unit": "tok/s",
        "source": said,
    }
    text = write_yaml({"schema": 1, "findings": [figure, claim]})
    (root / "findings" / "there.yaml").write_text(text, encoding="utf-8")
    assert ("Twice the rate" in _plan(root)) is shown
