"""Value and slopes of a formula over a box of its variables, enclosed by interval arithmetic.

Slopes come with the values, by forward differentiation (Moore, Kearfott, Cloud 2009, chapter 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gamekit import speculation
from gamekit.formula import exact, intervals
from gamekit.formula.graph import Graph, Step
from gamekit.formula.intervals import LINE, ONE, ZERO, Interval

# Enclosures of the derivative by each variable; one that is missing is 0.
Slopes = dict[int, Interval]


class Outside(Exception):
    """The formula has no value anywhere in the box."""


@dataclass(frozen=True)
class Enclosure:
    """Everything the formula and its slopes can be over a box.

    ``clamped`` says that it may have no value in part of the box: there the nearest arguments that
    have one stand in, which keeps it continuous.
    """

    value: Interval
    slopes: Slopes
    clamped: bool


class Enclosing:
    """One output of a graph, made ready to be enclosed over many boxes.

    ``limits`` are proven ranges of steps over the whole box. ``work`` is about how many interval
    operations one enclosure takes, at most.
    """

    def __init__(self, graph: Graph, output: int, limits: dict[int, Interval]) -> None:
        self._steps = [(place, graph.steps[place]) for place in graph.needed_for(output)]
        self._constants = {
            place: intervals.enclosing(step.constant)
            for place, step in self._steps
            if step.operation == "constant"
        }
        self._limits = limits
        self._output = output
        variables = sum(step.operation == "variable" for _, step in self._steps)
        self.work = (1 + variables) * sum(
            exact.MAX_STEPS if step.operation in ("accept_length", "accuracy_for") else 1
            for _, step in self._steps
        )

    def over(self, box: list[Interval]) -> Enclosure:
        """The enclosure over ``box``, one interval a variable; raises ``Outside``."""
        values: dict[int, Interval] = {}
        slopes: dict[int, Slopes] = {}
        clamped = False
        for place, step in self._steps:
            if step.operation == "constant":
                value, slope = self._constants[place], {}
            elif step.operation == "variable":
                value, slope = box[step.number], {step.number: ONE}
            elif step.operation in _CHAIN:
                value, slope, beyond = _call(step, values, slopes)
                clamped = clamped or beyond
            else:
                value, slope = _arithmetic(step, values, slopes)
            limit = self._limits.get(place)
            values[place] = value if limit is None else intervals.meet(value, limit)
            slopes[place] = slope
        return Enclosure(values[self._output], slopes[self._output], clamped)


def _arithmetic(  # noqa: PLR0911 - one case an operation
    step: Step, values: dict[int, Interval], slopes: dict[int, Slopes]
) -> tuple[Interval, Slopes]:
    first, last = step.arguments[0], step.arguments[-1]
    u, v = values[first], values[last]
    du, dv = slopes[first], slopes[last]
    match step.operation:
        case "add":
            return intervals.add(u, v), _plus(du, dv)
        case "negate":
            return intervals.negate(u), {i: intervals.negate(d) for i, d in du.items()}
        case "multiply":
            return intervals.multiply(u, v), _plus(_times(du, v), _times(dv, u))
        case "divide":
            quotient = intervals.divide(u, v)
            change = _plus(du, _times(dv, intervals.negate(quotient)))
            return quotient, {i: intervals.divide(d, v) for i, d in change.items()}
        case "power" if step.number == 0:
            return ONE, {}
        case "power":
            n = float(step.number)
            slope = intervals.multiply((n, n), intervals.power(u, step.number - 1))
            return intervals.power(u, step.number), _times(du, slope)
        case "min":
            return (min(u[0], v[0]), min(u[1], v[1])), _either(du, dv, u, v)
    return (max(u[0], v[0]), max(u[1], v[1])), _either(dv, du, u, v)


def _either(if_below: Slopes, if_above: Slopes, u: Interval, v: Interval) -> Slopes:
    """Slopes of the first where ``u`` is below ``v``, of the second where above, else both."""
    if u[1] < v[0]:
        return if_below
    if v[1] < u[0]:
        return if_above
    return {
        i: intervals.hull(if_below.get(i, ZERO), if_above.get(i, ZERO))
        for i in if_below.keys() | if_above.keys()
    }


def _plus(left: Slopes, right: Slopes) -> Slopes:
    if not left or not right:
        return left or right
    total = dict(left)
    for i, slope in right.items():
        total[i] = intervals.add(total[i], slope) if i in total else slope
    return total


def _times(slopes: Slopes, factor: Interval) -> Slopes:
    return {i: intervals.multiply(slope, factor) for i, slope in slopes.items()}


def _call(
    step: Step, values: dict[int, Interval], slopes: dict[int, Slopes]
) -> tuple[Interval, Slopes, bool]:
    steps, most = 0, values[step.arguments[-1]]
    if len(step.arguments) == 2:
        if most[0] != most[1]:
            return LINE, dict.fromkeys(slopes[step.arguments[0]], LINE), False
        steps = int(most[0])
    low, high = domain(step.operation, steps)
    argument = values[step.arguments[0]]
    within = intervals.meet(argument, (low, high))
    if within[0] > within[1]:
        raise Outside
    value, slope = _CHAIN[step.operation](within, steps)
    change = _times(slopes[step.arguments[0]], slope)
    beyond = within != argument
    if beyond:
        change = {i: intervals.hull(ZERO, slope) for i, slope in change.items()}
    return value, change, beyond


def domain(operation: str, steps: int) -> Interval:
    """The arguments for which a chain function has a value."""
    match operation:
        case "accept_length" | "accept_length_without_end":
            return (0.0, 1.0)
        case "accuracy_for":
            return (1.0, (steps + 1.0) * (1 + speculation.SAME_LENGTH))
    return (1.0, math.inf)


def _accuracy_for(length: Interval, steps: int) -> tuple[Interval, Interval]:
    accuracy = intervals.accuracy_for(length, steps)
    # The inverse function's slope is one over the function's, which is at least 1.
    return accuracy, intervals.divide(ONE, intervals.accept_length_slope(accuracy, steps))


def _without_end(accuracy: Interval, _: int) -> tuple[Interval, Interval]:
    length = intervals.divide(ONE, intervals.add(ONE, intervals.negate(accuracy)))
    return length, intervals.power(length, 2)


def _accuracy_without_end(length: Interval, _: int) -> tuple[Interval, Interval]:
    inverse = intervals.divide(ONE, length)
    return intervals.add(ONE, intervals.negate(inverse)), intervals.power(inverse, 2)


def _steps_needed(length: Interval, _: int) -> tuple[Interval, Interval]:
    steps = intervals.steps_needed(length)
    # A staircase, the limit of ever steeper slopes: it rises or stays.
    return steps, (ZERO if steps[0] == steps[1] else (0.0, math.inf))


# Value and slope by the first argument, within its domain, for a number of steps.
_CHAIN: dict[str, Callable[[Interval, int], tuple[Interval, Interval]]] = {
    "accept_length": lambda a, k: (
        intervals.accept_length(a, k),
        intervals.accept_length_slope(a, k),
    ),
    "accuracy_for": _accuracy_for,
    "accept_length_without_end": _without_end,
    "accuracy_without_end": _accuracy_without_end,
    "steps_needed": _steps_needed,
}
