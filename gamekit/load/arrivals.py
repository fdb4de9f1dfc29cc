"""When the requests of an open loop arrive: seeded, so that two runs offer the same load."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, islice, takewhile
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

    *poisson*: gaps drawn from the exponential distribution of mean 1/``rate``; *uniform*: one every
    1/``rate``, the first at 0. They end after ``requests``, or before ``duration_s``, whichever is
    given. Raises ``ValueError`` for a rate that is not above 0, and unless exactly one end is.
    """
    if not rate > 0:
        raise ValueError(f"a rate of {rate} requests/s sends nothing")
    if (requests is None) == (duration_s is None):
        raise ValueError("give the number of requests or the duration")
    times = _poisson(rate, seed) if arrivals == "poisson" else (n / rate for n in count())
    if duration_s is not None:
        return list(takewhile(lambda at: at < duration_s, times))
    return list(islice(times, requests))


def _poisson(rate: float, seed: int) -> Iterator[float]:
    draw = random.Random(seed)  # noqa: S311 - not for secrecy
    at = 0.0
    while True:
        at += draw.expovariate(rate)
        yield at
