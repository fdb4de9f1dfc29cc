"""The least and the greatest value of a formula over the ranges of its variables.

Branch and bound on interval enclosures (Hansen, Walster 2004, "Global Optimization Using Interval
Analysis"): where a slope has one sign over a box the extreme lies on that side of it, which settles
most formulas at a corner, exactly; what is left is bounded from the values or from the slopes about
the middle, and halved until the bound is as close as it should be or the effort is spent.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from gamekit.formula import exact, intervals
from gamekit.formula.enclosure import Enclosing, Enclosure, Outside
from gamekit.formula.graph import Graph, Step
from gamekit.formula.intervals import ZERO, Interval
from gamekit.formula.simplify import multiplied_out

TOLERANCE = 1e-9  # of the formula's own size
MAX_BOXES = 1500
# In interval operations, about half a second: counted and not timed, so that every machine stops at
# the same box.
MAX_WORK = 400_000
_FLOOR = 1e-6  # below this share of the first enclosure a value counts as 0
_LARGEST = 1e300  # beyond it no figure has a value (gamekit.formula.exact)


@dataclass(frozen=True)
class Bounds:
    """Every value lies in [low, high], and the two attained ones occur (None: none was met).

    ``tight`` says that low and high are at most the tolerance from the true extremes.
    """

    low: Fraction
    high: Fraction
    attained_low: Fraction | None
    attained_high: Fraction | None
    tight: bool


def bounds(graph: Graph, output: int, limits: dict[int, Interval]) -> Bounds:
    """Bounds of what stands at ``output`` over all its variables' ranges, where it has a value.

    ``limits`` are proven ranges of steps. Raises ``exact.NoValue`` where nothing bounds it.
    """
    highest = _Search(graph, output, limits).highest()
    lowest = _Search(graph, graph.put(Step("negate", (output,))), limits).highest()
    return Bounds(
        -lowest.outer,
        highest.outer,
        None if lowest.inner is None else -lowest.inner,
        highest.inner,
        lowest.tight and highest.tight,
    )


class _Highest(NamedTuple):
    outer: Fraction
    inner: Fraction | None
    tight: bool


class _Span(NamedTuple):
    """A variable's part of a box: its ends exactly, and the floats around them."""

    low: Fraction
    high: Fraction
    floats: Interval

    @classmethod
    def between(cls, low: Fraction, high: Fraction) -> _Span:
        return cls(low, high, (intervals.enclosing(low)[0], intervals.enclosing(high)[1]))

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    @property
    def middle(self) -> float | None:
        """A float strictly inside; None where there is none left."""
        middle = self.floats[0] / 2 + self.floats[1] / 2
        return middle if self.low < middle < self.high else None


_Box = list[_Span]


class _Part(NamedTuple):
    """What is known of a box: bounds of its highest value, and whether halving it could help."""

    outer: Fraction | float
    inner: Fraction | float | None
    box: _Box
    split: int | None


