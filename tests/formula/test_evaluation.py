"""What formulas come to: ranges over the leaves, unknown, impossible, and verdicts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gamekit.errors import FormulaError
from gamekit.formula import (
    Expression,
    Impossible,
    Known,
    Unknown,
    UnknownResult,
    Verdict,
    evaluate,
    judge,
    parse,
)
from gamekit.formula.tree import (
    Call,
    Comparison,
    Negation,
    Node,
    Number,
    Operation,
    Power,
    Reference,
)
from gamekit.quantity import Quantity
from gamekit.ranges import Range

from .by_points import exactly, plain
from .leaves import Leaf, ends, from_leaves, known

NAMES = ("a", "b", "c")
constants = st.sampled_from(["0.5", "1", "2", "3.25"]).map(Number)


def _inner(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    pairs = st.tuples(nodes, nodes)
    accuracies = nodes.map(
        lambda node: Operation(("/",), (node, Operation(("+",), (node, Number("1")))))
    )
    chains = st.integers(1, 3).map(lambda k: Number(str(k)))
    return (
        st.builds(Operation, st.sampled_from("+-*/").map(lambda sign: (sign,)), pairs)
        | st.builds(Call, st.sampled_from(["min", "max"]), pairs)
        | st.builds(Power, nodes, st.integers(0, 3))
        | st.builds(Call, st.just("accept_length"), st.tuples(accuracies | nodes, chains))
        | st.builds(Call, st.just("accuracy_for"), st.tuples(nodes, chains))
        | nodes.map(Negation)
    )


random_trees = st.recursive(constants | st.sampled_from(NAMES).map(Reference), _inner, max_leaves=5)


@st.composite
def decimal_ranges(draw: st.DrawFn) -> Range:
    low, mid, high = sorted(draw(st.tuples(*[st.integers(1, 400)] * 3)))
    return Range(low / 100, mid / 100, high / 100)


boxes = st.fixed_dictionaries({name: decimal_ranges() for name in NAMES})


@settings(max_examples=120, deadline=None)
@given(random_trees, boxes, st.lists(st.tuples(*[st.floats(0, 1)] * 3), max_size=12))
def test_the_range_holds_every_sampled_point(
    tree: Node, box: dict[str, Range], shares: list[tuple[float, float, float]]
) -> None:
    """Random points and all corners of the box give values between low and high."""
    found = evaluate(Expression(tree, ""), from_leaves(box))
    assume(isinstance(found, Known))
    assert isinstance(found, Known)
    corners = product((0.0, 1.0), repeat=3)
    for share in [*shares, *corners]:
        point = {
            name: exactly(figure.low)
            + Fraction(part) * (exactly(figure.high) - exactly(figure.low))
            for (name, figure), part in zip(box.items(), share, strict=True)
        }
        try:
            value = float(plain(tree, point))
        except ArithmeticError:
            assert found.partly_impossible
            continue
        # numpy's roots near 0 and 1 are no better than this.
        slack = 1e-7 * max(1.0, abs(value)) if "accuracy_for" in str(Expression(tree, "")) else 0.0
        slack += 2 * math.ulp(value)
        assert found.range.low - slack <= value <= found.range.high + slack


# Each rises or falls in every leaf over positive boxes, by inspection; signs: +1 rises.
MONOTONE = [
    ("[a] * [b] / 1000", {"a": 1, "b": 1}),
    ("[a] / [b] - 1", {"a": 1, "b": -1}),
    ("([a] - [b]) / [b]", {"a": 1, "b": -1}),
    ("[a] / ([a] + [b])", {"a": 1, "b": -1}),
    ("[a] * [b] / ([a] + [b])", {"a": 1, "b": 1}),
    ("[a] * [b] / [a] + [a] - [a]", {"b": 1}),
    ("min([a], [b]) - max([a], [c]) + [a] * 2", {"a": 1, "b": 1, "c": -1}),
    ("accept_length([a] / ([a] + 1), 3) * [b]", {"a": 1, "b": 1}),
    ("1 + [a] + [a]^2 - [c]^3", {"a": 1, "c": -1}),
    ("-(2 - [a]) * (3 + [b]) - [a] * [b] + 2 * [b] - 3 * [a] * 0", {"a": 1}),
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(MONOTONE), boxes)
def test_the_range_of_a_monotone_formula_is_that_of_two_corners(
    formula: tuple[str, dict[str, int]], box: dict[str, Range]
) -> None:
    """Where each leaf only raises or only lowers the result, its ends are those at the corners."""
    text, signs = formula
    expression = parse(text)
    root = expression.root
    assert not isinstance(root, Comparison)
    found = known(text, **box)
    low = {n: exactly(r.low if signs.get(n, 1) > 0 else r.high) for n, r in box.items()}
    high = {n: exactly(r.high if signs.get(n, 1) > 0 else r.low) for n, r in box.items()}
    assert found.is_tight
    assert found.range.low == pytest.approx(float(plain(root, low)), rel=1e-9, abs=1e-9)
    assert found.range.high == pytest.approx(float(plain(root, high)), rel=1e-9, abs=1e-9)
    middle = {n: exactly(r.mid) for n, r in box.items()}
    assert found.range.mid == float(plain(root, middle))


def test_a_quantity_used_twice_does_not_count_its_spread_twice() -> None:
    """[a]/[a] is 1, [a]-[a] is 0 and [a](1-[a]) has its maximum inside the range."""
    a = Range(0.4, 0.5, 0.8)
    assert ends("[a] / [a]", a=a) == (1, 1, 1)
    assert ends("[a] - [a]", a=a) == (0, 0, 0)
    low, mid, high = ends("[a] * (1 - [a])", a=a)
    assert (low, mid) == (pytest.approx(0.16, abs=1e-15), 0.25)
    assert 0.25 <= high <= 0.25 * (1 + 1e-8)
    assert ends("([a] + [b]) * 3 / ([a] + [b])", a=a, b=Range(1, 2, 3)) == (3, 3, 3)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("([a] - [b])^2", 0.0, 0.49),
        ("[a] * (1 - [a]) + [b] * (1 - [b])", 0.25, 0.5),
        ("[a] + 1 / [a] * 0.25", 1.0, 1.1125),
        ("max([a], 1 - [a])", 0.5, 0.8),
        ("steps_needed(1 + [a] * 4)", 2.0, 4.0),
    ],
)
def test_extremes_inside_the_box_are_found(text: str, low: float, high: float) -> None:
    """Extremes that are at no corner are bounded from outside, to the tolerance."""
    found = known(text, a=Range(0.4, 0.5, 0.8), b=Range(0.1, 0.3, 0.9))
    assert found.is_tight
    assert found.range.low == pytest.approx(low, abs=2e-9)
    assert found.range.high == pytest.approx(high, abs=2e-9)
    assert found.range.low <= low + 1e-15
    assert found.range.high >= high - 1e-15


def test_when_the_effort_is_spent_the_range_still_encloses() -> None:
    """A ridge that halving cannot settle is told as not tight, and its range holds the truth."""
    box = {"a": Range(0.4, 0.5, 0.8), "b": Range(0.1, 0.3, 0.9), "c": Range(0.2, 0.6, 0.7)}
    found = known("max([a], [b], [c]) - min([a], [b], [c])", **box)
    assert not found.is_tight
    assert -0.01 <= found.range.low <= 0
    assert 0.7 <= found.range.high <= 0.7 + 1e-9
    assert found == known("max([a], [b], [c]) - min([a], [b], [c])", **box)


def quantity(**fields: object) -> Quantity:
    return Quantity.model_validate({"unit": "1", **fields})


def test_the_percentage_of_the_old_result_over_its_roundings() -> None:
    """94 over 89 is 5.6 %, and 4.5 % to 6.8 % over the roundings of both."""
    low, mid, high = ends(
        "[new] / [old] - 1",
        new=quantity(value=94).with_rounding(),
        old=quantity(value=89).with_rounding(),
    )
    assert (round(low, 3), round(mid, 3), round(high, 3)) == (0.045, 0.056, 0.068)


def test_the_break_even_of_the_first_investigation() -> None:
    """82 to 83 tok/s at 30 ms is 2.46 to 2.49, and 2.40 to 2.55 with the roundings."""
    rate = quantity(low=82, high=83, value=82, range="observed")
    cycle = quantity(value=30)
    text = "[rate] * [cycle] / 1000"
    assert ends(text, rate=rate.stated(), cycle=cycle.stated()) == (2.46, 2.46, 2.49)
    low, _, high = ends(text, rate=rate.with_rounding(), cycle=cycle.with_rounding())
    assert (round(low, 2), round(high, 2)) == (2.40, 2.55)


def test_the_calibrated_break_even_over_claims() -> None:
    """Claims that name claims come to their leaves: 2.0 at 60 tok/s puts it at 2.73, 2.6 to 2.9."""
    leaves: dict[str, Leaf] = {
        "cycle": parse("[length] / [speculative] * 1000"),
        "even": parse("[rate] * [cycle] / 1000"),
        "length": quantity(value=2.0).with_rounding(),
        "speculative": quantity(low=59, high=61, range="observed").with_rounding(),
        "rate": quantity(value=82).with_rounding(),
    }
    found = known("[even]", **leaves)
    assert found.leaves == ("rate", "length", "speculative")
    assert found.range.mid == pytest.approx(82 * 2 / 60)
    assert found.range.low == pytest.approx(81.5 * 1.95 / 61.5)
    assert found.range.high == pytest.approx(82.5 * 2.05 / 58.5)
    # The baseline is one quantity in the claim and beside it.
    ratio = known("[even] / [rate]", **leaves).range
    assert ratio.high == pytest.approx(2.05 / 58.5, rel=1e-12)


def test_chain_functions_give_the_known_figures() -> None:
    """64 % over two steps is 2.0496 exactly; the inverse and the limits have their figures."""
    assert ends("accept_length(0.64, 2)") == (2.0496, 2.0496, 2.0496)
    assert ends("1 + 0.64 + 0.64^2") == (2.0496, 2.0496, 2.0496)
    assert ends("accuracy_for(2.0496, 2)") == (0.64, 0.64, 0.64)
    assert ends("accuracy_for(2.46, 2)")[1] == pytest.approx(0.808, abs=5e-4)
    assert ends("accuracy_for(2.46, 3)")[1] == pytest.approx(0.681, abs=5e-4)
    assert ends("accept_length_without_end(0.75)") == (4, 4, 4)
    assert ends("accuracy_without_end(4)") == (0.75, 0.75, 0.75)
    assert ends("steps_needed(4.5)") == (4, 4, 4)
    assert ends("accept_length_without_end([a])", a=Range(0.69, 0.7, 0.71))[0] == pytest.approx(
        1 / 0.31
    )


@settings(max_examples=60, deadline=None)
@given(decimal_ranges(), st.integers(1, 6))
def test_chain_functions_undo_each_other_over_ranges(figure: Range, steps: int) -> None:
    """accept_length of accuracy_for of a length is that length again, range and all."""
    top = steps + 1.0
    length = Range(*(1 + (top - 1) * end / 5 for end in (figure.low, figure.mid, figure.high)))
    again = known(f"accept_length(accuracy_for([l], {steps}), {steps})", l=length).range
    assert again.low == pytest.approx(length.low, rel=1e-9)
    assert again.mid == pytest.approx(length.mid, rel=1e-12)
    assert again.high == pytest.approx(length.high, rel=1e-9)


def test_steps_are_one_whole_number() -> None:
    """Steps may be a finding or a formula, but neither a fraction nor a range of them."""
    a = Range(0.6, 0.64, 0.7)
    assert known("accept_length([a], [k])", a=a, k=Range.exact(2)).range.mid == 2.0496
    low, _, high = ends("accuracy_for([l], steps_needed([l]))", l=Range(2.1, 2.5, 2.9))
    assert 1 + low + low**2 == pytest.approx(2.1)
    assert 1 + high + high**2 == pytest.approx(2.9)
    for k, why in ((Range(2, 2, 3), "one whole number"), (Range.exact(2.5), "must be whole")):
        found = evaluate(parse("accept_length([a], [k])"), from_leaves({"a": a, "k": k}))
        assert isinstance(found, Impossible)
        assert why in found.reason
    assert isinstance(evaluate(parse("accept_length(0.5, 101)"), from_leaves({})), Impossible)


def test_over_an_unknown_the_result_is_unknown() -> None:
    """Every unknown leaf is named with its reason, also through claims, and it is no error."""
    leaves: dict[str, Leaf] = {
        "x": Unknown("the texts do not say"),
        "y": Unknown("never measured"),
        "claim": parse("[x] * 0"),
        "a": Range.exact(1),
    }
    found = evaluate(parse("[a] / 0 + [claim] + [y]"), from_leaves(leaves))
    assert found == UnknownResult(
        "unknown because [x]: the texts do not say; [y]: never measured", ("x", "y")
    )
    assert judge(parse("[a] > [y]"), from_leaves(leaves)) == UnknownResult(
        "unknown because [y]: never measured", ("y",)
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / [z]", "division by [z], which may be 0: it ranges over -1 to 1"),
        ("1 / ([a] - 0.4)", "division by [a] - 0.4, which may be 0"),
        ("[a] / ([a] - [a])", "division by 0"),
        ("1 / 0", "division by 0"),
        ("accuracy_for(3.2, 2)", "3.2 is above the ceiling of 3 for 2 steps"),
        ("accuracy_for([a], 2)", "every cycle gives at least 1 token"),
        ("accuracy_for(1, 0)", "too short"),
        ("accept_length(2 + [a], 2)", "an accuracy lies between 0 and 1"),
        ("accept_length_without_end([near])", "may reach an accuracy of 1"),
        ("accept_length_without_end(1)", "never stops"),
        ("1e99^64", "beyond 1e300"),
        ("((0.001 + [a])^64)^64", "closer to 0 than 1e-300"),
    ],
)
def test_what_has_no_value_is_impossible_with_its_reason(text: str, why: str) -> None:
    """Poles, figures of no chain and numbers out of range give a reason and no figure."""
    leaves = {"z": Range(-1, 0.5, 1), "a": Range(0.4, 0.5, 0.8), "near": Range(0.9, 0.95, 1.0)}
    found = evaluate(parse(text), from_leaves(leaves))
    assert isinstance(found, Impossible)
    assert why in found.reason


def test_a_range_that_is_impossible_in_part_is_that_of_the_rest() -> None:
    """Above the ceiling at one end: the range is that of the feasible part, and says so."""
    found = known("accuracy_for([l], 2)", l=Range(2.4, 2.8, 3.3))
    assert found.partly_impossible is not None
    assert "in part of the range of [l]" in found.partly_impossible
    assert "3.3 is above the ceiling of 3 for 2 steps" in found.partly_impossible
    assert 1 + found.range.low + found.range.low**2 == pytest.approx(2.4)
    assert found.range.high == pytest.approx(1, abs=1e-8)
    assert known("accuracy_for([l], 2)", l=Range(2.4, 2.8, 3)).partly_impossible is None


def test_where_only_part_is_possible_other_leaves_keep_their_ends() -> None:
    """What lies only in the impossible part does not widen the range."""
    # 100 tok/s at 20 to 40 ms: above 30 ms two steps cannot give it, so 30 ms is the most.
    found = known("accuracy_for(100 * [t] / 1000, 2) * 0 + [t]", t=Range(20, 25, 40))
    assert found.partly_impossible
    assert (found.range.low, found.range.mid) == (20, 25)
    assert found.range.high == pytest.approx(30, rel=1e-8)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[a] >= 0.4", "holds"),
        ("[a] > 0.4", "undecided"),
        ("[a] < 0.9", "holds"),
        ("[a] <= 0.8", "holds"),
        ("[a] < 0.4", "fails"),
        ("[a] <= 0.4", "undecided"),
        ("[a] > 0.8", "fails"),
        ("[a] >= 0.6", "undecided"),
        ("[a] >= [a]", "holds"),
        ("[a] > [a]", "fails"),
        ("2 * [a] > [a]", "holds"),
        ("[a] * [b] >= [a] * 0.5 * [b] + 0.1", "holds"),
        ("[x] * 0.1 >= 0.3", "holds"),
        ("accuracy_for([l], 2) <= 1", "undecided"),
    ],
)
def test_verdicts(text: str, outcome: str) -> None:
    """A comparison holds for every value, fails for every value, or is undecided."""
    leaves = {
        "a": Range(0.4, 0.5, 0.8),
        "b": Range(1, 2, 3),
        "x": Range.exact(3),
        "l": Range(2.4, 2.8, 3.3),
    }
    found = judge(parse(text), from_leaves(leaves))
    assert isinstance(found, Verdict)
    assert found.outcome == outcome


def test_a_verdict_shows_both_sides_and_their_difference() -> None:
    """Sides are ranges of their own; the difference knows what they share."""
    found = judge(parse("[a] + [b] > [a]"), from_leaves({"a": Range(0, 5, 9), "b": Range(1, 2, 3)}))
    assert isinstance(found, Verdict)
    assert found.left.range == Range(1, 7, 12)
    assert found.right.range == Range(0, 5, 9)
    assert found.difference == Range(1, 2, 3)
    assert found.outcome == "holds"


@settings(max_examples=80, deadline=None)
@given(random_trees, random_trees, st.sampled_from([">=", "<=", ">", "<"]), boxes)
def test_a_verdict_that_is_decided_is_right_at_every_corner(
    left: Node, right: Node, sign: str, box: dict[str, Range]
) -> None:
    """What holds is true, and what fails is false, at the corners and the middle of the box."""
    assume("accuracy_for" not in str(Expression(Comparison(sign, left, right), "")))
    found = judge(Expression(Comparison(sign, left, right), ""), from_leaves(box))
    assume(isinstance(found, Verdict) and found.outcome != "undecided")
    assert isinstance(found, Verdict)
    for point in [
        *product(*((r.low, r.high) for r in box.values())),
        [r.mid for r in box.values()],
    ]:
        at = {name: exactly(value) for name, value in zip(box, point, strict=True)}
        x, y = plain(left, at), plain(right, at)
        true = {">=": x >= y, "<=": x <= y, ">": x > y, "<": x < y}[sign]
        assert true == (found.outcome == "holds")


def test_a_name_for_a_record_is_the_same_quantity() -> None:
    """A series given as its record's id is one quantity with that record."""
    leaves: dict[str, Leaf] = {"series": parse("[record]"), "record": Range(82, 82.5, 83)}
    assert ends("[series] / [record]", **leaves) == (1, 1, 1)


