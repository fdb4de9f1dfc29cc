"""The standing of findings: what reviews and newer findings make of them."""

from __future__ import annotations

import pytest

from .bases import (
    STAND_IN,
    Data,
    approach,
    finding,
    from_messages,
    known,
    measurement,
    published,
    review,
    run,
    said,
    series,
    steady,
)

OLD = measurement("old", 80, series="rate", source=from_messages("1"))
NEW = measurement("new", 85, series="rate", source=from_messages("2"))


def test_a_finding_that_nobody_judged_is_current() -> None:
    """Without reviews a finding of any kind counts, and has no reason not to."""
    standing = known(finding("model", "k", role="target", name="K")).standing("k")
    assert (standing.statuses, standing.current, standing.why_not) == (["current"], True, None)


def test_an_older_member_says_what_is_newer() -> None:
    """A member that is not the figure any more names the figure and the series."""
    standing = known(series("rate"), OLD, NEW).standing("old")
    assert (standing.statuses, standing.current) == ([], False)
    assert standing.why_not == "older than new in series rate"


def test_supersession_gives_its_reason_and_back_references() -> None:
    """What is replaced names its replacement with the reason, and the replacement names it."""
    newer = {**NEW, "supersedes": ["old"], "supersedes_because": "another boot"}
    knowledge = known(series("rate"), OLD, newer)
    standing = knowledge.standing("old")
    assert standing.statuses == ["superseded"]
    assert standing.why_not == "superseded by new: another boot"
    assert standing.superseded_by == ["new"]
    assert knowledge.replaces("new") == ["old"]


def test_a_retracted_finding_supersedes_nothing() -> None:
    """Once the replacement is retracted, what it replaced stands again."""
    newer = {**NEW, "supersedes": ["old"], "supersedes_because": "another boot"}
    knowledge = known(series("rate"), OLD, newer, review("r", "retracts", ["new"]))
    assert knowledge.standing("old").statuses == ["current"]
    assert knowledge.standing("new").statuses == ["retracted"]


def test_a_review_with_evidence_names_the_evidence_as_replacement() -> None:
    """A review that supersedes points to its evidence, and to itself without any."""
    by_evidence = known(
        series("rate"), OLD, NEW, review("r", "supersedes", ["old"], evidence=["new"])
    ).standing("old")
    assert by_evidence.superseded_by == ["new"]
    assert by_evidence.why_not == "superseded by new: Reason of r."
    bare = known(series("rate"), OLD, review("r", "supersedes", ["old"])).standing("old")
    assert bare.superseded_by == ["r"]


def test_retracted_outweighs_superseded_and_superseded_disputed() -> None:
    """All that was said is in the statuses, and the reason given is that of the gravest."""
    parts: list[Data] = [series("rate"), OLD]
    for verdict, word in (
        ("disputes", "disputed by r-disputes: Reason of r-disputes."),
        ("supersedes", "superseded by r-supersedes: Reason of r-supersedes."),
        ("retracts", "retracted by r-retracts: Reason of r-retracts."),
    ):
        parts.append(review(f"r-{verdict}", verdict, ["old"]))
        assert known(*parts).standing("old").why_not == word
    standing = known(*parts).standing("old")
    assert standing.statuses == ["retracted", "superseded", "disputed"]
    assert [one.id for one in standing.reviews] == ["r-disputes", "r-retracts", "r-supersedes"]


@pytest.mark.parametrize("verdict", ["retracts", "supersedes"])
def test_a_review_that_is_undone_has_no_effect(verdict: str) -> None:
    """A dispute that was itself retracted or superseded is not even listed."""
    standing = known(
        series("rate"), OLD, review("r", "disputes", ["old"]), review("u", verdict, ["r"])
    ).standing("old")
    assert (standing.statuses, standing.reviews) == (["current"], [])


def test_undoing_is_undone_in_turn() -> None:
    """The retraction of a retraction of a dispute leaves the dispute in force."""
    standing = known(
        series("rate"),
        OLD,
        review("r1", "disputes", ["old"]),
        review("r2", "retracts", ["r1"]),
        review("r3", "retracts", ["r2"]),
    ).standing("old")
    assert standing.statuses == ["disputed"]


def test_a_disputed_review_is_still_in_effect() -> None:
    """Only retraction and supersession take a review's effect away."""
    standing = known(
        series("rate"), OLD, review("r", "disputes", ["old"]), review("d", "disputes", ["r"])
    ).standing("old")
    assert standing.statuses == ["disputed"]


def test_of_reproduction_and_failure_to_reproduce_the_last_counts() -> None:
    """Reviews are taken in their order: the newest word on reproduction stands."""
    reproduced = review("r1", "reproduces", ["old"], source=said("2027-01-01"))
    failed = review("r2", "fails_to_reproduce", ["old"], source=said("2027-01-02"))
    first = known(series("rate"), OLD, failed, reproduced)
    assert first.standing("old").statuses == ["current", "unreproduced"]
    failed_first = {**failed, "source": said("2026-12-31")}
    second = known(series("rate"), OLD, failed_first, reproduced)
    assert second.standing("old").statuses == ["current", "reproduced"]


@pytest.mark.parametrize(
    ("part", "statuses"),
    [
        (approach("a", ["x"], state="running"), ["running", "current"]),
        (
            finding("evaluation", "a", state="done", purpose="p", command="c"),
            ["done", "current"],
        ),
        (
            finding("evaluation", "a", state={"unknown": "?"}, purpose="p", command="c"),
            ["unknown", "current"],
        ),
    ],
)
def test_a_state_of_its_own_comes_first(part: Data, statuses: list[str]) -> None:
    """Kinds that have a state put it before the standing."""
    assert known(part).standing("a").statuses == statuses


@pytest.mark.parametrize(
    ("part", "why_not"),
    [
        (measurement("m", [1.0, 2.0, 3.0]), "inadequate: n = 3 of 5"),
        (steady("m", 80, None), None),
    ],
)
def test_a_measurement_in_no_series_counts_by_its_grade(part: Data, why_not: str | None) -> None:
    """Outside a series an adequate run counts and an inadequate one says why it does not."""
    standing = known(run("r1", "2026-12-01T00:00:00Z", part)).standing("m")
    assert standing.current == (why_not is None)
    if why_not is not None:
        assert standing.why_not is not None
        assert standing.why_not.startswith(why_not)


def test_published_and_simulated_figures_stand_apart() -> None:
    """A published figure counts for its own subject; a simulated one never does."""
    part = run("r1", "2026-12-01T00:00:00Z", steady("sim", 80, None), engine=STAND_IN)
    knowledge = known(part, measurement("card", 3, source=published()))
    assert knowledge.standing("card").current
    assert knowledge.standing("sim").why_not == "simulated: measured on the stand-in engine"
