"""Whether samples taken one after another are of one state: drift, two modes, outliers.

Each test is of pure noise against one fault, at a level of ``LEVEL``; what it finds counts only
where it is also large enough to matter, ``MATERIAL`` of the figure.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median
from typing import Literal

Fault = Literal["drift", "modes", "outliers"]

FEWEST = 5
LEVEL = 0.02
# Half of what the interval of an adequate figure may be wide to either side: less moves no verdict.
MATERIAL = 0.05
# Of both modes: fewer are outliers.
_SMALLEST_MODE = 0.2
_EXACT_UP_TO = 30
# For the slope of a drift, whose pairs grow with the square.
_MOST_POINTS = 200
# The median absolute deviation of a normal distribution, times this, is its standard deviation.
_OF_NORMAL = 1.4826


@dataclass(frozen=True)
class Instability:
    """One fault of a row of samples.

    ``size`` is how much of the figure it moves, as a share: how far a drift goes from end to end,
    how far two modes lie apart, how far outliers pull the mean. ``levels`` are the figures to tell:
    begin and end of a drift, the two modes from the lower, or the outliers themselves. ``counts``
    are the samples of each mode; ``step`` is the number, from 0, of the first sample in the mode
    that ends the row, where the modes do not alternate. ``p`` is that of a drift.
    """

    fault: Fault
    size: float
    levels: tuple[float, ...]
    samples: int
    counts: tuple[int, int] | None = None
    step: int | None = None
    p: float | None = None

    @property
    def matters(self) -> bool:
        """Whether it moves the figure by enough to be a reason against it."""
        return self.size >= MATERIAL

    def in_words(self, unit: str) -> str:
        """One sentence part with its figures, such as ``drifts from 478 to 817 tok/s over ...``."""
        shown = [f"{level:.4g}" for level in self.levels]
        suffix = "" if unit == "1" else f" {unit}"
        if self.fault == "drift":
            return f"drifts from {shown[0]} to {shown[1]}{suffix} over {self.samples} samples"
        if self.fault == "outliers":
            which = ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "")
            verbs = ("stands", "moves") if len(shown) == 1 else ("stand", "move")
            apart = f"{len(shown)} of {self.samples} samples {verbs[0]} apart ({which}{suffix})"
            return f"{apart} and {verbs[1]} the mean by {self.size:.1%}"
        low, high = self.counts or (0, 0)
        modes = f"{shown[0]} (n = {low}) and {shown[1]}{suffix} (n = {high})"
        when = "" if self.step is None else f", and changes over at sample {self.step + 1}"
        return f"has two modes, {modes}{when}"


def instabilities(samples: Sequence[float], *, modes: bool = True) -> list[Instability]:
    """All faults of ``samples``, which are in the order they were taken, whatever their size.

    ``modes=False`` leaves that test out, for what has several by its nature. Fewer than ``FEWEST``
    samples tell nothing, and the list is empty.
    """
    if len(samples) < FEWEST or not all(map(math.isfinite, samples)):
        return []
    found = [drift(samples), two_modes(samples) if modes else None]
    if found[1] is None:  # the smaller of two modes would all be outliers
        found.append(outliers(samples))
    return [one for one in found if one is not None]


def drift(samples: Sequence[float]) -> Instability | None:
    """A trend over the order of ``samples`` by the rank test of Mann (1945) and Kendall.

    The size is the slope of Theil (1950) and Sen (1968), end to end, over the middle of the line;
    many samples are taken in blocks, by their medians.
    """
    p = trend_p(samples)
    if p > LEVEL:
        return None
    row = _blocks(samples)
    slope = median(
        (row[later] - row[at]) / (later - at)
        for at in range(len(row))
        for later in range(at + 1, len(row))
    )
    across = slope * (len(row) - 1)
    middle = median(x - slope * at for at, x in enumerate(row)) + across / 2
    ends = (middle - across / 2, middle + across / 2)
    return Instability("drift", _share(across, middle), ends, len(samples), p=p)


def trend_p(samples: Sequence[float]) -> float:
    """Two-sided p of Kendall's rank correlation between ``samples`` and their order.

    Exact without ties up to 30 samples, otherwise by the normal approximation with the variance
    corrected for ties (Kendall 1970) and with continuity.
    """
    count = len(samples)
    earlier: list[float] = []
    score = 0
    for sample in samples:
        # Of the earlier ones, those below less those above.
        score += bisect_left(earlier, sample) - (len(earlier) - bisect_right(earlier, sample))
        insort(earlier, sample)
    ties = [times for times in Counter(samples).values() if times > 1]
    if not ties and count <= _EXACT_UP_TO:
        return _exact_p(count, score)
    spread = (_ties(count) - sum(map(_ties, ties))) / 18
    if spread <= 0:
        return 1.0
    return min(1.0, math.erfc(max(0, abs(score) - 1) / math.sqrt(2 * spread)))


def two_modes(samples: Sequence[float]) -> Instability | None:
    """A gap that cuts ``samples`` in two groups, too wide for the spread within them.

    Each group has at least 2 samples and a fifth of them. The gap must exceed 55/n standard
    deviations within the groups, and one. The rule was fitted to simulated rows of 5 to 200
    samples: of normal, uniform and exponential noise at most 2 % exceed it.
    """
    row, count = sorted(samples), len(samples)
    within = _within_parts(row)
    fewest = max(2, math.ceil(_SMALLEST_MODE * count))
    best: tuple[float, int] | None = None
    for at in range(fewest, count - fewest + 1):
        gap = row[at] - row[at - 1]
        spread = math.sqrt(within[at] / (count - 2))
        if gap > 0 and gap > max(1.0, 55 / count) * spread:
            ratio = gap / spread if spread > 0 else math.inf
            best = max(best or (0.0, 0), (ratio, at))
    if best is None:
        return None
    at = best[1]
    low, high = fmean(row[:at]), fmean(row[at:])
    upper = [x >= row[at] for x in samples]
    changes = [place for place in range(1, count) if upper[place] != upper[place - 1]]
    return Instability(
        "modes",
        _share(high - low, median(samples)),
        (low, high),
        count,
        counts=(at, count - at),
        step=changes[0] if len(changes) == 1 else None,
    )


def outliers(samples: Sequence[float]) -> Instability | None:
    """Samples too far from the median for the median absolute deviation (Hampel 1974).

    Too far is 4.3 + 220/n² deviations, scaled to a normal distribution. The rule was fitted to
    simulated rows of 5 to 200 samples: at most 2 % of rows of normal noise have one so far. Skewed
    noise has more, which count by how much they move the mean: that is the size.
    """
    middle = median(samples)
    deviation = _OF_NORMAL * median(abs(x - middle) for x in samples)
    farthest = (4.3 + 220 / len(samples) ** 2) * deviation
    # More than half of the samples being equal is no measure of how far the others may lie.
    apart = [x for x in samples if deviation > 0 and abs(x - middle) > farthest]
    if not apart:
        return None
    kept = [x for x in samples if abs(x - middle) <= farthest]
    pull = _share(fmean(samples) - fmean(kept), fmean(kept))
    return Instability("outliers", pull, tuple(apart), len(samples))


def _exact_p(count: int, score: int) -> float:
    pairs = count * (count - 1) // 2
    tail = sum(_orders_by_inversions(count)[: (pairs - abs(score)) // 2 + 1])
    return min(1.0, 2 * tail / math.factorial(count))


@cache
def _orders_by_inversions(count: int) -> tuple[int, ...]:
    """How many orders of ``count`` samples have 0, 1, 2, ... inversions: the Mahonian numbers."""
    if count < 2:
        return (1,)
    fewer = _orders_by_inversions(count - 1)
    longer = [0] * (len(fewer) + count - 1)
    for inversions, number in enumerate(fewer):
        for more in range(count):
            longer[inversions + more] += number
    return tuple(longer)


def _ties(count: int) -> int:
    return count * (count - 1) * (2 * count + 5)


def _blocks(samples: Sequence[float]) -> Sequence[float]:
    """The samples, or where they are many the medians of equal blocks of them, in order."""
    size = -(-len(samples) // _MOST_POINTS)
    return [median(samples[at : at + size]) for at in range(0, len(samples) // size * size, size)]


def _within_parts(row: Sequence[float]) -> list[float]:
    """For every place to cut ``row`` at, the squares about the means of both parts, together."""
    mean, count = fmean(row), len(row)
    sums, squares = [0.0], [0.0]
    for x in row:
        sums.append(sums[-1] + (x - mean))
        squares.append(squares[-1] + (x - mean) ** 2)
    parts = [0.0]
    for at in range(1, count):
        between = sums[at] ** 2 / at + (sums[-1] - sums[at]) ** 2 / (count - at)
        parts.append(max(0.0, squares[-1] - between))
    return parts


def _share(change: float, of: float) -> float:
    if change == 0:
        return 0.0
    return abs(change) / abs(of) if of != 0 else math.inf
