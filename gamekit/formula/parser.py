"""Reading the text of a formula into its tree, with errors that name the column and the remedy.

    predicate  = sum [ (">=" | "<=" | ">" | "<") sum ]
    sum        = product { ("+" | "-") product }
    product    = factor { ("*" | "/") factor }
    factor     = "-" factor | atom [ "^" whole number ]
    atom       = number | "[" id "]" | "(" sum ")" | function "(" sum { "," sum } ")"
               | "in_turn" "(" "[" id "]" "," "[" id "]" ")"

There are no names but the functions', no attributes, and nothing is ever handed to Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gamekit.errors import FormulaError
from gamekit.formula.tree import (
    IN_TURN,
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
)

MAX_LENGTH = 500
MAX_NESTING = 30
MAX_EXPONENT = 64
MAX_DIGITS = 40

# Fewest and most arguments; None where there is no most.
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "min": (2, None),
    "max": (2, None),
    "accept_length": (2, 2),
    "accuracy_for": (2, 2),
    "accept_length_without_end": (1, 1),
    "accuracy_without_end": (1, 1),
    "steps_needed": (1, 1),
}
COMPARISONS = (">=", "<=", ">", "<")

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<reference>\[[^\[\]]*\])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>>=|<=|[-+*/^(),<>])"
)
_REMEDIES = {
    "[": "close the reference: [id]",
    "]": "open the reference: [id]",
    "%": "write a share as a number: 0.05 for 5 %",
    "=": "compare with >=, <=, > or <",
    "!": "compare with >=, <=, > or <",
    ".": "write a digit on both sides of the point: 0.5",
}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


def parse(text: str) -> Expression:
    """The formula that ``text`` writes.

    Raises ``FormulaError``, with the column and how to mend it, for everything else; the caller
    adds file, line and finding.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"formula of {len(text)} characters, more than the {MAX_LENGTH} allowed",
            mend="split it into claims that name each other",
        )
    return Expression(_Parser(_tokens(text)).predicate(), text.strip())


def _fault(column: int, what: str, mend: str) -> FormulaError:
    return FormulaError(f"formula, column {column}: {what}", mend=mend)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            char = text[position]
            raise _fault(
                position + 1,
                f"{char!r} has no meaning here",
                _REMEDIES.get(char, "use numbers, [ids], + - * / ^, parentheses and functions"),
            )
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match.group(), position + 1))
        position = match.end()
    tokens.append(_Token("end", "", len(text) + 1))
    return tokens


