"""A figure that a formula of gamekit's own gives over findings, with what it was computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gamekit import numbers
from gamekit.formula import Impossible, Known, Result, UnknownResult
from gamekit.knowledge import NOTHING_INSTEAD, Instead, Knowledge
from gamekit.ranges import Range

Relation = Literal["below", "above", "not clearly apart from", "unknown against"]


@dataclass(frozen=True)
class Derived:
    """What ``formula`` comes to, in ``unit``: over stated ranges, and with all roundings.

    ``formula`` is empty where there is none to compute, and ``stated`` then says why.
    """

    formula: str
    unit: str
    stated: Result
    rounded: Result

    @property
    def known(self) -> Range | None:
        """The range over stated ranges, None when it is unknown or impossible."""
        return self.stated.range if isinstance(self.stated, Known) else None

    @property
    def why_not(self) -> str | None:
        """Why there is no figure, None when there is one."""
        return None if isinstance(self.stated, Known) else self.stated.reason

    @property
    def words(self) -> str:
        """The figure with its unit; *unknown* or *impossible* where there is none.

        Where only a part of the ranges has one, that is said.
        """
        if isinstance(self.stated, Known):
            wider = self.rounded.range if isinstance(self.rounded, Known) else None
            told = numbers.with_unit(numbers.span(self.stated.range, wider), self.unit)
            return f"{told}, in part impossible" if self.stated.partly_impossible else told
        return "impossible" if isinstance(self.stated, Impossible) else "unknown"

    def as_json(self) -> dict[str, Any] | None:
        """The figure as plain data, None where there is none."""
        known = self.known
        if known is None:
            return None
        return {"low": known.low, "mid": known.mid, "high": known.high, "unit": self.unit}


def derive(
    knowledge: Knowledge, formula: str, unit: str, instead: Instead = NOTHING_INSTEAD
) -> Derived:
    """``formula`` over the findings it names; errors and ``instead`` as ``Knowledge.derived``."""
    return Derived(formula, unit, *knowledge.derived(formula, instead))


def figure_of(knowledge: Knowledge, name: str) -> Derived:
    """The figure of a measurement, series or claim, as a formula that names it alone."""
    figure = knowledge.figure(name)
    return Derived(f"[{name}]", figure.unit, figure.stated, figure.rounded)


def missing(reason: str, unit: str) -> Derived:
    """A figure that cannot be computed; ``reason`` completes "unknown because"."""
    nothing = UnknownResult(f"unknown because {reason}", ())
    return Derived("", unit, nothing, nothing)


def relation(one: Range | None, other: Range | None) -> Relation:
    """How a figure lies to another, over their ranges; ranges that meet are not apart."""
    if one is None or other is None:
        return "unknown against"
    if one.overlaps(other):
        return "not clearly apart from"
    return "below" if one.high < other.low else "above"
