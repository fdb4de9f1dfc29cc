"""Percentiles with intervals that assume no distribution, where samples are enough for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamekit.nearest_rank import quantile

CONFIDENCE = 0.95
SHOWN = (50, 90, 95, 99)


@dataclass(frozen=True)
class Percentile:
    """A percentile and the order statistics that enclose that of the population, in its unit."""

    value: float
    low: float
    high: float


def percentile(samples: Sequence[float], percent: int) -> Percentile | None:
    """A percentile with its 95 % interval; None where ``samples`` are too few to have one.

    The interval is of two order statistics with at most 2.5 % beyond each, by the binomial
    distribution (David and Nagaraja 2003, section 7.1). Whether it exists depends on the number of
    samples alone: 6 for the median, 36 for p90, 72 for p95, 368 for p99.
    """
    from scipy.special import bdtr  # noqa: PLC0415 - 0.1 s, and only loads need it

    ordered, fraction = sorted(samples), percent / 100
    count, tail = len(ordered), (1 - CONFIDENCE) / 2
    # Of B, binomial with n and p: x(i) is above the quantile with P(B < i), x(j) is below it with
    # P(B >= j). Ranks count from 1, and P(B < i) grows with i.
    below = bdtr(np.arange(count), count, fraction)
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1 - tail, side="left")) + 1
    if lower == 0 or upper > count:
        return None
    return Percentile(quantile(ordered, fraction), ordered[lower - 1], ordered[upper - 1])


def percentiles(samples: Sequence[float]) -> dict[str, float | int]:
    """As a fact of a run: n, and of p50 to p99 with their ``_low`` and ``_high`` what n allows."""
    told: dict[str, float | int] = {"n": len(samples)}
    for percent in SHOWN:
        found = percentile(samples, percent)
        if found is not None:
            told[f"p{percent}"] = round(found.value, 4)
            told[f"p{percent}_low"] = round(found.low, 4)
            told[f"p{percent}_high"] = round(found.high, 4)
    return told
