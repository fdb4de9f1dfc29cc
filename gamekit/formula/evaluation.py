"""What a formula over findings comes to: a figure, unknown or impossible; or a verdict.

Everything is computed over the leaf quantities, so that one used twice does not count its spread
twice. Figures are taken as the decimals they are written as; the ends of a result are exact up to
the rounding to a float wherever the formula is monotone, and outer bounds in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from gamekit import speculation
from gamekit.errors import FormulaError
from gamekit.formula import exact, intervals
from gamekit.formula.bounds import Bounds, bounds
from gamekit.formula.enclosure import domain
from gamekit.formula.graph import (
    Builder,
    Graph,
    HasUnknown,
    Resolve,
    ResolveRatio,
    Step,
    WrittenOut,
    no_ratio,
)
from gamekit.formula.intervals import Interval
from gamekit.formula.tree import Comparison, Expression
from gamekit.ranges import Range
from gamekit.speculation import NoSuchChain

Outcome = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class Known:
    """A figure: ``range.mid`` from the leaves' mids, low and high over all their ranges.

    ``partly_impossible`` says why, where the formula has no value in part of those ranges; the
    range is then that of the rest. ``is_tight`` is False where the effort was spent before low and
    high were within 1e-9 of the true extremes: they still enclose every value. ``leaves`` are the
    ids of the quantities it rests on.
    """

    range: Range
    leaves: tuple[str, ...]
    partly_impossible: str | None = None
    is_tight: bool = True


@dataclass(frozen=True)
class UnknownResult:
    """No figure, since nobody knows those of ``ids``; ``reason`` reads on its own."""

    reason: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Impossible:
    """No value at the leaves' figures, or nothing bounds it; ``reason`` says why."""

    reason: str


@dataclass(frozen=True)
class Verdict:
    """Whether a comparison holds for every value the leaves may have, for none, or neither.

    ``difference`` is left minus right over the leaves. Where a side is impossible in part of the
    ranges the outcome is undecided, and the side says why.
    """

    outcome: Outcome
    left: Known
    right: Known
    difference: Range


Result = Known | UnknownResult | Impossible


def evaluate(expression: Expression, resolve: Resolve, ratio: ResolveRatio = no_ratio) -> Result:
    """The figure of a formula.

    ``resolve`` gives what an id stands for: a ``Range``, ``Unknown`` with its reason, or the
    ``Expression`` of a claim, which is computed over its own leaves; for an id that is another name
    of a record (a series and its current member) give the record's id as an expression, so that the
    two are one quantity. ``ratio`` gives what ``in_turn`` of two ids stands for, a quantity of its
    own beside both. They raise for an id that does not exist. Raises ``FormulaError`` for a
    comparison, and where claims name each other in a circle.
    """
    if expression.is_predicate:
        raise FormulaError("a comparison has no figure", mend="use it as a gate")
    written_out = _written_out(expression, resolve, ratio)
    return _figure(written_out) if isinstance(written_out, WrittenOut) else written_out


def judge(
    expression: Expression, resolve: Resolve, ratio: ResolveRatio = no_ratio
) -> Verdict | UnknownResult | Impossible:
    """Whether a comparison holds. ``resolve``, ``ratio`` and errors as in ``evaluate``.

    Raises ``FormulaError`` for a formula that compares nothing.
    """
    if not isinstance(expression.root, Comparison):
        raise FormulaError("a figure neither holds nor fails", mend="compare it: [id] >= …")
    written_out = _written_out(expression, resolve, ratio)
    if not isinstance(written_out, WrittenOut):
        return written_out
    return _verdict(written_out, expression.root.operator)


# Documents ask for the same formulas over the same figures again and again, and so does every
# rendering of a knowledge base in which one figure changed; to prove a range takes milliseconds.
@lru_cache(maxsize=4096)
def _figure(written_out: WrittenOut) -> Known | Impossible:
    parts = _Parts(written_out.graph())
    try:
        return parts.known(written_out.places[0])
    except exact.NoValue as fault:
        return Impossible(fault.reason)


@lru_cache(maxsize=1024)
def _verdict(written_out: WrittenOut, operator: str) -> Verdict | Impossible:
    graph = written_out.graph()
    parts = _Parts(graph)
    try:
        left, right = (parts.known(place) for place in written_out.places)
        place = graph.joined("-", *written_out.places)
        difference = parts.bounds(place)
        known = parts.known(place)
    except exact.NoValue as fault:
        return Impossible(fault.reason)
    outcome = _outcome(operator, difference)
    if left.partly_impossible or right.partly_impossible:
        outcome = "undecided"
    return Verdict(outcome, left, right, known.range)