class _Parser:
    """Recursive descent over the tokens; one method a rule of the grammar."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._next
        self._position += 1
        return token

    def _next_is(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def predicate(self) -> Node | Comparison:
        left = self._sum()
        root: Node | Comparison = left
        if self._next_is(*COMPARISONS):
            root = Comparison(self._take().text, left, self._sum())
        if self._next_is(*COMPARISONS):
            raise _fault(self._next.column, "a second comparison", "compare two sides only")
        if self._next.kind != "end":
            raise self._unexpected("an operator or the end")
        return root

    def _sum(self) -> Node:
        return self._joined(self._product, "+", "-")

    def _product(self) -> Node:
        return self._joined(self._factor, "*", "/")

    def _joined(self, operand: Callable[[], Node], *signs: str) -> Node:
        operands = [operand()]
        operators = []
        while self._next_is(*signs):
            operators.append(self._take().text)
            operands.append(operand())
        return Operation(tuple(operators), tuple(operands)) if operators else operands[0]

    def _factor(self) -> Node:
        if self._next_is("-"):
            self._take()
            return Negation(self._nested(self._factor))
        atom = self._atom()
        if not self._next_is("^"):
            return atom
        self._take()
        return Power(atom, self._exponent())

    def _exponent(self) -> int:
        token = self._take()
        whole = token.kind == "number" and token.text.isdigit() and len(token.text) <= MAX_DIGITS
        if not whole or int(token.text) > MAX_EXPONENT:
            raise _fault(
                token.column,
                "the exponent is not a whole number that is written out",
                f"write one from 0 to {MAX_EXPONENT}",
            )
        return int(token.text)

    def _nested(self, rule: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _fault(
                self._next.column,
                f"nested more than {MAX_NESTING} deep",
                "split it into claims that name each other",
            )
        node = rule()
        self._depth -= 1
        return node

    def _atom(self) -> Node:
        token = self._next
        if token.kind == "number":
            self._take()
            return Number(_number(token))
        if token.kind == "reference":
            self._take()
            return Reference(_id(token))
        if token.kind == "name":
            return self._call()
        if self._next_is("("):
            self._take()
            node = self._nested(self._sum)
            self._close(token)
            return node
        raise self._unexpected("a number, an [id], a function or '('")

    def _call(self) -> Node:
        name = self._take()
        if name.text == IN_TURN:
            return self._in_turn(name)
        if name.text not in FUNCTIONS:
            raise _fault(
                name.column,
                f"there is no function {name.text!r}",
                f"write an id in brackets, [id], or use one of {', '.join((*FUNCTIONS, IN_TURN))}",
            )
        if not self._next_is("("):
            raise _fault(self._next.column, f"{name.text} has no arguments", f"{name.text}(…)")
        bracket = self._take()
        arguments = [self._nested(self._sum)]
        while self._next_is(","):
            self._take()
            arguments.append(self._nested(self._sum))
        self._close(bracket)
        fewest, most = FUNCTIONS[name.text]
        if len(arguments) < fewest or (most is not None and len(arguments) > most):
            wanted = f"{fewest}" if most is not None else f"{fewest} or more"
            raise _fault(
                name.column,
                f"{name.text} with {len(arguments)} argument{'s' * (len(arguments) != 1)}",
                f"give it {wanted}",
            )
        return Call(name.text, tuple(arguments))

    def _in_turn(self, name: _Token) -> Node:
        ids: list[str] = []
        for sign in ("(", ",", ")"):
            if not self._next_is(sign):
                break
            self._take()
            if sign != ")" and self._next.kind == "reference":
                ids.append(_id(self._take()))
        else:
            if len(ids) == 2:
                return InTurn(*ids)
        raise _fault(
            name.column,
            f"{IN_TURN} takes two ids and nothing else",
            f"write {IN_TURN}([what is divided], [what it is divided by])",
        )

    def _close(self, opened: _Token) -> None:
        if self._next_is(")"):
            self._take()
        elif self._next_is(*COMPARISONS):
            raise _fault(
                self._next.column,
                "a comparison inside parentheses",
                "compare once, outside all parentheses",
            )
        else:
            raise self._unexpected(f"')' for the '(' of column {opened.column}")

    def _unexpected(self, wanted: str) -> FormulaError:
        token = self._next
        found = "the formula ends" if token.kind == "end" else f"found {token.text!r}"
        if token.text == "*" and self._tokens[self._position - 1].text == "*":
            return _fault(token.column, "'**' has no meaning here", "write a power as [id]^2")
        return _fault(token.column, f"{found} where {wanted} should be", f"put {wanted} there")


def _number(token: _Token) -> str:
    digits, _, exponent = token.text.lower().partition("e")
    # Longer ones could ask for integers of any size, and none is a measured figure.
    if len(digits) > MAX_DIGITS or len(exponent) > 3 or abs(int(exponent or 0)) > 99:
        raise _fault(
            token.column,
            "a number too long or too large",
            f"use at most {MAX_DIGITS} digits and an exponent from -99 to 99",
        )
    return token.text


def _id(token: _Token) -> str:
    name = token.text[1:-1]
    if _ID.fullmatch(name) is None:
        raise _fault(
            token.column,
            f"{name!r} is not an id",
            "an id has small letters, digits, '.', '_' and '-', and begins with a letter or digit",
        )
    return name
