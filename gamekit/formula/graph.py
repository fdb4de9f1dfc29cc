"""A formula as a list of operations, each after those it uses: equal parts stand in it once.

Claims that name claims are written out here down to the leaf quantities they all rest on, so a
quantity used in two of them is one variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from gamekit.errors import FormulaError
from gamekit.formula import exact
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
from gamekit.ranges import Range

MAX_CLAIMS_DEEP = 50
MAX_OPERATIONS = 5000


@dataclass(frozen=True)
class Unknown:
    """What a reference leads to when nobody knows the figure; ``reason`` says why."""

    reason: str


@dataclass(frozen=True)
class Ratio:
    """The ratio of two figures that were measured in turn, and the ids of what it rests on."""

    range: Range
    leaves: tuple[str, ...]


Resolved = Range | Unknown | Expression
Resolve = Callable[[str], Resolved]
# The ratio of the first id's figure to the second's.
ResolveRatio = Callable[[str, str], Ratio | Unknown]


def no_ratio(above: str, below: str) -> Ratio | Unknown:
    """For formulas over numbers, of which none was measured in turn with another."""
    return Unknown(f"nothing tells that it was measured in turn with [{below}], as [{above}]")


class Step(NamedTuple):
    """A constant, a variable (by number), or an operation of ``exact.apply`` on earlier steps."""

    operation: str
    arguments: tuple[int, ...] = ()
    constant: Fraction = Fraction(0)
    number: int = 0


class HasUnknown(Exception):
    """The formula rests on quantities nobody knows: reasons by id."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__()
        self.reasons = reasons


@dataclass
class Graph:
    """Steps in an order of evaluation, the variables' ranges, and the text a step came from."""

    steps: list[Step] = field(default_factory=list)
    variables: list[Range] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    _places: dict[Step, int] = field(default_factory=dict)

    def put(self, step: Step) -> int:
        """The place of ``step``, which is added when it is new.

        An operation on constants is carried out at once, which raises ``exact.NoValue`` where it
        has no value.
        """
        if step.operation not in ("constant", "variable") and all(
            self.steps[place].operation == "constant" for place in step.arguments
        ):
            values = [self.steps[place].constant for place in step.arguments]
            value = exact.apply(step.operation, values, step.number)
            step = Step("constant", constant=value)
        if step not in self._places:
            if len(self.steps) >= MAX_OPERATIONS:
                raise FormulaError(
                    f"more than {MAX_OPERATIONS} operations, with those of the claims it names",
                    mend="let claims name fewer claims",
                )
            self._places[step] = len(self.steps)
            self.steps.append(step)
        return self._places[step]

    def constant(self, value: Fraction) -> int:
        """The place of a constant."""
        return self.put(Step("constant", constant=value))

    def needed_for(self, output: int) -> list[int]:
        """The places ``output`` rests on and itself, in an order of evaluation."""
        needed = set()
        waiting = [output]
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting.extend(self.steps[place].arguments)
        return sorted(needed)

    def at(self, output: int, point: list[Fraction]) -> Fraction:
        """The exact value at a point, one number a variable; raises ``exact.NoValue``."""
        values: dict[int, Fraction] = {}
        for place in self.needed_for(output):
            operation, arguments, constant, number = self.steps[place]
            if operation == "constant":
                values[place] = constant
            elif operation == "variable":
                values[place] = point[number]
            else:
                values[place] = exact.apply(operation, [values[a] for a in arguments], number)
        return values[output]

    def joined(self, operator: str, left: int, right: int) -> int:
        """The place of ``left operator right``."""
        if operator == "-":
            right = self.put(Step("negate", (right,)))
        operation = {"+": "add", "-": "add", "*": "multiply", "/": "divide"}[operator]
        return self.put(Step(operation, (left, right)))

    def written_out(self, places: tuple[int, ...]) -> WrittenOut:
        """The graph as a value, ``places`` being those that are asked for."""
        return WrittenOut(
            tuple(self.steps),
            tuple(self.variables),
            tuple(self.leaves),
            tuple(self.texts.items()),
            places,
        )


class WrittenOut(NamedTuple):
    """A formula over its leaves: all that its figure rests on, so that equal ones have the same."""

    steps: tuple[Step, ...]
    variables: tuple[Range, ...]
    leaves: tuple[str, ...]
    texts: tuple[tuple[int, str], ...]
    places: tuple[int, ...]

    def graph(self) -> Graph:
        """A graph of its own, to which steps may be added."""
        return Graph(
            list(self.steps),
            list(self.variables),
            list(self.leaves),
            dict(self.texts),
            {step: place for place, step in enumerate(self.steps)},
        )


