"""Figures of measurements, series and claims, and what is computed from what."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamekit.errors import FormulaError
from gamekit.formula import Known, UnknownResult
from gamekit.ranges import Range

from .bases import (
    ENGINE,
    STAND_IN,
    Data,
    approach,
    claim,
    finding,
    from_messages,
    known,
    measurement,
    review,
    run,
    series,
    steady,
)

RATE = series("rate")
BASELINE = measurement(
    "baseline", {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"}, series="rate"
)
CYCLE = measurement("cycle", {"value": 30, "unit": "ms"}, metric="cycle_time")
BREAK_EVEN = claim("break-even", "[rate] * [cycle] / 1000", "tok/cycle")


def test_the_break_even_of_the_investigation() -> None:
    """82-83 tok/s at 30 ms give 2.46 to 2.49, and 2.40 to 2.55 with the roundings of both."""
    figure = known(RATE, BASELINE, CYCLE, BREAK_EVEN).figure("break-even")
    assert isinstance(figure.stated, Known)
    assert isinstance(figure.rounded, Known)
    assert figure.stated.range == Range(2.46, 2.475, 2.49)
    assert figure.rounded.range.low == pytest.approx(81.5 * 29.5 / 1000)
    assert figure.rounded.range.high == pytest.approx(83.5 * 30.5 / 1000)
    assert figure.stated.leaves == ("baseline", "cycle")
    assert (figure.unit, figure.n, figure.interval) == ("tok/cycle", None, "observed")


def test_a_series_and_its_current_member_are_one_quantity() -> None:
    """A figure named by series and by record has no spread against itself."""
    figure = known(RATE, BASELINE, claim("c", "[rate] - [baseline]")).figure("c")
    assert figure.known == Range.exact(0)


def test_a_claim_inside_a_claim_is_computed_over_its_leaves() -> None:
    """Dividing a claim by what it rests on leaves no spread of that."""
    figure = known(RATE, BASELINE, CYCLE, BREAK_EVEN, claim("c", "[break-even] / [rate]")).figure(
        "c"
    )
    assert figure.known == Range.exact(0.03)


def test_a_record_id_means_that_record_whatever_became_of_it() -> None:
    """A superseded record named by its own id keeps its figure, and the series follows the rule."""
    newer = measurement(
        "newer",
        90,
        series="rate",
        source=from_messages("2"),
        supersedes=["baseline"],
        supersedes_because="r",
    )
    knowledge = known(RATE, BASELINE, newer, claim("c", "[rate] - [baseline]"))
    assert knowledge.figure("c").known == Range(7, 7.5, 8)


def test_a_run_moves_what_is_computed_by_itself() -> None:
    """An adequate run in the series changes the claims over it, with nothing else edited."""
    knowledge = known(
        RATE, BASELINE, CYCLE, BREAK_EVEN, run("r1", "2026-12-01T00:00:00Z", steady("m", 70))
    )
    figure = knowledge.figure("break-even")
    assert figure.known is not None
    assert figure.known.mid == pytest.approx(2.1)
    assert knowledge.figure("rate").record is knowledge.record("m")
    assert (knowledge.figure("rate").n, knowledge.figure("rate").interval) == (5, "confidence")


def test_another_member_can_be_taken_instead() -> None:
    """``instead`` computes with another member, or with none, and leaves the rest alone."""
    knowledge = known(
        RATE, BASELINE, CYCLE, BREAK_EVEN, run("r1", "2026-12-01T00:00:00Z", steady("m", 70))
    )
    assert knowledge.figure("break-even", {"rate": "baseline"}).known == Range(2.46, 2.475, 2.49)
    nothing = knowledge.figure("break-even", {"rate": None})
    assert nothing.known is None
    assert nothing.why_not is not None
    assert "rate has no figure yet" in nothing.why_not
    assert knowledge.figure("break-even").known != Range(2.46, 2.475, 2.49)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "nothing has been measured or reported yet"),
        (
            [measurement("m", {"unknown": "nobody ran it", "unit": "tok/s"}, series="rate")],
            "nobody ran it",
        ),
        (
            [BASELINE, review("r", "disputes", ["baseline"])],
            "none of its members counts as its figure (1 refuted)",
        ),
        (
            [
                measurement(
                    "m", {"unknown": "interrupted by Ctrl-C", "unit": "tok/s"}, series="rate"
                ),
                run("r1", "2026-12-01T00:00:00Z", steady("n", 70, flaws=["noise"])),
            ],
            "none of its members counts as its figure (1 unknown, 1 inadequate)",
        ),
    ],
)
def test_what_rests_on_nothing_is_unknown_with_the_reason(parts: list, reason: str) -> None:
    """A series without a usable member is unknown, and so is what is computed from it."""
    knowledge = known(RATE, CYCLE, BREAK_EVEN, *parts)
    for name in ("rate", "break-even"):
        figure = knowledge.figure(name)
        assert isinstance(figure.stated, UnknownResult)
        assert reason in figure.stated.reason


def test_a_failed_run_is_no_number_even_by_its_id() -> None:
    """A figure that a failed run left behind is unknown to every formula."""
    part = run(
        "r1", "2026-12-01T00:00:00Z", steady("m", 70), outcome="failed", reason="no terminator"
    )
    figure = known(RATE, part, claim("c", "[m] * 2")).figure("c")
    assert figure.why_not is not None
    assert "no terminator" in figure.why_not


@pytest.mark.parametrize(
    ("item", "engine", "reason"),
    [
        (steady("m", 70), STAND_IN, "simulated: measured on the stand-in"),
        (measurement("m", [70.0], series="rate"), ENGINE, "inadequate: n = 1 of 5"),
    ],
)
def test_what_does_not_count_is_no_number_to_a_formula(
    item: Data, engine: Data, reason: str
) -> None:
    """A simulated or inadequate figure is shown as itself, and unknown to claims that name it."""
    knowledge = known(
        RATE, run("r1", "2026-12-01T00:00:00Z", item, engine=engine), claim("c", "[m] * 2")
    )
    assert knowledge.figure("m").known is not None
    assert reason in str(knowledge.figure("c").why_not)


def test_a_model_has_no_figure() -> None:
    """Asking for the figure of a kind that has none is a formula error."""
    with pytest.raises(FormulaError, match="has no figure"):
        known(finding("model", "k", role="target", name="K")).figure("k")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 1000), min_size=2, max_size=2),
    st.lists(st.integers(1, 1000), min_size=2, max_size=2),
    st.sampled_from(["+", "-", "*", "/"]),
)
def test_a_figure_spans_what_its_leaves_allow(one: list[int], two: list[int], sign: str) -> None:
    """The range of a claim is that of its formula over the corners of its leaves' ranges."""
    parts = [
        measurement(
            name, {"low": min(ends), "high": max(ends), "range": "observed", "unit": "tok/s"}
        )
        for name, ends in (("a", one), ("b", two))
    ]
    figure = known(*parts, claim("c", f"[a] {sign} [b]")).figure("c")
    apply = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }[sign]
    corners = [apply(x, y) for x in one for y in two]
    assert figure.known is not None
    assert figure.known.low == pytest.approx(min(corners))
    assert figure.known.high == pytest.approx(max(corners))


