"""The one way in which the package takes a percentile of samples: the nearest rank."""

from __future__ import annotations

import math
from collections.abc import Sequence


def quantile(samples: Sequence[float], fraction: float) -> float:
    """The nearest rank: the smallest sample that at least ``fraction`` do not exceed, in its unit.

    Rank ceil(fraction * n) of n (Hyndman and Fan 1996, definition 1), at least 1. Raises
    ``ValueError`` without samples.
    """
    if not samples:
        raise ValueError("no samples")
    # As floats 0.07 times 100 is a little above 7: without rounding the rank would be the next.
    rank = math.ceil(round(fraction * len(samples), 9))
    return sorted(samples)[max(rank, 1) - 1]