class Builder:
    """Builds the graph of one formula and of the claims it names."""

    def __init__(self, resolve: Resolve, ratio: ResolveRatio) -> None:
        self.graph = Graph()
        self._resolve = resolve
        self._ratio = ratio
        self._ratios: dict[InTurn, int] = {}
        self._places: dict[str, int] = {}
        self._claims: dict[str, Expression] = {}
        self._unknown: dict[str, str] = {}

    def sides(self, expression: Expression) -> tuple[int, ...]:
        """The place of a figure, or those of the two sides of a comparison.

        Raises ``HasUnknown``, ``exact.NoValue`` and, where claims name each other in a circle, too
        deeply, or name a comparison, ``FormulaError``.
        """
        order: list[str] = []
        self._look_up_all(expression, (), order)
        if self._unknown:
            raise HasUnknown(self._unknown)
        for name in order:
            root = self._claims[name].root
            assert not isinstance(root, Comparison)  # noqa: S101 - _look_up refused it
            self._places[name] = self._place(root)
        root = expression.root
        if isinstance(root, Comparison):
            return (self._place(root.left), self._place(root.right))
        return (self._place(root),)

    def _look_up_all(self, expression: Expression, path: tuple[str, ...], order: list[str]) -> None:
        for figure in expression.figures:
            if isinstance(figure, Reference):
                self._look_up(figure.id, path, order)
            elif figure not in self._ratios:
                found = self._ratio(figure.above, figure.below)
                if isinstance(found, Unknown):
                    self._unknown[figure.above] = found.reason
                else:
                    self._ratios[figure] = self._leaf(found.leaves, found.range)

    def _look_up(self, name: str, path: tuple[str, ...], order: list[str]) -> None:
        """Resolves ``name`` and what it names; ``order`` gets the claims, each after its own."""
        if name in path:
            circle = " → ".join([*path[path.index(name) :], name])
            raise FormulaError(
                f"claims name each other in a circle: {circle}",
                mend="take one of these references out",
            )
        if name in self._places or name in self._claims or name in self._unknown:
            return
        found = self._resolve(name)
        if isinstance(found, Unknown):
            self._unknown[name] = found.reason
        elif isinstance(found, Range):
            self._places[name] = self._leaf((name,), found)
        else:
            if found.is_predicate:
                raise FormulaError(
                    f"[{name}] is a comparison and has no figure", mend="name a claim with a figure"
                )
            if len(path) >= MAX_CLAIMS_DEEP:
                raise FormulaError(
                    f"claims name each other more than {MAX_CLAIMS_DEEP} deep at [{name}]",
                    mend="let it name its leaf findings",
                )
            self._look_up_all(found, (*path, name), order)
            self._claims[name] = found
            order.append(name)

    def _leaf(self, names: tuple[str, ...], figure: Range) -> int:
        graph = self.graph
        graph.leaves += [name for name in names if name not in graph.leaves]
        if figure.is_exact:
            return graph.constant(exact.decimal(figure.mid))
        graph.variables.append(figure)
        return graph.put(Step("variable", number=len(graph.variables) - 1))

    def _place(self, node: Node) -> int:
        place = self._built(node)
        self.graph.texts.setdefault(place, written(node))
        return place

    def _built(self, node: Node) -> int:  # noqa: PLR0911 - one case a kind of node
        put = self.graph.put
        match node:
            case Number():
                return self.graph.constant(node.value)
            case Reference(name):
                return self._places[name]
            case InTurn():
                return self._ratios[node]
            case Negation(operand):
                return put(Step("negate", (self._place(operand),)))
            case Power(base, exponent):
                return put(Step("power", (self._place(base),), number=exponent))
            case Call(name, arguments):
                places = [self._place(argument) for argument in arguments]
                if name in ("min", "max"):
                    return reduce(lambda left, right: put(Step(name, (left, right))), places)
                return put(Step(name, tuple(places)))
            case Operation(operators, operands):
                place = self._place(operands[0])
                for operator, operand in zip(operators, operands[1:], strict=True):
                    place = self.graph.joined(operator, place, self._place(operand))
                return place