GATE = {
    "title": "Does it pay?",
    "predicate": "[rate] >= [break-even] * 1",
    "if_holds": {"text": "Yes.", "next": ["b"]},
    "if_fails": {"text": "No."},
}


def test_dependents_are_told_with_the_field_and_the_way() -> None:
    """What names a finding and what is computed from it, however indirectly, depends on it."""
    knowledge = known(
        RATE,
        BASELINE,
        CYCLE,
        BREAK_EVEN,
        claim("twice", "[break-even] * 2", notes="See [[cycle]]."),
        approach("a", ["x"], gates=[GATE]),
        approach("b", ["y"]),
        review("r", "reproduces", ["baseline"]),
    )
    told = {
        one.record.id: (one.by, one.through, one.computed)
        for one in knowledge.dependents("baseline")
    }
    assert told == {
        "r": ("of", None, False),
        "rate": ("series", None, True),
        "break-even": ("formula", "rate", True),
        "a": ("gates", "rate", True),
        "twice": ("formula", "break-even", True),
    }
    assert {one.record.id: one.by for one in knowledge.dependents("cycle")} == {
        "break-even": "formula",
        "twice": "notes",
        "a": "gates",
    }
    assert [one.record.id for one in knowledge.dependents("b")] == ["a"]


def test_a_member_that_is_not_current_moves_no_claim() -> None:
    """Claims over a series do not depend on a member that is not its figure."""
    newer = measurement("newer", 90, series="rate", source=from_messages("2"))
    knowledge = known(RATE, BASELINE, newer, CYCLE, BREAK_EVEN)
    assert knowledge.dependents("baseline") == []
    assert "break-even" in {one.record.id for one in knowledge.dependents("newer")}
