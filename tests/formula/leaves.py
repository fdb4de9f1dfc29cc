"""Formulas over leaves that a test gives by name."""

from __future__ import annotations

from collections.abc import Mapping

from gamekit.formula import Expression, Known, Resolve, Unknown, evaluate, parse
from gamekit.ranges import Range

Leaf = Range | Unknown | Expression


def from_leaves(leaves: Mapping[str, Leaf]) -> Resolve:
    """Finds each reference among the leaves that are given."""
    return lambda name: leaves[name]


def known(text: str, **leaves: Leaf) -> Known:
    """What a formula over the leaves comes to, which has to be known."""
    found = evaluate(parse(text), from_leaves(leaves))
    assert isinstance(found, Known), found
    return found


def ends(text: str, **leaves: Leaf) -> tuple[float, float, float]:
    """The same as low, mid and high."""
    found = known(text, **leaves).range
    return found.low, found.mid, found.high
