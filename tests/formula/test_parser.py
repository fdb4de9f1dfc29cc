"""Reading and writing formulas."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.errors import FormulaError
from gamekit.formula.parser import FUNCTIONS, MAX_LENGTH, parse
from gamekit.formula.tree import (
    Call,
    Comparison,
    Expression,
    InTurn,
    Negation,
    Node,
    Number,
    Operation,
    Power,
    Reference,
    written,
)

numbers = st.sampled_from(["0", "1", "2.0", "0.64", "1000", "1e3", "2.5E-3"]).map(Number)
names = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,5}\Z")
ids = names.map(Reference) | st.builds(InTurn, names, names)


def _operations(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def joined(signs: str) -> st.SearchStrategy[Node]:
        return st.lists(st.tuples(st.sampled_from(signs), nodes), min_size=1, max_size=3).flatmap(
            lambda rest: nodes.map(
                lambda first: Operation(
                    tuple(sign for sign, _ in rest), (first, *(node for _, node in rest))
                )
            )
        )

    calls = st.sampled_from(sorted(FUNCTIONS)).flatmap(
        lambda name: st.lists(
            nodes, min_size=FUNCTIONS[name][0], max_size=FUNCTIONS[name][1] or 3
        ).map(lambda arguments: Call(name, tuple(arguments)))
    )
    powers = st.builds(Power, nodes, st.integers(0, 64))
    return joined("+-") | joined("*/") | calls | powers | nodes.map(Negation)


trees: st.SearchStrategy[Node] = st.recursive(numbers | ids, _operations, max_leaves=8)
comparisons = st.builds(Comparison, st.sampled_from([">=", "<=", ">", "<"]), trees, trees)


@given(trees | comparisons)
def test_writing_and_parsing_give_the_same_tree(root: Node | Comparison) -> None:
    """A tree written as text is read back as the same tree, with the same ids."""
    expression = Expression(root, "")
    text = str(expression)
    if len(text) <= MAX_LENGTH:
        again = parse(text)
        assert again.root == root
        assert again == expression
        assert str(again) == text
        assert again.references == expression.references
        assert again.is_predicate == isinstance(root, Comparison)


@given(
    st.text(max_size=60)
    | st.text(alphabet="[]()+-*/^<>=,.ab1 e", max_size=60)
    | st.lists(
        st.sampled_from(["[a]", "1", "+", "-", "*", "/", "(", ")", "^", "min(", ",", ">=", "2"]),
        max_size=25,
    ).map(" ".join)
)
def test_any_text_is_a_formula_or_a_formula_error(text: str) -> None:
    """Whatever is written, the parser gives a tree that reads back, or a FormulaError to mend."""
    try:
        expression = parse(text)
    except FormulaError as fault:
        told = fault
    else:
        assert parse(str(expression)) == expression
        return
    assert told.mend
    assert "\n" not in str(told)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("[a]+[b]*[c]", "[a] + [b] * [c]"),
        ("([a]+[b])*[c]", "([a] + [b]) * [c]"),
        ("[a]-([b]-[c])", "[a] - ([b] - [c])"),
        ("([a]-[b])-[c]", "([a] - [b]) - [c]"),
        ("-[a]^2", "-[a]^2"),
        ("(-[a])^2", "(-[a])^2"),
        ("[a]*-[b]", "[a] * -[b]"),
        ("--1", "--1"),
        ("-([a]*2)", "-([a] * 2)"),
        ("  min( [a] ,\n1e3 ) >= 2", "min([a], 1e3) >= 2"),
        ("((([a])))", "[a]"),
        ("in_turn( [a],[b] )*2", "in_turn([a], [b]) * 2"),
    ],
)
def test_the_normal_way_of_writing(text: str, normal: str) -> None:
    """Spaces and needless parentheses go, those that matter stay."""
    assert str(parse(text)) == normal


def test_operators_bind_as_usual() -> None:
    """Power before sign, sign before product, product before sum."""
    assert parse("-[a]^2").root == Negation(Power(Reference("a"), 2))
    assert parse("1 - [a] * 2").root == Operation(
        ("-",), (Number("1"), Operation(("*",), (Reference("a"), Number("2"))))
    )
    assert parse("-[a] * 2").root == Operation(("*",), (Negation(Reference("a")), Number("2")))


def test_an_expression_tells_its_ids_text_and_kind() -> None:
    """Ids come once, in the order of first use; the text is the one that was given."""
    expression = parse(" [b]*[a.1-x_2] + [b] > max([c], 2) ")
    assert expression.references == ("b", "a.1-x_2", "c")
    assert expression.text == "[b]*[a.1-x_2] + [b] > max([c], 2)"
    assert expression.is_predicate
    assert not parse("[a]").is_predicate
    assert written(parse("[a]").root) == "[a]"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "column", "mend"),
    [
        ("", 1, "put a number"),
        ("[a] +", 6, "put a number"),
        ("[a] [b]", 5, "put an operator"),
        ("[a] * (1 + 2", 13, "put ')' for the '(' of column 7"),
        ("[a", 1, "close the reference"),
        ("a]", 2, "open the reference"),
        ("a.b", 2, "write a digit on both sides"),
        ("[A b]", 1, "an id has small letters"),
        ("[]", 1, "an id has small letters"),
        ("baseline * 2", 1, "write an id in brackets, [id]"),
        ("__import__(1)", 1, "write an id in brackets"),
        ("f('os')", 3, "use numbers, [ids]"),
        ("[a].real", 4, "write a digit on both sides"),
        (".5", 1, "write a digit on both sides"),
        ("5 %", 3, "write a share as a number"),
        ("[a] == 2", 5, "compare with >="),
        ("[a] > 1 > 0", 9, "compare two sides only"),
        ("([a] > 1)", 6, "compare once, outside"),
        ("[a] ** 2", 6, "write a power as [id]^2"),
        ("[a]^[b]", 5, "write one from 0 to 64"),
        ("[a]^0.5", 5, "write one from 0 to 64"),
        ("[a]^65", 5, "write one from 0 to 64"),
        ("[a]^" + "9" * 300, 5, "write one from 0 to 64"),
        ("[a]^2^2", 6, "put an operator"),
        ("min([a])", 1, "give it 2 or more"),
        ("steps_needed(1, 2)", 1, "give it 1"),
        *(
            (text, 1, "write in_turn([what is divided], [what it is divided by])")
            for text in (
                *(
                    "in_turn",
                    "in_turn([a])",
                    "in_turn([a], 2)",
                    "in_turn(2, [a])",
                    "in_turn([a][b])",
                ),
                *("in_turn([a], [b], [c])", "in_turn([a], [b] + 1)", "in_turn([a], [b]"),
            )
        ),
        ("min", 4, "min(…)"),
        ("accept_length()", 15, "put a number"),
        ("1e999", 1, "an exponent from -99 to 99"),
        ("1" * 60, 1, "at most 40 digits"),
        ("٣", 1, "use numbers, [ids]"),
    ],
)
def test_errors_name_the_column_and_the_remedy(text: str, column: int, mend: str) -> None:
    """Each malformed formula is refused where it is wrong, with how to write it."""
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert f"column {column}:" in caught.value.message
    assert caught.value.mend is not None
    assert mend in caught.value.mend


def test_length_and_nesting_are_limited() -> None:
    """A formula too long or too deep is refused before it can cost anything."""
    for text in ("1+" * 250 + "1", "(" * 60 + "1" + ")" * 60, "-" * 60 + "1"):
        with pytest.raises(FormulaError, match="more than"):
            parse(text)
    assert parse("1" + "+1" * 249).references == ()
    assert parse("(" * 30 + "1" + ")" * 30).root == Number("1")


def test_no_function_is_a_python_name_that_does_something() -> None:
    """Only the seven functions are callable; every builtin and module name is refused."""
    for name in ("eval", "exec", "open", "os", "print", *string.ascii_lowercase):
        with pytest.raises(FormulaError, match="no function"):
            parse(f"{name}(1)")
