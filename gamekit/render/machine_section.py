"""What the plan and the page on the machine say of forwards and all-reduces, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from gamekit import numbers
from gamekit.analysis import machine_costs
from gamekit.analysis.machine_costs import AllReduces, Cost, SettingEffect, Side, Stack
from gamekit.knowledge import Knowledge
from gamekit.ranges import Range
from gamekit.render.document import FigureDocument
from gamekit.render.figures import SCHEMES

# A decode step's message, to speak of where all sizes do not fit: 4 tokens of 7168 numbers.
_DECODE_BYTES = 57_344


class MachineSection:
    """The costs of the machine as documents show them."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    @cached_property
    def stacks(self) -> list[Stack]:
        """The stacks of layers whose forwards were measured."""
        return machine_costs.stacks(self._knowledge)

    @cached_property
    def all_reduces(self) -> list[AllReduces]:
        """The groups of ranks whose all-reduces were measured."""
        return machine_costs.all_reduces(self._knowledge)

    def stack_name(self, stack: Stack) -> str:
        """Shape, what differs from its defaults, and host."""
        return ", ".join([stack.shape, *_more(stack.more), stack.host])

    def tokens(self, stack: Stack) -> str:
        """The token counts measured, as ``1 to 8 tokens``."""
        counts = [row.tokens for row in stack.rows]
        return f"{counts[0]} to {counts[-1]} tokens" if len(counts) > 1 else f"{counts[0]} tokens"

    def graphed(self, stack: Stack) -> str:
        """Times of graph replays over all token counts; empty where none was measured."""
        return _over(row.graph for row in stack.rows)

    def eager(self, stack: Stack) -> str:
        """Times of eager forwards; empty where none was measured, and of how many where not all."""
        measured = sum(row.eager is not None for row in stack.rows)
        missing = 0 < measured < len(stack.rows)
        some = f" (of {measured} of the {len(stack.rows)})" if missing else ""
        return _over(row.eager for row in stack.rows) + some

    def saved(self, stack: Stack) -> str:
        """Eager over graphed; empty where one of them was not measured."""
        saved = [row.saved for row in stack.rows if row.saved is not None]
        return _between(saved)

    def floor(self, stack: Stack) -> str:
        """The graph's time over the bandwidth floor; empty where it is unknown."""
        return _between([row.floor_ratio.figure.mid for row in stack.rows if row.floor_ratio])

    def group_name(self, group: AllReduces) -> str:
        """Ranks, what differs from the defaults, and host."""
        return ", ".join([f"{group.ranks} ranks", *_more(group.more), group.host])

    def decode_row(self, group: AllReduces) -> machine_costs.LatencyRow | None:
        """The row of a decode step's size, or the one nearest to it."""
        rows = [row for row in group.rows if row.graph or row.eager]
        return min(rows, key=lambda row: abs(row.size - _DECODE_BYTES), default=None)

    def decode_effects(self, group: AllReduces) -> list[SettingEffect]:
        """What each setting does at that size, graphed where that was measured."""
        row = self.decode_row(group)
        here = [one for one in group.effects if row is not None and one.size == row.size]
        graphed = {one.setting for one in here if one.mode == "graph"}
        return [one for one in here if one.mode == "graph" or one.setting not in graphed]

    def effects_in_words(self, group: AllReduces) -> str:
        """Those effects as ``slower: NCCL_X=1 2.10 (2.05 to 2.15); ...``."""
        groups: dict[str, list[str]] = {"slower": [], "faster": [], "inconclusive": []}
        for one in self.decode_effects(group):
            groups[one.effect].append(f"{one.setting} {_with_interval(one.ratio.figure)}")
        words = {"inconclusive": "inconclusive or within 5 %"}
        return "; ".join(
            f"{words.get(effect, effect)}: {', '.join(each)}"
            for effect, each in groups.items()
            if each
        )

    def starts(self, group: AllReduces) -> str:
        """How often its ranks were started for the effects, as ``2 starts``."""
        counts = {one.ratio.starts for one in self.decode_effects(group)}
        words = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
        return f"{words} start{'' if counts == {1} else 's'}"

    def text(self, cost: Cost, unit: str = "1") -> str:
        """A figure with its unit and, in brackets, from the lowest to the highest interval."""
        middle, span = numbers.middle(cost.figure), numbers.span(cost.figure)
        shown = numbers.with_unit(middle, unit)
        return shown if middle == span else f"{shown} ({span})"

    def transport(self, cost: Cost | None) -> str:
        """What the data went by, or a dash."""
        return cost.transport if cost is not None and cost.transport else "-"

    def ratio(self, ratio: float | None) -> str:
        """A ratio of two figures, or a dash."""
        return "-" if ratio is None else numbers.number(ratio)

    def size(self, size: int) -> str:
        """Bytes for a reader."""
        return numbers.bytes_in_words(size)

    def chart(self, of: Stack | AllReduces) -> str:
        """The name of its figure, without scheme and suffix."""
        name = self.stack_name(of) if isinstance(of, Stack) else self.group_name(of)
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

    def figures(self, folder: str) -> list[FigureDocument]:
        """The figures as documents in ``folder``, one a colour scheme."""
        charts: list[Stack | AllReduces] = [*self.stacks, *self.all_reduces]
        return [
            FigureDocument(f"{folder}/{self.chart(one)}-{scheme}.svg", one, scheme)
            for one in charts
            for scheme in SCHEMES
        ]


def _more(more: Side) -> list[str]:
    return [f"{name.replace('_', ' ')} {value}" for name, value in more]


def _over(costs: Iterable[Cost | None]) -> str:
    middles = [one.figure.mid for one in costs if one is not None]
    return numbers.with_unit(_between(middles), "ms") if middles else ""


def _between(values: list[float]) -> str:
    """From the least to the most: both are figures, so each with its own digits."""
    if not values:
        return ""
    low, high = numbers.number(min(values)), numbers.number(max(values))
    return low if low == high else f"{low} to {high}"


def _with_interval(figure: Range) -> str:
    middle = numbers.middle(figure)
    return middle if figure.is_exact else f"{middle} ({numbers.span(figure)})"
