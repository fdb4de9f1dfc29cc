"""What a shift changes, and how today's conclusions came about."""

from __future__ import annotations

from knowledge.bases import (
    approach,
    claim,
    from_messages,
    known,
    measurement,
    review,
    run,
    said,
    series,
    steady,
)

from gamekit.analysis.conclusions import Conclusions, under_both
from gamekit.analysis.history import replay
from gamekit.formula import Known

PARTS = (
    series("rate"),
    series("spec"),
    measurement("early", 89, series="rate", source=from_messages("1")),
    measurement(
        "baseline",
        {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"},
        series="rate",
        source=from_messages("2"),
        supersedes=["early"],
        supersedes_because="It did not come back.",
    ),
    measurement("slow", 75, series="spec", source=from_messages("2")),
    claim("gain", "[spec] - [rate]", "tok/s"),
    claim("told", "[rate]", "tok/s", stated={"value": 82, "unit": "tok/s"}),
    claim("other", "[slow] * 2", "tok/s"),
    claim("slack", "[rate] + 100", "tok/s"),
    approach(
        "a",
        ["x"],
        gates=[
            {
                "title": "Is it faster?",
                "predicate": "[spec] > [rate]",
                "if_holds": {"text": "Use it."},
                "if_fails": {"text": "Do not."},
            }
        ],
    ),
)
SHIFTED = run("r1", "2026-12-01T00:00:00Z", steady("m", 70))


def test_a_shift_shows_the_conclusions_under_both_figures() -> None:
    """Claims that turn are marked, others change their figure, and unrelated ones are absent."""
    found = under_both(known(*PARTS, SHIFTED), "rate")
    changes = {one.before.record.id: one for one in found.claims}
    assert set(changes) == {"gain", "told", "slack"}
    assert (changes["told"].before.verdict, changes["told"].after.verdict) == (
        "holds",
        "contradicted",
    )
    assert changes["gain"].side_changes
    assert not changes["gain"].verdict_changes
    assert {one.before.record.id for one in found.turned} == {"gain", "told"}
    assert [(one.before.outcome, one.after.outcome) for one in found.gates] == [("fails", "holds")]


def test_without_a_shift_nothing_differs() -> None:
    """A series that has not shifted, or whose shift was settled, has no second set."""
    assert under_both(known(*PARTS), "rate") == Conclusions((), ())
    settled = review("r", "supersedes", ["baseline"], evidence=["m"])
    assert under_both(known(*PARTS, SHIFTED, settled), "rate") == Conclusions((), ())


def told(*parts: dict) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (
            move.cause.id,
            move.series.id,
            move.before and move.before.id,
            move.after and move.after.id,
        )
        for step in replay(known(*PARTS, *parts))
        for move in step.moves
    ]


def test_the_history_replays_the_findings_in_their_order() -> None:
    """Each step is a new current figure with what brought it about, the oldest first."""
    assert told(SHIFTED) == [
        ("early", "rate", None, "early"),
        ("baseline", "rate", "early", "baseline"),
        ("slow", "spec", None, "slow"),
        ("m", "rate", "baseline", "m"),
    ]


def test_a_review_is_a_step_of_its_own() -> None:
    """A dispute moves the figure back when it was made, and not before."""
    dispute = review("no", "disputes", ["m"], source=said("2026-12-05"))
    later = run("r2", "2026-12-09T00:00:00Z", steady("m2", 71))
    assert told(SHIFTED, dispute, later)[3:] == [
        ("m", "rate", "baseline", "m"),
        ("no", "rate", "m", "baseline"),
        ("m2", "rate", "baseline", "m2"),
    ]


def test_steps_carry_the_conclusions_of_their_time() -> None:
    """A claim over two series has no figure until both have, and is told at that step."""
    steps = list(replay(known(*PARTS, SHIFTED)))
    changed = [
        {
            one.before.record.id: (one.before.verdict, one.after.verdict)
            for one in step.conclusions.claims
        }
        for step in steps
    ]
    assert changed[0] == {"told": ("unknown", "contradicted"), "slack": ("unknown", "computed")}
    assert changed[1]["told"] == ("contradicted", "holds")
    assert changed[1]["gain"] == ("unknown", "computed")
    assert changed[2]["told"] == ("holds", "contradicted")
    assert [len(step.conclusions.gates) for step in steps] == [0, 1, 1]


def test_what_was_told_at_once_is_one_step() -> None:
    """Figures of one message replace those before them together: no mix of both is concluded on."""
    pair = [
        measurement(f"{name}-{when}", value, series=name, source=from_messages("9"), **more)
        for name, values in (("rate", (89, 82)), ("spec", (94, 60)))
        for when, value, more in (
            ("early", values[0], {}),
            (
                "late",
                values[1],
                {"supersedes": [f"{name}-early"], "supersedes_because": "It did not come back."},
            ),
        )
    ]
    gain = claim("gain", "[spec] - [rate]", "tok/s")
    steps = list(replay(known(series("rate"), series("spec"), gain, *pair)))
    assert [[move.cause.id for move in step.moves] for step in steps] == [
        ["rate-early", "spec-early"],
        ["rate-late", "spec-late"],
    ]
    figures = [step.conclusions.claims[0].after.computed for step in steps]
    assert [one.range.mid for one in figures if isinstance(one, Known)] == [5, -22]


def test_a_figure_that_leaves_its_range_is_notable_and_one_that_stays_is_not() -> None:
    """From 82 to 83 to 70 tok/s a claim moves; a step within the range before it is left out."""
    moved = under_both(known(*PARTS, SHIFTED), "rate")
    assert {one.after.record.id for one in moved.notable} == {"gain", "told", "slack"}
    within = run("r1", "2026-12-01T00:00:00Z", steady("m", 82.5))
    last = list(replay(known(*PARTS, within)))[-1]
    assert {one.after.record.id for one in last.conclusions.claims} >= {"slack"}
    assert "slack" not in {one.after.record.id for one in last.conclusions.notable}


def test_the_last_step_of_a_series_is_its_current_figure() -> None:
    """Replaying everything ends where the knowledge stands."""
    knowledge = known(*PARTS, SHIFTED, review("no", "retracts", ["m"]))
    last = {move.series.id: move.after for step in replay(knowledge) for move in step.moves}
    for name, after in last.items():
        assert after is knowledge.series(name).current
