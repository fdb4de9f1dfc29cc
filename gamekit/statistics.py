"""Intervals of measured figures: Student's t for a mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gamekit.ranges import Range

CONFIDENCE = 0.95


def mean_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Range:
    """Mean of ``samples`` with the two-sided interval of the mean by Student's t (Student 1908).

    Half-width = t(1 - (1 - confidence)/2, n - 1) * s / sqrt(n), s with n - 1 in the denominator.
    One sample has no interval: the range is exact. Raises ``ValueError`` without samples.
    """
    count = len(samples)
    if count == 0:
        raise ValueError("no samples")
    mean = math.fsum(samples) / count
    if count == 1:
        return Range.exact(mean)
    from scipy.special import stdtrit  # noqa: PLC0415 - 0.1 s, and only measured figures need it

    variance = math.fsum((x - mean) ** 2 for x in samples) / (count - 1)
    t = float(stdtrit(count - 1, 1 - (1 - confidence) / 2))
    half = t * math.sqrt(variance / count)
    return Range(mean - half, mean, mean + half)


def relative_half_width(figure: Range) -> float:
    """Half the width over the absolute mid; infinite when mid is 0 and the range has a width."""
    half = (figure.high - figure.low) / 2
    if figure.mid == 0:
        return 0.0 if half == 0 else math.inf
    return half / abs(figure.mid)