def _outcome(operator: str, difference: Bounds) -> Outcome:
    low, high = difference.low, difference.high
    if operator in ("<", "<="):
        low, high = -high, -low
    or_equal = operator.endswith("=")
    if low > 0 or (or_equal and low == 0):
        return "holds"
    if high < 0 or (not or_equal and high == 0):
        return "fails"
    return "undecided"


def _written_out(
    expression: Expression, resolve: Resolve, ratio: ResolveRatio
) -> WrittenOut | UnknownResult | Impossible:
    builder = Builder(resolve, ratio)
    try:
        return builder.graph.written_out(builder.sides(expression))
    except HasUnknown as unknown:
        reasons = "; ".join(f"[{name}]: {reason}" for name, reason in unknown.reasons.items())
        return UnknownResult(f"unknown because {reasons}", tuple(unknown.reasons))
    except exact.NoValue as fault:
        return Impossible(fault.reason)


class _Parts:
    """A formula written out over its leaves, with what is proven of its parts so far."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._middle = [exact.decimal(figure.mid) for figure in self._graph.variables]
        self._limits: dict[int, Interval] = {}
        self._bounds: dict[int, Bounds] = {}

    def bounds(self, place: int) -> Bounds:
        """Bounds of one step over the leaves' ranges, remembered."""
        if place not in self._bounds:
            self._bounds[place] = bounds(self._graph, place, self._limits)
        return self._bounds[place]

    def known(self, place: int) -> Known:
        """The figure of one step; raises ``exact.NoValue`` where it has none at the middle."""
        middle = self._graph.at(place, self._middle)
        # The parts first: what they are known to be keeps divisors off 0 and arguments in place.
        beyond = [
            reason
            for part in self._graph.needed_for(place)
            if (reason := self._checked(self._graph.steps[part])) is not None
        ]
        found = self.bounds(place)
        figure = Range(float(min(found.low, middle)), float(middle), float(max(found.high, middle)))
        return Known(
            figure,
            tuple(self._graph.leaves),
            "; ".join(dict.fromkeys(beyond)) or None,
            found.tight,
        )

    def _checked(self, step: Step) -> str | None:
        """Why ``step`` has no value in part of the ranges; raises ``exact.NoValue`` at a pole."""
        if step.operation == "divide":
            divisor = self._proven(step.arguments[1])
            if divisor.low <= 0 <= divisor.high:
                raise exact.NoValue(
                    f"division by {self._graph.texts[step.arguments[1]]},"
                    f" which may be 0: it ranges over {_spoken(divisor)}"
                )
            return None
        if step.operation not in exact.CHAIN_FUNCTIONS:
            return None
        steps = self._steps(step.arguments[1]) if len(step.arguments) == 2 else 0
        argument = self._proven(step.arguments[0])
        text = self._graph.texts[step.arguments[0]]
        low, high = domain(step.operation, steps)
        if step.operation == "accept_length_without_end" and argument.high >= 1:
            raise exact.NoValue(
                f"{text} may reach an accuracy of 1, where a chain without end never stops:"
                f" it ranges over {_spoken(argument)}"
            )
        for end, is_beyond in (
            (argument.attained_low, argument.low < low),
            (argument.attained_high, argument.high > high),
        ):
            if is_beyond and end is not None and not low <= end <= high:
                return f"in part of the range of {text}: {_refusal(step.operation, end, steps)}"
        return None

    def _steps(self, place: int) -> int:
        found = self._proven(place)
        if found.low != found.high:
            raise exact.NoValue(
                f"the number of steps {self._graph.texts[place]} must be one whole number,"
                f" not {_spoken(found)}"
            )
        return exact.steps_of(found.low)

    def _proven(self, place: int) -> Bounds:
        found = self.bounds(place)
        self._limits[place] = (
            intervals.enclosing(found.low)[0],
            intervals.enclosing(found.high)[1],
        )
        return found


def _refusal(operation: str, argument: Fraction, steps: int) -> str:
    try:
        if operation.startswith("accept_length"):
            speculation.require_accuracy(argument)
        else:
            speculation.require_accept_length(
                argument, steps if operation == "accuracy_for" else None
            )
    except NoSuchChain as fault:
        return fault.reason
    raise AssertionError(f"{operation} has a value at {argument}")


def _spoken(found: Bounds) -> str:
    return f"{float(found.low):.6g} to {float(found.high):.6g}"
