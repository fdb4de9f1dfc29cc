"""The review that a shift proposes follows from what differs between the environments."""

from __future__ import annotations

from typing import Any

from knowledge.bases import STAND_IN, Data, known, measurement, run, series, steady

from gamekit.analysis.against_series import AgainstSeries, against_series

BASELINE = measurement("baseline", {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"})


def set_against(*older: Data, environment: Data | None = None, **of_run: Any) -> AgainstSeries:
    earlier = [series("rate"), *older]
    new = run("r9", "2026-12-09T00:00:00Z", steady("m9", 70), environment=environment, **of_run)
    found = against_series(known(*earlier, new), known(*earlier), "m9")
    assert found is not None
    return found


def earlier_run(**environment: str) -> Data:
    return run("r1", "2026-12-01T00:00:00Z", steady("m1", 80), environment=environment)


def test_another_driver_explains_a_shift_and_supersedes() -> None:
    """Where something known to move figures differs, the new figure replaces the old."""
    found = set_against(
        earlier_run(driver="570", boot="b1"), environment={"driver": "575", "boot": "b2"}
    )
    assert found.outcome == "shifted"
    assert "driver 570 → 575; boot b1 → b2" in found.words
    assert found.review is not None
    assert (found.review.verdict, found.review.of, found.review.evidence) == (
        "supersedes",
        ["m1"],
        ["m9"],
    )
    assert "driver 570 → 575" in found.review.reason
    assert "boot" not in found.review.reason


def test_another_boot_alone_explains_nothing_and_disputes() -> None:
    """Where only the boot differs, the old figure is disputed, and the words say why."""
    found = set_against(
        earlier_run(driver="570", boot="b1"), environment={"driver": "570", "boot": "b2"}
    )
    assert found.review is not None
    assert found.review.verdict == "disputes"
    assert "nothing recorded differs but the boot (boot b1 → b2)" in found.review.reason


def test_a_reported_figure_is_compared_by_its_range() -> None:
    """Somebody's range has no samples: the change is over both intervals."""
    found = set_against({**BASELINE, "series": "rate"})
    assert found.outcome == "shifted"
    assert found.words.startswith("shifted against baseline (82 to 83 tok/s) by -15 % (-16 % to")


def test_what_was_simulated_never_counts_against_a_series() -> None:
    """The stand-in engine's figure leaves the series as it is, however far away it lies."""
    found = set_against(earlier_run(driver="570"), engine=STAND_IN)
    assert found.outcome == "does not count"
    assert "stays the current figure" in found.words
    assert found.review is None