class _Search:
    def __init__(self, graph: Graph, output: int, limits: dict[int, Interval]) -> None:
        self._graph, self._output = graph, output
        self._forms = [Enclosing(graph, output, limits)]
        simpler = multiplied_out(graph, output, limits)
        if simpler is not None:
            self._forms.append(Enclosing(*simpler, {}))
        self._work = 0
        self._work_each = sum(form.work for form in self._forms)

    def highest(self) -> _Highest:
        whole = [
            _Span.between(exact.decimal(figure.low), exact.decimal(figure.high))
            for figure in self._graph.variables
        ]
        settled: Fraction | float = -math.inf
        inner: Fraction | float | None = None
        waiting: list[tuple[float, int, int, _Part]] = []
        fresh = [(0, whole)]
        size = self._size([span.floats for span in whole])
        boxes = 0
        while True:
            for depth, box in fresh:
                boxes += 1
                part = self._studied(box)
                if part is None:
                    continue
                if part.inner is not None and (inner is None or part.inner > inner):
                    inner = part.inner
                if part.split is None:
                    settled = max(settled, part.outer)
                elif inner is None or part.outer > inner:
                    # Of equal bounds the smaller box first: it comes closest to attaining its own.
                    heapq.heappush(waiting, (-float(part.outer), -depth, boxes, part))
            open_bound = -waiting[0][0] if waiting else -math.inf
            # What was dropped lies nowhere above the attained value.
            outer = max(settled, open_bound, -math.inf if inner is None else inner)
            close = self._is_close(outer, inner, size)
            is_spent = boxes >= MAX_BOXES or self._work >= MAX_WORK
            if not waiting or open_bound <= settled or close or is_spent:
                break
            _, depth, _, part = heapq.heappop(waiting)
            fresh = [(1 - depth, half) for half in _halves(part)]
        if not math.isfinite(outer):
            raise exact.NoValue("nothing bounds its range")
        return _Highest(Fraction(outer), None if inner is None else Fraction(inner), close)

    def _size(self, box: list[Interval]) -> float:
        """How far from 0 the first enclosure reaches; 0 where nothing bounds it."""
        try:
            # Both ends: that of a square is 0 on one side, and nothing is close to 0 by a share.
            size = max(map(abs, self._enclosed(box).value))
        except Outside:
            return 0.0
        return size if math.isfinite(size) else 0.0

    @staticmethod
    def _is_close(outer: Fraction | float, inner: Fraction | float | None, size: float) -> bool:
        if inner is None or not math.isfinite(outer):
            return False
        allowed = TOLERANCE * max(abs(float(inner)), _FLOOR * size)
        return outer - inner <= allowed

    def _enclosed(self, box: list[Interval]) -> Enclosure:
        self._work += self._work_each
        enclosures = [form.over(box) for form in self._forms]
        first = enclosures[0]
        value, slopes = first.value, first.slopes
        for other in enclosures[1:]:
            value = intervals.meet(value, other.value)
            slopes = {
                i: intervals.meet(slope, other.slopes.get(i, ZERO)) for i, slope in slopes.items()
            }
        return Enclosure(value, slopes, first.clamped)

    def _studied(self, box: _Box) -> _Part | None:
        """Bounds of the highest value over a box; None where the formula has no value in it."""
        try:
            enclosure = self._enclosed([span.floats for span in box])
            # Moving to a side is right only where the formula has a value all the way.
            while not enclosure.clamped:
                narrower = _on_its_highest_side(box, enclosure)
                if narrower == box:
                    break
                box = narrower
                enclosure = self._enclosed([span.floats for span in box])
        except Outside:
            return None
        moving = [i for i, span in enumerate(box) if not span.is_point and i in enclosure.slopes]
        if not moving:
            return self._at_corner(box, enclosure)
        middles = {i: middle for i in moving if (middle := box[i].middle) is not None}
        if not middles:
            return _Part(enclosure.value[1], None, box, None)
        return self._about_middle(box, enclosure, middles)

    def _at_corner(self, box: _Box, enclosure: Enclosure) -> _Part | None:
        try:
            value = self._graph.at(self._output, [span.low for span in box])
        except exact.NoValue:
            if enclosure.clamped:
                return None
            if max(map(abs, enclosure.value)) > _LARGEST:
                raise
            # On the way a number came too close to 0 to be told from it; its floats enclose both.
            return _Part(enclosure.value[1], None, box, None)
        return _Part(value, value, box, None)

    def _about_middle(self, box: _Box, enclosure: Enclosure, middles: dict[int, float]) -> _Part:
        """Bounds by the values, and by the value at the middle and the slopes (mean value form)."""
        outer = enclosure.value[1]
        inner = None
        point = [span.floats for span in box]
        effects = {}
        for i, middle in middles.items():
            away = intervals.add(point[i], (-middle, -middle))
            effects[i] = intervals.multiply(enclosure.slopes[i], away)
            point[i] = (middle, middle)
        try:
            centre = self._enclosed(point)
        except Outside:
            pass
        else:
            inner = (
                None if centre.clamped or not math.isfinite(centre.value[0]) else centre.value[0]
            )
            total = centre.value
            for effect in effects.values():
                total = intervals.add(total, effect)
            outer = min(outer, total[1])
        # The variable that moves the value most; without bounded slopes, the widest one.
        split = max(middles, key=lambda i: (_width(effects[i]), _width(box[i].floats)))
        return _Part(outer, inner, box, split)


def _width(interval: Interval) -> float:
    return interval[1] - interval[0]


def _on_its_highest_side(box: _Box, enclosure: Enclosure) -> _Box:
    sides = list(box)
    for i, span in enumerate(box):
        low, high = enclosure.slopes.get(i, ZERO)
        if low >= 0:
            sides[i] = _Span.between(span.high, span.high)
        elif high <= 0:
            sides[i] = _Span.between(span.low, span.low)
    return sides


def _halves(part: _Part) -> list[_Box]:
    assert part.split is not None  # noqa: S101 - only parts with a split wait
    span = part.box[part.split]
    middle = Fraction(span.middle or 0.0)
    halves = []
    for half in (_Span.between(span.low, middle), _Span.between(middle, span.high)):
        box = list(part.box)
        box[part.split] = half
        halves.append(box)
    return halves
