"""The figures of a load: rates over a window, and how many requests met the limits given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gamekit.load.phases import Window, share_within
from gamekit.load.sent import SentRequest
from gamekit.streaming.figures import decode_rate


@dataclass(frozen=True)
class Limits:
    """What a request must keep to count as good, each in ms; None is no limit.

    ``latency_ms`` is of the whole request. The time per output token is the mean of a request.
    """

    ttft_ms: float | None = None
    time_per_output_token_ms: float | None = None
    latency_ms: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return (self.ttft_ms, self.time_per_output_token_ms, self.latency_ms) != (None,) * 3


@dataclass(frozen=True)
class LoadFigures:
    """Rates within a window: of tokens (tok/s) and of requests (requests/s); None is not known.

    ``request_rate`` is of requests that did not fail, ``failure_share`` of those that did, both
    weighted like the rates. ``goodput`` (requests/s) and ``goodput_share`` are of requests within
    the limits, the share of all, failed ones included; None without limits.
    """

    output_throughput: float | None
    request_rate: float | None
    failure_share: float | None
    goodput: float | None
    goodput_share: float | None


def load_figures(
    requests: Sequence[SentRequest], window: Window, limits: Limits | None = None
) -> LoadFigures:
    """The figures of ``requests`` within ``window``.

    A request counts by the part of its time in flight that lies within the window, and the tokens
    of a chunk by the part of the time since the chunk before it (the first: since the sending).
    Whole ones would make the figures depend on where an edge falls: closed loops run in step, and
    one edge cuts through a whole burst of ends.
    """
    seconds = (window[1] - window[0]) / 1000
    if seconds <= 0:
        return LoadFigures(None, None, None, None, None)
    shares = [share_within(one.sent_ms, one.ended_ms, window) for one in requests]
    total = math.fsum(shares)
    done = math.fsum(share for one, share in zip(requests, shares, strict=True) if not one.failed)
    tokens = [
        tokens_within(one, window)
        for one, share in zip(requests, shares, strict=True)
        if share > 0 and not one.failed
    ]
    known = [count for count in tokens if count is not None]
    good = good_share = None
    if limits is not None and limits.given:
        verdicts = [is_good(one, limits) for one in requests]
        if None not in verdicts:
            within = math.fsum(share for good, share in zip(verdicts, shares, strict=True) if good)
            good, good_share = within / seconds, within / total if total > 0 else None
    return LoadFigures(
        output_throughput=math.fsum(known) / seconds if len(known) == len(tokens) else None,
        request_rate=done / seconds,
        failure_share=(total - done) / total if total > 0 else None,
        goodput=good,
        goodput_share=good_share,
    )


def tokens_within(request: SentRequest, window: Window) -> float | None:
    """How many of a request's output tokens were made within ``window``; None without a count.

    A chunk's tokens are taken to have been made evenly since the chunk before it. Where chunks do
    not tell their tokens, or tell others than the whole answer has, each brings its part of those.
    """
    record = request.record
    if record.completion_tokens is None or not record.chunks:
        return None if record.completion_tokens is None else 0.0
    ends = request.sent_ms + np.array([chunk.at_ms for chunk in record.chunks])
    begins = np.concatenate(([request.sent_ms], ends[:-1]))
    told = [chunk.tokens for chunk in record.chunks]
    weights = (
        np.ones(len(told)) if None in told else np.array([float(tokens or 0) for tokens in told])
    )
    if weights.sum() <= 0:
        weights = np.ones(len(told))
    tokens = weights * (record.completion_tokens / weights.sum())
    overlap = np.clip(np.minimum(ends, window[1]) - np.maximum(begins, window[0]), 0.0, None)
    length = ends - begins
    # Chunks of one read share its time.
    at_once = (ends > window[0]) & (ends <= window[1])
    parts = np.where(length > 0, overlap / np.where(length > 0, length, 1.0), at_once)
    return float((tokens * parts).sum())


def chunk_gaps_within(requests: Sequence[SentRequest], window: Window) -> list[float]:
    """The times between two chunks, in ms, that ended within ``window``; of no failed request."""
    gaps: list[float] = []
    for one in requests:
        if one.failed:
            continue
        times = one.sent_ms + np.array([chunk.at_ms for chunk in one.record.chunks])
        ends = times[1:]
        gaps += np.diff(times)[(ends > window[0]) & (ends <= window[1])].tolist()
    return gaps


def is_good(request: SentRequest, limits: Limits) -> bool | None:
    """Whether a request kept all limits; None where a figure that has one is not known.

    A failed request did not. A time per output token does not exist where all tokens came at one
    moment: nobody waited for the second.
    """
    if request.failed:
        return False
    pairs = [(request.ttft_ms, limits.ttft_ms), (request.latency_ms, limits.latency_ms)]
    if limits.time_per_output_token_ms is not None:
        if request.record.completion_tokens is None:
            return None
        rate = decode_rate(request.record)
        pairs.append((1000 / rate if rate else 0.0, limits.time_per_output_token_ms))
    if any(limit is not None and figure is None for figure, limit in pairs):
        return None
    return all(limit is None or figure is None or figure <= limit for figure, limit in pairs)
