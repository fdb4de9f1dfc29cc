"""When the requests of an open loop arrive: seeded, so that two runs offer the same load."""

from __future__ import annotations

import random
from itertools import accumulate, count, takewhile
from typing import Literal

Arrivals = Literal["poisson", "uniform"]


def arrival_times(
    rate: float,
    arrivals: Arrivals,
    seed: int,
    *,
    requests: int | None = None,
    duration_s: float | None = None,
) -> list[float]:
    """The times of the arrivals, in seconds since the load began.

    *uniform*: one every 1/``rate``, the first at 0. *poisson*: those of a Poisson process of which
    so many arrive as ``rate`` says: given their number they lie independently in the time that they
    take (Kingman 1993, section 2.4). Left to chance the number alone would make one load by a tenth
    larger than the next, and its throughput with it. They end after ``requests``, or before
    ``duration_s``, whichever is given. Raises ``ValueError`` for a rate that is not above 0, and
    unless exactly one end is.
    """
    if not rate > 0:
        raise ValueError(f"a rate of {rate} requests/s sends nothing")
    if requests is not None and duration_s is None:
        if arrivals == "poisson":
            return _in_order(requests, requests / rate, seed)
        return [n / rate for n in range(requests)]
    if requests is None and duration_s is not None:
        if arrivals == "poisson":
            return _in_order(round(rate * duration_s), duration_s, seed)
        return list(takewhile(lambda at: at < duration_s, (n / rate for n in count())))
    raise ValueError("give the number of requests or the duration")


def _in_order(number: int, length_s: float, seed: int) -> list[float]:
    """So many independent moments in order: by gaps of an exponential distribution."""
    draw = random.Random(seed)  # noqa: S311 - not for secrecy
    *sums, whole = accumulate(draw.expovariate(1.0) for _ in range(number + 1))
    return [length_s * one / whole for one in sums]
