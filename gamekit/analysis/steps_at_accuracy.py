"""The fewest draft steps that reach a rate at a given accuracy: the inverse of the chain in k."""

from __future__ import annotations

from collections.abc import Callable

from gamekit.formula import Known, Result
from gamekit.ranges import Range

# At topk 1 nobody runs longer chains, and each step adds less than the one before it.
LONGEST_CHAIN = 32


def fewest_steps(
    compute: Callable[[str], tuple[Result, Result]],
    accuracy: str,
    goal: str,
    cycle_at: Callable[[int], str],
) -> tuple[Range | None, str | None]:
    """The fewest k with 1000 L(a, k) >= S T(k), or why there is none in all of the ranges.

    ``accuracy`` (one for all steps), ``goal`` S in tok/s and ``cycle_at(k)`` T(k) in ms are
    formulas that ``compute`` understands; ranges are those of all their leaves together.
    """
    low: int | None = None
    mid: int | None = None
    for steps in range(LONGEST_CHAIN + 1):
        length = f"accept_length({accuracy}, {steps})" if steps else "1"
        excess, _ = compute(f"{length} * 1000 - {goal} * ({cycle_at(steps)})")
        if not isinstance(excess, Known):
            return None, excess.reason
        if low is None and excess.range.high >= 0:
            low = steps
        if mid is None and excess.range.mid >= 0:
            mid = steps
        if low is not None and mid is not None and excess.range.low >= 0:
            return Range(low, mid, max(steps, mid)), None
    reached = f"no chain of up to {LONGEST_CHAIN} steps reaches it"
    if low is None:
        return None, reached
    return None, f"{reached} in part of the ranges, and {low} steps or more in the rest"
