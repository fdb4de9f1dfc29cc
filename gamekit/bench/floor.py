"""The client's own floor: what this client, on this machine, adds to the times it reports."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gamekit import event_loop
from gamekit.event_loop import LoopLag, PreciseSelector
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import Exchange, StreamClient
from gamekit.streaming.requests import generate_request
from gamekit.streaming.sse import ServerSentEvents

_SENT = re.compile(rb'"stand_in_arrived_ns":(\d+),"stand_in_sent_ns":(\d+)')
# Time for all requests of a burst to have arrived before the first token is due.
_PREFILL_MS = 100.0


@dataclass(frozen=True)
class ClientFloor:
    """What the client added at one load.

    ``added_us`` has one number a chunk: its time stamp at the client minus the moment at which the
    server handed it to the system, in µs, on one clock. ``ttft_error_ms`` has one number a stream:
    the TTFT reported minus the one the server had (request read to first token sent).
    ``server_late_p95_us`` is how late the server was against its own deadlines; that is not in the
    other figures. ``achieved_load`` is the chunk rate received over the one scheduled.
    """

    concurrency: int
    chunk_interval_ms: float
    chunks_per_stream: int
    scheduled_chunks_per_s: float
    added_us: tuple[float, ...]
    ttft_error_ms: tuple[float, ...]
    server_late_p95_us: float
    chunks_lost: int
    achieved_load: float
    lag: LoopLag

    @property
    def median_us(self) -> float:
        """Median of ``added_us``."""
        return percentile(self.added_us, 0.5)

    @property
    def p95_us(self) -> float:
        """95th percentile of ``added_us``."""
        return percentile(self.added_us, 0.95)

    @property
    def max_us(self) -> float:
        """The worst chunk."""
        return max(self.added_us)


@dataclass(frozen=True)
class _TimedChunk:
    arrived_ns: int
    sent_ns: int
    received_ns: float


def measure_floor(
    concurrency: int = 1, chunk_interval_ms: float = 5.0, chunks: int = 100
) -> ClientFloor:
    """Stream ``chunks`` chunks to each of ``concurrency`` streams at once, and compare both ends.

    The server is a process of its own with absolute deadlines; both processes read one clock
    (CLOCK_MONOTONIC). All streams start together, so their chunks come in bursts, as a batching
    engine sends them. Takes about chunks x interval. Raises ``BenchmarkFailed`` where the server
    cannot be started, ``ValueError`` for less than one stream or two chunks.
    """
    if concurrency < 1 or chunks < 2:
        raise ValueError("a floor needs at least one stream of two chunks")
    config = SimulatorConfig(prefill_ms=_PREFILL_MS, cycle_ms=chunk_interval_ms)
    with StandInEngine(config) as engine:
        exchanges, lag = event_loop.run(
            lambda selector: _all_streams(selector, engine.url, concurrency, chunks)
        )
    streams = [_timed_chunks(exchange) for exchange in exchanges]
    received = [chunk for stream in streams for chunk in stream]
    if not received:
        raise ValueError("not a single chunk was received")
    late_us = [
        (chunk.sent_ns - chunk.arrived_ns) / 1e3 - (_PREFILL_MS + index * chunk_interval_ms) * 1e3
        for stream in streams
        for index, chunk in enumerate(stream)
    ]
    scheduled = 1000 * concurrency / chunk_interval_ms
    return ClientFloor(
        concurrency=concurrency,
        chunk_interval_ms=chunk_interval_ms,
        chunks_per_stream=chunks,
        scheduled_chunks_per_s=scheduled,
        added_us=tuple((c.received_ns - c.sent_ns) / 1e3 for c in received),
        ttft_error_ms=tuple(
            (stream[0].received_ns - exchange.sent_ns) / 1e6
            - (stream[0].sent_ns - stream[0].arrived_ns) / 1e6
            for stream, exchange in zip(streams, exchanges, strict=True)
            if stream
        ),
        server_late_p95_us=percentile(late_us, 0.95),
        chunks_lost=concurrency * chunks - len(received),
        achieved_load=_received_rate(streams) / scheduled,
        lag=lag,
    )


async def _all_streams(
    selector: PreciseSelector, url: str, concurrency: int, chunks: int
) -> tuple[list[Exchange], LoopLag]:
    async with StreamClient(url) as client:
        await client.open(concurrency)
        # One small answer first: no stream pays for what is done only once.
        await client.exchange(generate_request("warm up", 2))
        await client.open(concurrency)
        request = generate_request("measure the client", chunks)
        selector.restart()
        exchanges = await asyncio.gather(*(client.exchange(request) for _ in range(concurrency)))
        return exchanges, selector.lag()


def _timed_chunks(exchange: Exchange) -> list[_TimedChunk]:
    events = ServerSentEvents()
    chunks = []
    for received_ns, piece in exchange.response.pieces:
        for event in events.feed(piece):
            times = _SENT.search(event)
            if times is not None:
                chunks.append(_TimedChunk(int(times[1]), int(times[2]), received_ns))
    return chunks


def _received_rate(streams: Sequence[Sequence[_TimedChunk]]) -> float:
    """The sum of the streams' chunk rates, each from its first chunk to its last, in chunks/s."""
    return sum(
        (len(stream) - 1) * 1e9 / (stream[-1].received_ns - stream[0].received_ns)
        for stream in streams
        if len(stream) > 1 and stream[-1].received_ns > stream[0].received_ns
    )


def percentile(samples: Sequence[float], fraction: float) -> float:
    """The nearest-rank percentile: the smallest sample that at least ``fraction`` do not exceed."""
    ordered = sorted(samples)
    rank = -int(-fraction * len(ordered) // 1)
    return ordered[max(rank, 1) - 1]
