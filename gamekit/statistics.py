"""Intervals of measured figures: of a mean, of a contrast of means, of the slope of a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gamekit.ranges import Range

CONFIDENCE = 0.95
# How often a difference of the size that a comparison is said to detect would be seen.
POWER = 0.8


@dataclass(frozen=True)
class Contrast:
    """An estimate with its standard error and the degrees of freedom of that error.

    ``error`` 0 is an estimate from samples that do not differ at all.
    """

    value: float
    error: float
    freedom: float

    def interval(self, confidence: float = CONFIDENCE) -> Range:
        """The two-sided interval by Student's t."""
        if self.error == 0:
            return Range.exact(self.value)
        half = _quantile(self.freedom, confidence) * self.error
        return Range(self.value - half, self.value, self.value + half)

    def detectable(self, power: float = POWER, confidence: float = CONFIDENCE) -> float:
        """The smallest true difference from 0 that such samples show with probability ``power``.

        (t(1 - (1 - confidence)/2) + t(power)) * error (Bloom 1995), in the unit of ``value``.
        """
        if self.error == 0:
            return 0.0
        # Of a two-sided interval at 2*power - 1 the upper quantile is that of `power`.
        quantiles = _quantile(self.freedom, confidence) + _quantile(self.freedom, 2 * power - 1)
        return quantiles * self.error


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
    half = _quantile(count - 1, confidence) * math.sqrt(_variance(samples) / count)
    return Range(mean - half, mean, mean + half)


def welch(groups: Sequence[Sequence[float]], weights: Sequence[float]) -> Contrast:
    """Sum of ``weights`` times the means of ``groups``, whose variances may differ.

    The degrees of freedom are those of Welch 1947 (Satterthwaite). On logarithms, with weights -1
    and 1, it is the logarithm of a ratio. Raises ``ValueError`` where a group has fewer than two
    samples, or groups and weights differ in number.
    """
    if any(len(group) < 2 for group in groups):
        raise ValueError("a group of fewer than two samples has no variance")
    pairs = list(zip(weights, groups, strict=True))
    value = math.fsum(w * math.fsum(group) / len(group) for w, group in pairs)
    terms = [w * w * _variance(group) / len(group) for w, group in pairs]
    total = math.fsum(terms)
    # Shares of the total, because squares of small variances vanish.
    shares = [term / total if total > 0 else 0.0 for term in terms]
    over = math.fsum(
        share * share / (len(group) - 1) for share, (_, group) in zip(shares, pairs, strict=True)
    )
    if over == 0:
        return Contrast(value, 0.0, math.inf)
    return Contrast(value, math.sqrt(total), 1 / over)


def paired(differences: Sequence[float]) -> Contrast:
    """The mean of ``differences``, one a pair. Raises ``ValueError`` for fewer than two."""
    if len(differences) < 2:
        raise ValueError("fewer than two pairs have no variance")
    count = len(differences)
    error = math.sqrt(_variance(differences) / count)
    return Contrast(math.fsum(differences) / count, error, count - 1)


def pooled(groups: Sequence[Sequence[float]], weights: Sequence[float]) -> Contrast:
    """Sum of ``weights`` times the means of ``groups``, all taken to vary alike (Student's).

    Groups of a single sample take the deviation of the others. Raises ``ValueError`` where all are
    single samples, one is empty, or groups and weights differ in number.
    """
    deviation = pooled_deviation(groups)
    if deviation is None or not all(groups):
        raise ValueError("single samples have no variance")
    pairs = list(zip(weights, groups, strict=True))
    value = math.fsum(w * math.fsum(group) / len(group) for w, group in pairs)
    error = deviation * math.sqrt(math.fsum(w * w / len(group) for w, group in pairs))
    return Contrast(value, error, sum(len(group) - 1 for group in groups))


def slope_interval(
    points: Sequence[tuple[float, float]], confidence: float = CONFIDENCE
) -> tuple[Range, bool]:
    """Slope of the line through ``points`` (x, y) by least squares, and whether it has an interval.

    The interval is slope ± t(n - 2)·sqrt(residual sum/(n - 2)/sum((x - mean)²)); two points leave
    none. Raises ``ValueError`` unless there are two different x.
    """
    count = len(points)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if len(set(xs)) < 2:
        raise ValueError("a slope needs points at two places")
    x_mean, y_mean = math.fsum(xs) / count, math.fsum(ys) / count
    across = math.fsum((x - x_mean) ** 2 for x in xs)
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / across
    if count < 3:
        return Range.exact(slope), False
    left = math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)
    half = _quantile(count - 2, confidence) * math.sqrt(left / (count - 2) / across)
    return Range(slope - half, slope, slope + half), True


def pooled_deviation(groups: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation within ``groups``, each about its own mean, in the unit of the samples.

    None where no group has two samples.
    """
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < 1:
        return None
    squares = math.fsum(_variance(group) * (len(group) - 1) for group in groups if len(group) > 1)
    return math.sqrt(squares / freedom)


def _variance(samples: Sequence[float]) -> float:
    mean = math.fsum(samples) / len(samples)
    return math.fsum((x - mean) ** 2 for x in samples) / (len(samples) - 1)


def _quantile(freedom: float, confidence: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 - 0.1 s, and only measured figures need it

    return float(stdtrit(freedom, 1 - (1 - confidence) / 2))


def relative_half_width(figure: Range) -> float:
    """Half the width over the absolute mid; infinite when mid is 0 and the range has a width."""
    half = (figure.high - figure.low) / 2
    if figure.mid == 0:
        return 0.0 if half == 0 else math.inf
    return half / abs(figure.mid)
