"""The order of approaches follows from what they consist of, wherever they are written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge.bases import Data, approach, finding, known, review

from gamekit.analysis.approaches import ApproachOrder, order

C = approach("c", ["load", "evaluate"])
A = approach("a", ["train"], includes=["c"])
B = approach("b", ["generate"], includes=["a"])


def ordered(*parts: Data) -> ApproachOrder:
    return order(known(*parts))


def ids(*parts: Data) -> list[str]:
    return [placed.record.id for placed in ordered(*parts).open]


def test_the_approaches_of_the_investigation_come_cheapest_first() -> None:
    """C loads and evaluates, A includes C, B includes A: C, A, B, with their work and reasons."""
    found = ordered(A, B, C).open
    assert [placed.record.id for placed in found] == ["c", "a", "b"]
    assert [placed.position for placed in found] == [1, 2, 3]
    assert [item.name for item in found[2].items] == ["load", "evaluate", "train", "generate"]
    assert [item.own_of for item in found[2].items] == ["c", "c", "a", "b"]
    assert [placed.contains for placed in found] == [(), ("c",), ("c", "a")]
    assert [placed.reason for placed in found] == [
        "Nothing has to come before it (2 work items).",
        "It consists of all that C does and adds train.",
        "It consists of all that A does and adds generate.",
    ]


def test_rearranged_findings_give_the_rearranged_order() -> None:
    """When what includes what is turned round, so is the order; labels decide nothing."""
    assert ids(
        approach("c", ["load", "evaluate"], includes=["b"]),
        approach("a", ["train"], includes=["c"]),
        approach("b", ["generate"]),
    ) == ["b", "c", "a"]


def test_work_of_one_name_is_one_piece_of_work() -> None:
    """An approach with all of another's work and more comes after it, included or not."""
    assert ids(approach("a", ["load", "train"]), approach("z", ["load"])) == ["z", "a"]
    assert ids(approach("a", ["x", "y", "train"]), approach("z", ["load"])) == ["z", "a"]


def test_what_it_depends_on_comes_first() -> None:
    """A dependency outweighs the number of work items, and the reason says so."""
    found = ordered(approach("a", ["x"], depends_on=["z"]), approach("z", ["p", "q"])).open
    assert [placed.record.id for placed in found] == ["z", "a"]
    assert found[1].reason == "It depends on Z."
    assert found[1].waits_for == ("z",)


def test_a_dependency_outweighs_what_the_work_items_say() -> None:
    """An approach may be made to wait for one whose work contains all of its own."""
    assert ids(approach("a", ["x"], depends_on=["z"]), approach("z", ["x", "y"])) == ["z", "a"]


def test_what_tests_an_assumption_comes_before_what_rests_on_it() -> None:
    """An approach that depends on an assumption waits for the approach that tests it."""
    found = ordered(
        approach("a", ["x"], depends_on=["close-enough"]),
        approach("z", ["p", "q"]),
        finding("assumption", "close-enough", statement="s", if_wrong="w", tested_by=["z"]),
    ).open
    assert [placed.record.id for placed in found] == ["z", "a"]
    assert found[1].reason == "Z tests what it rests on."


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"effort_hours": 9.0}, {"effort_hours": 2.0}, ["b", "a"]),
        ({"effort_hours": 9.0}, {}, ["a", "b"]),
        ({}, {"effort_hours": 2.0}, ["a", "b"]),
        ({}, {}, ["a", "b"]),
    ],
)
def test_effort_counts_where_all_of_it_is_known(
    first: dict[str, Any], second: dict[str, Any], expected: list[str]
) -> None:
    """Known efforts decide; one that is unknown is never taken for small or large."""
    parts = (approach("a", ["x"], **first), approach("b", ["y", "z"], **second))
    assert ids(*parts) == expected


def test_what_nothing_sets_apart_goes_by_label_and_says_so() -> None:
    """Two that are alike keep a fixed order, and the reason claims no more than is known."""
    found = ordered(approach("b", ["y"]), approach("a", ["x"])).open
    assert [placed.record.id for placed in found] == ["a", "b"]
    assert found[0].reason == "As far as is known B could as well come first."


@pytest.mark.parametrize("state", ["done", "abandoned"])
def test_what_is_over_stands_apart(state: str) -> None:
    """Done and abandoned approaches are not in the order, and their work stays in the others'."""
    found = ordered({**C, "state": state}, A, B)
    assert [placed.record.id for placed in found.open] == ["a", "b"]
    assert [record.id for record in found.apart] == ["c"]
    assert [item.name for item in found.open[0].items] == ["load", "evaluate", "train"]


def test_a_retracted_approach_stands_apart() -> None:
    """An approach that a review took back is not ordered."""
    found = ordered(C, A, B, review("no", "retracts", ["b"]))
    assert [record.id for record in found.apart] == ["b"]


SPECS = st.lists(
    st.tuples(
        st.sets(st.sampled_from("pqrstu"), min_size=1, max_size=4),
        st.sets(st.integers(0, 5), max_size=2),
        st.sampled_from([None, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=80, deadline=None)
@given(SPECS, st.randoms(use_true_random=False))
def test_the_order_keeps_its_promises_for_any_approaches(specs: list, random) -> None:
    """Each once; parts and included ones first; the same however they are written down."""
    parts = []
    for place, (items, others, effort) in enumerate(specs):
        included = [f"a{other}" for other in sorted(others) if other < place]
        more = {} if effort is None else {"effort_hours": effort}
        parts.append(approach(f"a{place}", sorted(items), includes=included, **more))
    found = ordered(*parts).open
    names = [placed.record.id for placed in found]
    assert sorted(names) == [f"a{place}" for place in range(len(specs))]
    for place, placed in enumerate(found):
        own = {item.name for item in placed.items}
        for later in found[place + 1 :]:
            assert not {item.name for item in later.items} < own
            assert later.record.id not in parts[int(placed.record.id[1:])]["includes"]
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert ids(*shuffled) == names
