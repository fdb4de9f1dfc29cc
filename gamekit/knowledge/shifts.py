"""Whether two measured figures disagree, and what a shift from one to the other is."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.knowledge.environments import Comparison
from gamekit.quantity import Quantity
from gamekit.ranges import Range
from gamekit.store.load import Record


@dataclass(frozen=True)
class Shift:
    """The current figure of a series disagrees with an earlier one, and no review settled it.

    ``change`` is (after - before) / before as a share, None where that has no meaning; ``better``
    goes by the direction of the series' metric.
    """

    before: Record
    after: Record
    change: Range | None
    better: bool
    environments: Comparison


def interval_of(value: Quantity) -> Range:
    """The interval of a known figure: its stated or confidence range, else its rounding."""
    return value.stated() if value.interval is not None else value.with_rounding()


def disagree(one: Quantity, other: Quantity) -> bool:
    """Whether two known figures differ beyond both intervals: no number lies in both."""
    return not interval_of(one).overlaps(interval_of(other))


def relative_change(before: Quantity, after: Quantity) -> Range | None:
    """(after - before) / before over both intervals; None unless both are above 0."""
    old, new = interval_of(before), interval_of(after)
    if old.low <= 0 or new.low < 0:
        return None
    return Range(new.low / old.high - 1, new.mid / old.mid - 1, new.high / old.low - 1)
