"""The verdict of samples against samples: better, worse, inconclusive or insufficient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from gamekit.numbers import number, percent
from gamekit.ranges import Range
from gamekit.statistics import POWER, Contrast, paired, pooled, pooled_deviation, welch

Verdict = Literal["better", "worse", "inconclusive", "insufficient"]
Better = Literal["higher", "lower"]
Basis = Literal["pairs", "starts", "starts of one side", "samples", "none"]
Starts = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Judged:
    """B against A: ``ratio`` is B over A with its 95 % interval, None where there is none.

    ``basis`` says what the interval is of, and ``reason`` says it in words, with what limits the
    verdict. ``detectable`` is the smallest change, as a share, that would have been seen in four of
    five such comparisons.
    """

    verdict: Verdict
    ratio: Range | None
    basis: Basis
    reason: str
    detectable: float | None = None


def judge(
    a: Starts,
    b: Starts,
    better: Better,
    *,
    in_turn: bool = False,
    same_start: bool = False,
    start: str = "server start",
) -> Judged:
    """B against A, each the samples of one or more server starts, in the order they were taken.

    Everything is computed on logarithms, so that the change from A to B is the inverse of that from
    B to A. Where both have several starts, the interval is Welch's over the means of the starts:
    samples of one start share what is particular to it. Where one side has several, how far its
    starts lie apart is taken for the other's single one too. With a single start each it is Welch's
    over the samples, or over pairs where each of A was taken ``in_turn`` with one of B: then a
    drift that both share cancels. ``same_start`` says that both are of one start, and
    ``start`` is what a start is called.
    """
    a, b = [s for s in a if s], [s for s in b if s]
    if not a or not b:
        return _insufficient("there are no samples of " + ("both" if not a and not b else "one"))
    if any(sample <= 0 for start in (*a, *b) for sample in start):
        return _insufficient("a ratio needs figures above 0")
    logs_a = [[math.log(sample) for sample in start] for start in a]
    logs_b = [[math.log(sample) for sample in start] for start in b]
    means_a, means_b = [fmean(one) for one in logs_a], [fmean(one) for one in logs_b]
    contrast: Contrast
    basis: Basis
    if len(a) > 1 and len(b) > 1:
        contrast, basis = welch((means_a, means_b), (-1, 1)), "starts"
        words = f"interval of the means of {len(a)} and {len(b)} {start}s"
        words += _within(logs_a, logs_b)
    elif len(a) > 1 or len(b) > 1:
        contrast, basis = pooled((means_a, means_b), (-1, 1)), "starts of one side"
        which, count = ("A", len(a)) if len(a) > 1 else ("B", len(b))
        words = (
            f"{which} has {count} {start}s and the other side one, whose {start}s are taken to"
            f" differ as much{_within(logs_a, logs_b)}"
        )
    elif len(a[0]) < 2 or len(b[0]) < 2:
        return _insufficient(f"n = {len(a[0])} and {len(b[0])}: an interval needs two of each")
    elif in_turn and len(a[0]) == len(b[0]):
        differences = [y - x for x, y in zip(logs_a[0], logs_b[0], strict=True)]
        contrast, basis = paired(differences), "pairs"
        words = (
            f"{len(differences)} pairs of samples taken in turn, so that what drifts for both"
            f" cancels{_starts_unknown(start, same_start)}"
        )
    else:
        contrast, basis = welch((logs_a[0], logs_b[0]), (-1, 1)), "samples"
        words = f"samples within one {start} each{_starts_unknown(start, same_start)}"
    interval = contrast.interval()
    ratio = Range(*(math.exp(end) for end in (interval.low, interval.mid, interval.high)))
    seen = math.exp(contrast.detectable()) - 1
    verdict = _verdict(interval, better)
    if verdict == "inconclusive":
        words = (
            f"{would_be_seen([seen])}; {words}"
            if contrast.error > 0
            else "the samples of both are all equal"
        )
    return Judged(verdict, ratio, basis, words, seen)


def would_be_seen(detectable: Sequence[float]) -> str:
    """Which difference such comparisons would show; of several the smallest and the largest."""
    ends = [percent(end).removeprefix("+") for end in (min(detectable), max(detectable))]
    size = " to ".join(dict.fromkeys(ends))
    return f"a difference of {size} would be seen in {POWER * 100:.0f} % of such comparisons"


def apart(a: Starts, b: Starts) -> bool:
    """Whether every sample of one lies above every sample of the other."""
    one, other = [x for start in a for x in start], [x for start in b for x in start]
    return bool(one and other) and (max(one) < min(other) or max(other) < min(one))


def spread_within(starts: Starts) -> float | None:
    """By how much samples within one start differ, as a share; None without two samples."""
    if any(sample <= 0 for start in starts for sample in start):
        return None
    deviation = pooled_deviation([[math.log(x) for x in start] for start in starts])
    return None if deviation is None else math.exp(deviation) - 1


def _verdict(change: Range, better: Better) -> Verdict:
    # The last bits of a logarithm are no difference.
    if change.low <= 1e-12 and change.high >= -1e-12:
        return "inconclusive"
    return "better" if (change.mid > 0) == (better == "higher") else "worse"


def _within(logs_a: Starts, logs_b: Starts) -> str:
    deviation = pooled_deviation([*logs_a, *logs_b])
    if deviation is None:
        return ""
    return f"; within one, samples differ by {number(100 * (math.exp(deviation) - 1), 2)} %"


def _starts_unknown(start: str, same_start: bool) -> str:
    return f"; both of one {start}" if same_start else f"; how far {start}s differ is unknown"


def _insufficient(reason: str) -> Judged:
    return Judged("insufficient", None, "none", reason)
