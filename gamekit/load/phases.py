"""Ramp, steady state and drain of a load, told apart by its requests alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from gamekit.load.sent import SentRequest
from gamekit.nearest_rank import quantile
from gamekit.statistics import mean_interval

Window = tuple[float, float]
# Of an open loop: by then requests end at the rate at which they arrive, but for one in ten.
_MOST_REQUESTS = 0.9
# Of the mean in flight, in standard deviations of a change that is chance alone.
_BY_CHANCE = 3.0
# For a growth over several loads: how many, and from which growth on it matters.
_FEWEST_LOADS = 3
_LEAST_GROWTH, _SHARE_THAT_MATTERS = 2.0, 0.1


@dataclass(frozen=True)
class Phases:
    """The phases of a load; times in milliseconds since it began.

    ``whole`` is from the first request that was due to the end of the last one, ``steady`` the part
    in which figures of the load are taken. Where there is no ``steady``, or it is too short to say
    much, ``too_short`` says why.
    """

    whole: Window
    steady: Window | None
    too_short: str | None

    @property
    def measured(self) -> Window:
        """The window of the figures: the steady state, or all of it where there is none."""
        return self.steady or self.whole

    @property
    def ramp(self) -> Window:
        """What comes before the steady state."""
        return (self.whole[0], self.measured[0])

    @property
    def drain(self) -> Window:
        """What comes behind it."""
        return (self.measured[1], self.whole[1])


def closed_phases(requests: Sequence[SentRequest], concurrency: int) -> Phases:
    """The phases of a closed loop of ``concurrency`` slots.

    Steady is the time in which all slots are busy, without the first request of each: those were
    sent at one moment, and an engine fills all their prompts at once, as it never does again. It
    begins when the last of them has ended, and ends when the first slot stays empty. Raises
    ``ValueError`` without requests.
    """
    whole = _whole(requests)
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for one in sorted(requests, key=lambda one: one.sent_ms):
        if one.slot is not None:
            first.setdefault(one.slot, one.ended_ms)
            last[one.slot] = one.ended_ms
    if len(first) < concurrency:
        few = f"only {len(first)} of {concurrency} slots were ever busy"
        return Phases(whole, None, f"{few}: send more requests")
    return _judged(whole, (max(first.values()), min(last.values())), requests)


def open_phases(requests: Sequence[SentRequest]) -> Phases:
    """The phases of an open loop.

    The number in flight grows for as long as a request takes: steady begins when nine of ten
    requests would have ended, counted from the first arrival, and ends at the last arrival. Raises
    ``ValueError`` without requests.
    """
    whole = _whole(requests)
    begin = whole[0] + quantile([one.ended_ms - one.sent_ms for one in requests], _MOST_REQUESTS)
    return _judged(whole, (begin, max(one.scheduled_ms for one in requests)), requests)


def _whole(requests: Sequence[SentRequest]) -> Window:
    if not requests:
        raise ValueError("a load without requests has no phases")
    return (min(one.due_ms for one in requests), max(one.ended_ms for one in requests))


def _judged(whole: Window, steady: Window, requests: Sequence[SentRequest]) -> Phases:
    if steady[1] <= steady[0]:
        return Phases(whole, None, "it ended before there was a steady state")
    typical = quantile([one.ended_ms - one.sent_ms for one in requests], 0.5)
    length = steady[1] - steady[0]
    # A request's length is what rates within the window depend on the phase of.
    if length < 0.9 * typical:
        short = f"the steady state lasted {length / 1000:.3g} s, and a request {typical / 1000:.3g}"
        return Phases(whole, steady, f"{short} s")
    return Phases(whole, steady, None)


def share_within(begin: float, end: float, window: Window) -> float:
    """The part of the time from ``begin`` to ``end`` that lies within ``window``."""
    if end <= begin:
        return float(window[0] <= begin < window[1])
    return max(0.0, min(end, window[1]) - max(begin, window[0])) / (end - begin)


def mean_in_flight(requests: Sequence[SentRequest], window: Window) -> float | None:
    """The mean number of requests in flight over ``window`` as the client saw it, failed or not."""
    if window[1] <= window[0]:
        return None
    busy = math.fsum(
        share_within(one.sent_ms, one.ended_ms, window) * (one.ended_ms - one.sent_ms)
        for one in requests
    )
    return busy / (window[1] - window[0])


def in_flight_at(requests: Sequence[SentRequest], at_ms: float) -> int:
    """How many requests had been due and had not ended."""
    return sum(one.scheduled_ms <= at_ms < one.ended_ms for one in requests)


def backlog_grew(requests: Sequence[SentRequest]) -> tuple[int, int] | None:
    """Requests in flight early and at the last arrival of an open loop, where they grew.

    Early is when the first tenth of them has ended. Where arrivals are Poisson and nothing queues,
    the number in flight at one time is a Poisson variable of some mean m, and the difference of two
    has a variance of at most 2m: three times its root is not chance.
    """
    found = _early_and_late(requests)
    if found is None:
        return None
    before, after = found
    mean = (before + after) / 2
    return found if after - before > _BY_CHANCE * math.sqrt(2 * mean) else None


def backlogs_grew(loads: Sequence[Sequence[SentRequest]]) -> tuple[int, int] | None:
    """The mean over loads of one rate of what ``backlog_grew`` tells, where it grew in all of them.

    An engine slightly too slow grows a little in each load, which is chance in none by itself: the
    growth is not chance where Student's 99 % interval of its mean is above 0, and matters from a
    tenth of what is in flight on.
    """
    found = [one for one in map(_early_and_late, loads) if one is not None]
    if len(found) < _FEWEST_LOADS:
        return None
    before, after = (fmean(pair[place] for pair in found) for place in (0, 1))
    growth = mean_interval([late - early for early, late in found], 0.99)
    matters = after - before >= max(_LEAST_GROWTH, _SHARE_THAT_MATTERS * (before + after) / 2)
    return (round(before), round(after)) if growth.low > 0 and matters else None


def _early_and_late(requests: Sequence[SentRequest]) -> tuple[int, int] | None:
    """Requests in flight when the first tenth has ended, and at the last arrival behind it."""
    arrived = sorted(requests, key=lambda one: one.scheduled_ms)
    early_ms = max(one.ended_ms for one in arrived[: max(1, len(arrived) // 10)])
    last_ms = arrived[-1].scheduled_ms
    if early_ms >= last_ms:
        return None
    return in_flight_at(requests, early_ms), in_flight_at(requests, last_ms)
