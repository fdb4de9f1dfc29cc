"""Formulas asked for again: what was found before holds for the same leaves and words only."""

from __future__ import annotations

from gamekit.formula import (
    Impossible,
    UnknownResult,
    Verdict,
    evaluate,
    judge,
    parse,
)
from gamekit.ranges import Range

from .leaves import Leaf, ends, from_leaves, known


def test_another_range_of_a_leaf_is_another_figure() -> None:
    """What was found for the same formula over other ranges is not given again."""
    a, b = Range(1, 2, 3), Range(10, 20, 30)
    assert ends("[a] * [b]", a=a, b=b) == (10, 40, 90)
    assert ends("[a] * [b]", a=Range(2, 2, 3), b=b) == (20, 40, 90)
    assert ends("[a] * [b]", a=Range(1, 2, 4), b=b) == (10, 40, 120)
    assert ends("[a] * [b]", a=Range(1, 2.5, 3), b=b) == (10, 50, 90)
    assert ends("[a] * [b]", a=Range.exact(2), b=b) == (20, 40, 60)
    assert ends("[a] * [b]", a=a, b=b) == (10, 40, 90)


def test_a_leaf_of_another_id_is_named_by_it() -> None:
    """A formula over equal ranges of other findings rests on those findings."""
    figure = Range(1, 2, 3)
    assert known("[a] + [b]", a=figure, b=figure).leaves == ("a", "b")
    assert known("[a] + [c]", a=figure, c=figure).leaves == ("a", "c")
    # Of equal numbers only the first is told in words: the others differ in their ids alone.
    two, x = Range.exact(2), parse("[a]")
    for name in ("b", "c"):
        leaves: dict[str, Leaf] = {"a": two, name: two, "x": x, "y": parse(f"[{name}]")}
        assert known("[x] + [y]", **leaves).leaves == ("a", name)
    # The same id twice is one quantity, and its spread does not count twice.
    assert ends("[a] - [b]", a=figure, b=figure) == (-2, 0, 2)
    assert ends("[a] - [a]", a=figure) == (0, 0, 0)


def test_reasons_are_in_the_words_of_their_own_formula() -> None:
    """Formulas of equal steps that are written otherwise each tell of the part they have."""
    leaves = {"a": Range(-1, 1, 2), "b": Range(0.5, 0.8, 1.5), "c": Range(0.5, 0.8, 1.5)}

    def reason(text: str) -> str | None:
        found = evaluate(parse(text), from_leaves(leaves))
        assert not isinstance(found, UnknownResult)
        return found.reason if isinstance(found, Impossible) else found.partly_impossible

    for text, part in (
        ("1 / ([a] * 2)", "[a] * 2"),
        ("1 / ([a] * 2.0)", "[a] * 2.0"),
        ("accept_length([b], 2)", "the range of [b]:"),
        ("accept_length([c], 2)", "the range of [c]:"),
        ("accept_length([c] * 1, 2)", "the range of [c] * 1:"),
    ):
        assert part in (reason(text) or ""), text


def test_verdicts_follow_operator_ranges_and_ids() -> None:
    """A comparison of the same sides by another operator, or over other ranges, is its own."""

    def verdict(text: str, **leaves: Leaf) -> Verdict:
        found = judge(parse(text), from_leaves(leaves))
        assert isinstance(found, Verdict)
        return found

    low, high = Range(1, 2, 3), Range(4, 5, 6)
    assert verdict("[a] < [b]", a=low, b=high).outcome == "holds"
    assert verdict("[a] > [b]", a=low, b=high).outcome == "fails"
    assert verdict("[a] < [b]", a=low, b=Range(3, 5, 6)).outcome == "undecided"
    assert verdict("[a] <= [b]", a=low, b=Range(3, 5, 6)).outcome == "holds"
    assert verdict("[a] < [c]", a=low, c=high).right.leaves == ("a", "c")
    assert verdict("[a] < [b]", a=low, b=high).right.leaves == ("a", "b")
