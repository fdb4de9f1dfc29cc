"""What another current figure would change: the conclusions under both figures of a shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gamekit.analysis import claims, gates
from gamekit.analysis.claims import ClaimResult
from gamekit.analysis.derived import Relation, relation
from gamekit.analysis.gates import GateResult
from gamekit.formula import Known, Result
from gamekit.knowledge import NOTHING_INSTEAD, Instead, Knowledge


@dataclass(frozen=True)
class ClaimChange:
    """A claim under two sets of current figures.

    ``verdict_changes`` and ``side_changes`` (of zero: faster becomes slower) mark those that turn,
    ``moves`` those whose figure left the range it had; the rest only comes to another figure.
    """

    before: ClaimResult
    after: ClaimResult
    verdict_changes: bool
    side_changes: bool
    moves: bool


@dataclass(frozen=True)
class GateChange:
    """A gate whose outcome turns."""

    before: GateResult
    after: GateResult


@dataclass(frozen=True)
class SideChange:
    """How one figure of the model lies to another, where it turns; ``name`` is one of ``SIDES``."""

    name: str
    before: Relation
    after: Relation


@dataclass(frozen=True)
class Conclusions:
    """What differs: claims that come to something else, gates that turn, and sides that change."""

    claims: tuple[ClaimChange, ...]
    gates: tuple[GateChange, ...]
    sides: tuple[SideChange, ...] = ()

    @property
    def turned(self) -> tuple[ClaimChange, ...]:
        """The claims whose verdict or side changes."""
        return tuple(item for item in self.claims if item.verdict_changes or item.side_changes)

    @property
    def notable(self) -> tuple[ClaimChange, ...]:
        """The claims that turned, and those whose figure is clearly another."""
        return tuple(item for item in self.claims if item in self.turned or item.moves)


# The two comparisons that decide whether speculation pays, by the roles that they compare.
SIDES = {
    "accept length against break-even": ("accept_length", "break_even"),
    "rate against no speculation": ("speculative_rate", "baseline"),
}


def sides(knowledge: Knowledge, instead: Instead = NOTHING_INSTEAD) -> dict[str, Relation]:
    """How the model's figures lie to each other, over stated ranges; nothing without a model."""
    roles = knowledge.config.model
    found: dict[str, Relation] = {}
    for name, (one, other) in SIDES.items():
        left, right = getattr(roles, one, None), getattr(roles, other, None)
        if left is not None and right is not None:
            found[name] = relation(
                knowledge.figure(left, instead).known, knowledge.figure(right, instead).known
            )
    return found


def under_both(knowledge: Knowledge, series: str) -> Conclusions:
    """What a shift of ``series`` changes, from the figure before it to the current one.

    What shifted at the same moment is taken back with it: the figures before were those of all.
    Nothing when the series has not shifted.
    """
    shift = knowledge.series(series).shifted
    if shift is None:
        return Conclusions((), ())
    moment = knowledge.moment(shift.after.id)
    others = (
        (record.id, knowledge.series(record.id).shifted) for record in knowledge.of_kind("series")
    )
    before = {
        name: other.before.id
        for name, other in others
        if other is not None and knowledge.moment(other.after.id) == moment
    }
    return between(knowledge, [series], before, NOTHING_INSTEAD)


def between(
    knowledge: Knowledge, series: Sequence[str], before: Instead, after: Instead
) -> Conclusions:
    """What differs between two choices of current figures, of what rests on one of ``series``."""
    claims_changed: list[ClaimChange] = []
    gates_changed: list[GateChange] = []
    resting = {
        dependent.record.id: dependent.record
        for name in series
        for dependent in knowledge.dependents(name)
        if dependent.computed
    }
    for name, record in resting.items():
        if record.finding.kind == "claim":
            change = _claim(
                claims.evaluate(knowledge, name, before), claims.evaluate(knowledge, name, after)
            )
            claims_changed += [change] if change is not None else []
        elif record.finding.kind == "approach":
            pairs = zip(
                gates.evaluate(knowledge, name, before),
                gates.evaluate(knowledge, name, after),
                strict=True,
            )
            gates_changed += (
                GateChange(old, new) for old, new in pairs if old.outcome != new.outcome
            )
    then, now = sides(knowledge, before), sides(knowledge, after)
    return Conclusions(
        tuple(claims_changed),
        tuple(gates_changed),
        tuple(SideChange(name, then[name], now[name]) for name in then if then[name] != now[name]),
    )


def _claim(before: ClaimResult, after: ClaimResult) -> ClaimChange | None:
    if (before.verdict, _figure(before.computed)) == (after.verdict, _figure(after.computed)):
        return None
    return ClaimChange(
        before,
        after,
        verdict_changes=before.verdict != after.verdict,
        side_changes=_side(before.computed) != _side(after.computed),
        moves=_apart(before.computed, after.computed),
    )


def _apart(one: Result, other: Result) -> bool:
    return (
        isinstance(one, Known) and isinstance(other, Known) and not one.range.overlaps(other.range)
    )


def _figure(result: Result) -> object:
    # Not the result itself: its leaves name the members, which always differ, and two figures that
    # are unknown for different reasons are both no conclusion.
    return result.range if isinstance(result, Known) else type(result)


def _side(result: Result) -> int | None:
    """-1 below zero, 1 above, 0 on both sides of it; None without a figure."""
    if not isinstance(result, Known):
        return None
    return (result.range.low > 0) - (result.range.high < 0)
