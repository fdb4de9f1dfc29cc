"""The order of findings: by supersession, then message, then time; total, and the same always."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from .bases import Data, from_messages, known, measurement, published, review, run, said


def ordered(*parts: Data) -> list[str]:
    knowledge = known(*parts)
    return [record.id for record in knowledge.oldest_first(knowledge.base.records.values())]


def test_investigations_go_by_their_newest_message() -> None:
    """A finding's place is that of the highest message number it names."""
    assert ordered(
        measurement("a", 1, source=from_messages("10-40", "3")),
        measurement("b", 1, source=from_messages("39")),
        measurement("c", 1, source=from_messages("5", "41")),
    ) == ["b", "a", "c"]


def test_runs_go_by_their_start_after_all_messages() -> None:
    """Runs follow the investigation, by time and not by how the fraction was written."""
    assert ordered(
        run("late", "2026-12-01T00:00:00.5Z", measurement("late-m", 1)),
        run("soon", "2026-12-01T00:00:00Z", measurement("soon-m", 1)),
        measurement("told", 1, source=from_messages("99999")),
    ) == ["told", "soon-m", "late-m"]


def test_publications_and_persons_go_by_day_among_the_dated() -> None:
    """A day lies before the runs of that day and after those of the day before."""
    assert ordered(
        run("r2", "2026-12-02T00:00:00Z", measurement("m2", 1)),
        run("r1", "2026-12-01T23:00:00Z", measurement("m1", 1)),
        measurement("card", 1, source=published("2026-12-02")),
        measurement("word", 1, source=said("2026-12-01")),
    ) == ["word", "m1", "card", "m2"]


def test_what_replaces_a_finding_comes_after_it() -> None:
    """Supersession outweighs the message number, whether a field or a review says it."""
    assert ordered(
        measurement("a", 1, source=from_messages("50")),
        measurement(
            "b", 1, source=from_messages("20"), supersedes=["a"], supersedes_because="better"
        ),
        measurement("c", 1, source=from_messages("10")),
        measurement("d", 1, source=from_messages("60")),
        review("r", "supersedes", ["d"], evidence=["c"], source=from_messages("70")),
    ) == ["a", "b", "d", "c", "r"]


FINDINGS = st.lists(
    st.tuples(
        st.integers(1, 4),  # the message, with ties
        st.sets(st.integers(0, 9), max_size=3),  # what it supersedes, of those before it
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=60, deadline=None)
@given(FINDINGS, st.randoms(use_true_random=False))
def test_the_order_is_total_and_does_not_depend_on_the_reading(specs: list, random) -> None:
    """Whatever order the findings are read in, theirs is the same, and replacements come later."""
    parts = []
    for place, (message, targets) in enumerate(specs):
        older = [f"m{target}" for target in sorted(targets) if target < place]
        more = {"supersedes": older, "supersedes_because": "r"} if older else {}
        parts.append(measurement(f"m{place}", 1, source=from_messages(str(message)), **more))
    expected = ordered(*parts)
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert ordered(*shuffled) == expected
    places = {name: place for place, name in enumerate(expected)}
    assert len(places) == len(parts)
    for part in parts:
        for target in part.get("supersedes", ()):
            assert places[target] < places[part["id"]]
