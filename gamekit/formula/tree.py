"""The tree of a formula: its nodes, how they are written, and the ids they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

IN_TURN = "in_turn"


@dataclass(frozen=True)
class Number:
    """A number as it was written; its value is the decimal one, exactly."""

    text: str

    @property
    def value(self) -> Fraction:
        """The number without the rounding of a binary float."""
        return Fraction(self.text)


@dataclass(frozen=True)
class Reference:
    """The figure of a finding."""

    id: str


@dataclass(frozen=True)
class Negation:
    """Unary minus."""

    operand: Node


@dataclass(frozen=True)
class Operation:
    """Operands joined from left to right by + and -, or by * and /: an operator between two."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]

    @property
    def is_sum(self) -> bool:
        """Whether it binds as weakly as + and -."""
        return self.operators[0] in "+-"


@dataclass(frozen=True)
class Power:
    """A base to a constant whole exponent."""

    base: Node
    exponent: int


@dataclass(frozen=True)
class Call:
    """A function of the language with its arguments."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class InTurn:
    """How many times the figure ``below`` the figure ``above`` is, pair by pair.

    Both are ids of figures that were measured in turn, so that what drifted for both cancels.
    """

    above: str
    below: str


@dataclass(frozen=True)
class Comparison:
    """Two sides and ``>=``, ``<=``, ``>`` or ``<``: the predicate of a gate, only ever the root."""

    operator: str
    left: Node
    right: Node


Node = Number | Reference | InTurn | Negation | Operation | Power | Call


@dataclass(frozen=True)
class Expression:
    """A parsed formula. Two are equal when their trees are, however they were spaced.

    ``text`` is the formula as it was written; ``str()`` writes it in one normal way that parses to
    the same tree.
    """

    root: Node | Comparison
    text: str = field(compare=False)

    @property
    def is_predicate(self) -> bool:
        """Whether it is a comparison, which holds or fails, rather than a figure."""
        return isinstance(self.root, Comparison)

    @property
    def references(self) -> tuple[str, ...]:
        """The ids it names, each once, in the order of their first use."""
        return tuple(dict.fromkeys(_ids(self.root)))

    @property
    def figures(self) -> tuple[Reference | InTurn, ...]:
        """What it takes from findings, each once, in the order of first use."""
        return tuple(dict.fromkeys(_figures(self.root)))

    def __str__(self) -> str:
        if isinstance(self.root, Comparison):
            return f"{written(self.root.left)} {self.root.operator} {written(self.root.right)}"
        return written(self.root)


def _ids(node: Node | Comparison) -> Iterator[str]:
    for figure in _figures(node):
        if isinstance(figure, Reference):
            yield figure.id
        else:
            yield from (figure.above, figure.below)


def _figures(node: Node | Comparison) -> Iterator[Reference | InTurn]:
    if isinstance(node, Reference | InTurn):
        yield node
    for child in _children(node):
        yield from _figures(child)


def _children(node: Node | Comparison) -> tuple[Node, ...]:
    match node:
        case Negation(operand):
            return (operand,)
        case Operation(_, operands) | Call(_, operands):
            return operands
        case Power(base, _):
            return (base,)
        case Comparison(_, left, right):
            return (left, right)
        case _:
            return ()


def written(node: Node) -> str:  # noqa: PLR0911 - one case a kind of node
    """The node as text, with no more parentheses than its tree needs."""
    match node:
        case Number(text):
            return text
        case Reference(name):
            return f"[{name}]"
        case InTurn(above, below):
            return f"{IN_TURN}([{above}], [{below}])"
        case Negation(operand):
            return f"-{_wrapped(operand, isinstance(operand, Operation))}"
        case Power(base, exponent):
            return f"{_wrapped(base, isinstance(base, Operation | Negation | Power))}^{exponent}"
        case Call(name, arguments):
            return f"{name}({', '.join(map(written, arguments))})"
        case Operation(operators, operands):
            parts = [
                _wrapped(operand, isinstance(operand, Operation) and operand.is_sum >= node.is_sum)
                for operand in operands
            ]
            pairs = zip(operators, parts[1:], strict=True)
            return parts[0] + "".join(f" {operator} {part}" for operator, part in pairs)


def _wrapped(node: Node, in_parentheses: bool) -> str:
    return f"({written(node)})" if in_parentheses else written(node)