def test_claims_in_a_circle_are_refused() -> None:
    """A claim that comes back to itself is a FormulaError that shows the circle."""
    leaves: dict[str, Leaf] = {"a": parse("[b] + 1"), "b": parse("[a] * 2")}
    with pytest.raises(FormulaError, match="a → b → a"):
        evaluate(parse("[a]"), from_leaves(leaves))


def test_claims_too_deep_and_too_wide_are_refused_or_shared() -> None:
    """Fifty claims deep is refused; claims used twice at each level are computed once."""
    deep: dict[str, Leaf] = {f"c{i}": parse(f"[c{i + 1}]") for i in range(60)}
    with pytest.raises(FormulaError, match="more than 50 deep"):
        evaluate(parse("[c0]"), from_leaves({**deep, "c60": Range.exact(1)}))
    doubling: dict[str, Leaf] = {f"c{i}": parse(f"[c{i + 1}] + [c{i + 1}]") for i in range(40)}
    assert ends("[c0]", **doubling, c40=Range(1, 2, 3)) == (2**40, 2**41, 3 * 2**40)


def test_figures_and_comparisons_are_not_mixed_up() -> None:
    """A comparison has no figure, a figure no verdict, and a claim that names a gate is refused."""
    resolve = from_leaves({"gate": parse("1 > 0")})
    with pytest.raises(FormulaError, match="has no figure"):
        evaluate(parse("1 > 0"), resolve)
    with pytest.raises(FormulaError, match="neither holds nor fails"):
        judge(parse("1"), resolve)
    with pytest.raises(FormulaError, match="is a comparison"):
        evaluate(parse("[gate] + 1"), resolve)


def test_a_resolver_that_refuses_an_id_is_heard() -> None:
    """What the resolver raises for an id that does not exist reaches the caller."""
    with pytest.raises(KeyError):
        evaluate(parse("[nothing]"), from_leaves({}))
