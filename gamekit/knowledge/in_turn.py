"""How many times one figure is another, by the pairs in which calls measured both in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from gamekit.findings import Run
from gamekit.formula import Ratio, Unknown
from gamekit.knowledge.replicates import measured_in_turn, taken_in_turn
from gamekit.knowledge.series import SeriesViews
from gamekit.ranges import Range
from gamekit.statistics import paired
from gamekit.store.load import Record

Pair = tuple[Record, Record]


def ratio_in_turn(
    series: SeriesViews, above: Sequence[Record], below: Sequence[Record]
) -> Ratio | Unknown:
    """The ratio of ``above`` to ``below``, measurements that count, each oldest first.

    Of one call the mean over its pairs, on logarithms, with Student's interval over them. Of
    several calls that nothing recorded tells apart but boot and start the mean over the calls, with
    the interval over those: pairs of one call share what is particular to its server starts. What
    drifts for both of a pair cancels in either.
    """
    met = [
        (one, other)
        for one in above
        for other in below
        if _in_turn(one.run, other.run) and taken_in_turn(one, other) is not None
    ]
    if not met:
        return Unknown("no call of gamekit bench measured both in turn, with figures that count")
    newest = met[-1]
    alike = [pair for pair in met if pair is newest or _replicates(series, pair, newest)]
    calls = [_differences(*pair) for pair in alike]
    if any(one is None for one in calls):
        return Unknown("a ratio needs figures above 0")
    known = [one for one in calls if one is not None]
    found = paired([fmean(one) for one in known] if len(known) > 1 else known[0]).interval()
    ends = (math.exp(end) for end in (found.low, found.mid, found.high))
    return Ratio(Range(*ends), tuple(record.id for pair in alike for record in pair))


def _in_turn(one: Run | None, other: Run | None) -> bool:
    return one is not None and other is not None and measured_in_turn(one, other)


def _replicates(series: SeriesViews, pair: Pair, newest: Pair) -> bool:
    return all(series.replicates(*both) for both in zip(pair, newest, strict=True))


def _differences(above: Record, below: Record) -> list[float] | None:
    """By how much each pair differs in its logarithms; None where one is not above 0."""
    taken = taken_in_turn(above, below)
    assert taken is not None  # noqa: S101 - only such pairs are asked for
    if min(*taken[0], *taken[1]) <= 0:
        return None
    return [math.log(x) - math.log(y) for x, y in zip(*taken, strict=True)]
