"""What the scripted server really sent during a run, from its own ledger."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from gamekit.nearest_rank import quantile
from gamekit.stand_in.engine import LEDGER_ROUTE


@dataclass(frozen=True)
class Truth:
    """Figures of the last requests; times in ms.

    ``load`` is the mean number in flight over the concurrency, ``chunks_per_s`` the rate while all
    were in flight, ``late_p95_ms`` the server's own lateness, which is in none of the others.
    """

    requests: int
    ttft_ms: float
    time_per_token_ms: float
    gap_p99_ms: float
    load: float
    chunks_per_s: float
    late_p95_ms: float


def read_truth(url: str, requests: int, concurrency: int) -> Truth:
    """The truth of the last ``requests`` streams. Raises ``ValueError`` for fewer than that."""
    with urllib.request.urlopen(url + LEDGER_ROUTE, timeout=60) as answer:  # noqa: S310 - our own
        ledger = json.load(answer)
    return truth_of(ledger, requests, concurrency)


def truth_of(ledger: Sequence[dict[str, Any]], requests: int, concurrency: int) -> Truth:
    """The truth of the last ``requests`` whole answers of a ledger, by their arrival."""
    whole = sorted(
        (one for one in ledger if one["tokens"] is not None and len(one["sent_ns"]) > 2),
        key=lambda one: one["arrived_ns"],
    )
    if len(whole) < requests:
        raise ValueError(f"{len(whole)} of {requests} requests were answered")
    answers = whole[-requests:]
    sent = [one["sent_ns"] for one in answers]
    first = min(one["arrived_ns"] for one in answers)
    last = max(times[-1] for times in sent)
    in_flight = sum(times[-1] - one["arrived_ns"] for one, times in zip(answers, sent, strict=True))
    decoding = sum(times[-1] - times[0] for times in sent)
    waits = [times[0] - one["arrived_ns"] for one, times in zip(answers, sent, strict=True)]
    gaps = [after - before for times in sent for before, after in pairwise(times)]
    return Truth(
        requests=requests,
        ttft_ms=fmean(waits) / 1e6,
        time_per_token_ms=fmean(
            (times[-1] - times[0]) / (one["tokens"] - 1)
            for one, times in zip(answers, sent, strict=True)
        )
        / 1e6,
        gap_p99_ms=quantile(gaps, 0.99) / 1e6,
        load=in_flight / (last - first) / concurrency,
        chunks_per_s=concurrency * 1e9 * len(gaps) / decoding,
        late_p95_ms=quantile([late for one in answers for late in one["late_ns"]], 0.95) / 1e6,
    )
