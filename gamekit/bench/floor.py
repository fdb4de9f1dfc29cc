"""The client's own floor: what this client, on this machine, adds to the times it reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from gamekit import event_loop
from gamekit.event_loop import LoopLag, PreciseSelector
from gamekit.nearest_rank import quantile
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import Exchange, StreamClient
from gamekit.streaming.receiver import ReceiveLoad
from gamekit.streaming.record import TimeSource
from gamekit.streaming.requests import generate_request
from gamekit.streaming.sse import ServerSentEvents

_SENT = re.compile(rb'"stand_in_arrived_ns":(\d+),"stand_in_sent_ns":(\d+)')
# Time for all requests of a burst to have arrived before the first token is due.
_PREFILL_MS = 100.0
# A floor for a run takes about so long, and streams at most so many chunks.
_FLOOR_S = 1.0
_FLOOR_CHUNKS = 10_000
# Each chunk repeats all text so far: what an answer weighs grows with the square of its tokens. How
# many come with a chunk is the measured server's word, and may be anything.
_FLOOR_TOKENS = 4096
# The sweep for the largest load: streams at once, each a chunk every so many ms.
_SWEEP_STREAMS = (25, 50, 100, 150, 200)
_SWEEP_INTERVAL_MS = 5.0
_SWEEP_CHUNKS = 40


@dataclass(frozen=True)
class ClientFloor:
    """What the client added at one load.

    ``added_us`` has one number a chunk: its time at the client minus the moment at which the server
    handed it to the system, in µs, on one clock. ``ttft_error_ms`` has one number a stream: the
    TTFT reported minus the one the server had (request arrived to first token sent). ``gap_p99_ms``
    and ``sent_gap_p99_ms`` are the 99th percentile of the times between two chunks of a stream, as
    received and as sent. ``server_late_p95_us`` is how late the server was against its own
    deadlines; that is not in the other figures. ``achieved_load`` is the chunk rate received over
    the one sent, ``server_load`` the one sent over the one scheduled.
    """

    concurrency: int
    chunk_interval_ms: float
    chunks_per_stream: int
    scheduled_chunks_per_s: float
    added_us: tuple[float, ...]
    ttft_error_ms: tuple[float, ...]
    gap_p99_ms: float
    sent_gap_p99_ms: float
    server_late_p95_us: float
    chunks_lost: int
    achieved_load: float
    server_load: float
    lag: LoopLag
    receiving: ReceiveLoad
    time_source: TimeSource

    @property
    def median_us(self) -> float:
        """Median of ``added_us``."""
        return quantile(self.added_us, 0.5)

    @property
    def p95_us(self) -> float:
        """95th percentile of ``added_us``."""
        return quantile(self.added_us, 0.95)

    @property
    def max_us(self) -> float:
        """The worst chunk."""
        return max(self.added_us)

    @property
    def delay_shows(self) -> str | None:
        """What of the client's own delay shows in its figures at this load, or None.

        A lost chunk, a load received 1 % short of the one sent, a median TTFT off by 10 ms, a p99
        gap off by 10 %.
        """
        if self.chunks_lost:
            return f"{self.chunks_lost} chunks were lost"
        if self.achieved_load < 0.99:
            return f"{self.achieved_load:.1%} of the load that was sent was received"
        error = quantile([abs(one) for one in self.ttft_error_ms], 0.5)
        if error > 10:
            return f"TTFT was off by {error:.1f} ms"
        if abs(self.gap_p99_ms / self.sent_gap_p99_ms - 1) > 0.1:
            return (
                f"the p99 gap was {self.gap_p99_ms:.2f} ms, {self.sent_gap_p99_ms:.2f} ms were sent"
            )
        return None


@dataclass(frozen=True)
class LargestLoad:
    """The largest chunk rate (chunks/s) at which the client's own delay did not show.

    ``ended_by`` says whose limit it was: of the *client*, of the scripted *server*, or only of the
    *sweep*; but for the first, the client manages more. ``reason`` says it in words.
    """

    chunks_per_s: float
    ended_by: Literal["client", "server", "sweep"]
    reason: str


@dataclass(frozen=True)
class RunFloor:
    """The floor at a run's own load, and how much more the client could bear."""

    at_load: ClientFloor
    largest: LargestLoad

    def describe(self) -> dict[str, Any]:
        """As a fact of a run: plain numbers, times in µs and ms as the names say."""
        floor = self.at_load
        errors = [abs(error) for error in floor.ttft_error_ms]
        return {
            "concurrency": floor.concurrency,
            "chunk_interval_ms": round(floor.chunk_interval_ms, 3),
            "chunks": len(floor.added_us),
            "chunks_lost": floor.chunks_lost,
            "median_us": round(floor.median_us, 1),
            "p95_us": round(floor.p95_us, 1),
            "max_us": round(floor.max_us, 1),
            "ttft_error_median_ms": round(quantile(errors, 0.5), 4),
            "ttft_error_p95_ms": round(quantile(errors, 0.95), 4),
            "achieved_load": round(floor.achieved_load, 5),
            "busy_fraction": round(floor.lag.busy_fraction, 4),
            "server_late_p95_us": round(floor.server_late_p95_us, 1),
            "time_source": floor.time_source,
            "largest_chunks_per_s": round(self.largest.chunks_per_s),
            "largest_ended_by": self.largest.ended_by,
            "largest_reason": self.largest.reason,
        }


@dataclass(frozen=True)
class TimedChunk:
    """One chunk at both ends: the request's arrival, its sending and its receipt, in ns."""

    arrived_ns: int
    sent_ns: int
    received_ns: float


class FloorInterrupted(KeyboardInterrupt):
    """The user ended the measuring of a run's floor: all samples of the case are there."""


_skipped: ContextVar[bool] = ContextVar("skipped", default=False)


@contextmanager
def without_floor() -> Iterator[None]:
    """``floor_for`` raises ``FloorInterrupted`` at once meanwhile."""
    token = _skipped.set(True)
    try:
        yield
    finally:
        _skipped.reset(token)


def floor_for(
    concurrency: int, chunk_interval_ms: float, tokens_per_chunk: float = 1.0
) -> RunFloor:
    """The floor at the concurrency and chunk rate of a run that is over.

    It takes about two seconds, and as much again the first time in a process: the largest load of
    the client is not that of a run. Of an answer of more than 4096 tokens it is the floor at fewer
    tokens a chunk. Raises ``BenchmarkFailed`` where the server cannot be started,
    ``ValueError`` for less than one stream, ``FloorInterrupted`` where the user ended it.
    """
    if _skipped.get():
        raise FloorInterrupted
    by_time = _FLOOR_S * 1000 / chunk_interval_ms
    chunks = max(4, round(min(by_time, _FLOOR_CHUNKS / max(1, concurrency))))
    tokens = min(tokens_per_chunk, max(1.0, _FLOOR_TOKENS / chunks))
    try:
        floor = measure_floor(concurrency, chunk_interval_ms, chunks, tokens)
        return RunFloor(floor, _largest_load_here())
    except KeyboardInterrupt as error:
        raise FloorInterrupted(*error.args) from error


def measure_floor(
    concurrency: int = 1,
    chunk_interval_ms: float = 5.0,
    chunks: int = 100,
    tokens_per_chunk: float = 1.0,
) -> ClientFloor:
    """Stream ``chunks`` chunks to each of ``concurrency`` streams at once, and compare both ends.

    The server is a process of its own with absolute deadlines; both processes read one clock
    (CLOCK_MONOTONIC). All streams start together, so their chunks come in bursts, as a batching
    engine sends them. Takes about chunks x interval. Raises ``BenchmarkFailed`` where the server
    cannot be started, ``ValueError`` for less than one stream or two chunks.
    """
    if concurrency < 1 or chunks < 2 or tokens_per_chunk < 1:
        raise ValueError("a floor needs at least one stream of two chunks of a token")
    config = _config(chunk_interval_ms, tokens_per_chunk)
    with StandInEngine(config) as engine:
        return floor_against(engine, concurrency, chunks)


def largest_load(streams: Sequence[int] = _SWEEP_STREAMS) -> LargestLoad:
    """Raise the load until the client's own delay shows; about two seconds.

    Each of the numbers of ``streams`` in turn, each stream a chunk every 5 ms. Where the delay
    shows it is tried once more: another process of this machine may have been in the way.
    """
    best = 0.0
    with StandInEngine(_config(_SWEEP_INTERVAL_MS, 1.0)) as engine:
        for concurrency in streams:
            floor = floor_against(engine, concurrency, _SWEEP_CHUNKS)
            if floor.delay_shows or floor.server_load < 0.99:
                floor = floor_against(engine, concurrency, _SWEEP_CHUNKS)
            if floor.delay_shows:
                return LargestLoad(best, "client", floor.delay_shows)
            if floor.server_load < 0.99:
                sent = f"the scripted server sent {floor.server_load:.1%} of its schedule"
                return LargestLoad(best, "server", sent)
            best = floor.scheduled_chunks_per_s
    return LargestLoad(best, "sweep", "no larger load was tried")


@cache
def _largest_load_here() -> LargestLoad:
    return largest_load()


def _config(chunk_interval_ms: float, tokens_per_chunk: float) -> SimulatorConfig:
    if tokens_per_chunk == 1:
        return SimulatorConfig(prefill_ms=_PREFILL_MS, cycle_ms=chunk_interval_ms)
    return SimulatorConfig(
        prefill_ms=_PREFILL_MS,
        cycle_ms=chunk_interval_ms,
        accept_len=round(tokens_per_chunk, 3),
        steps=math.ceil(tokens_per_chunk) - 1,
    )


def floor_against(engine: StandInEngine, concurrency: int, chunks: int) -> ClientFloor:
    """The floor against a stand-in engine that runs, as ``measure_floor`` has it."""
    config = engine.config
    tokens = 1 + round((chunks - 1) * config.tokens_per_cycle)
    exchanges, lag, receiving = event_loop.run(
        lambda selector: _all_streams(selector, engine.url, concurrency, tokens)
    )
    streams = [timed_chunks(exchange) for exchange in exchanges]
    received = [chunk for stream in streams for chunk in stream]
    if not received:
        raise ValueError("not a single chunk was received")
    late_us = [
        (chunk.sent_ns - chunk.arrived_ns) / 1e3 - (_PREFILL_MS + index * config.cycle_ms) * 1e3
        for stream in streams
        for index, chunk in enumerate(stream)
    ]
    sent_rate = _rate([[chunk.sent_ns for chunk in stream] for stream in streams])
    received_rate = _rate([[chunk.received_ns for chunk in stream] for stream in streams])
    scheduled = 1000 * concurrency / config.cycle_ms
    sources = {exchange.time_source for exchange in exchanges}
    return ClientFloor(
        concurrency=concurrency,
        chunk_interval_ms=config.cycle_ms,
        chunks_per_stream=chunks,
        scheduled_chunks_per_s=scheduled,
        added_us=tuple((c.received_ns - c.sent_ns) / 1e3 for c in received),
        ttft_error_ms=tuple(
            (stream[0].received_ns - exchange.sent_ns) / 1e6
            - (stream[0].sent_ns - stream[0].arrived_ns) / 1e6
            for stream, exchange in zip(streams, exchanges, strict=True)
            if stream
        ),
        gap_p99_ms=_gap_p99_ms([[chunk.received_ns for chunk in stream] for stream in streams]),
        sent_gap_p99_ms=_gap_p99_ms([[chunk.sent_ns for chunk in stream] for stream in streams]),
        server_late_p95_us=quantile(late_us, 0.95),
        chunks_lost=max(0, concurrency * chunks - len(received)),
        achieved_load=received_rate / sent_rate if sent_rate else 0.0,
        server_load=sent_rate / scheduled,
        lag=lag,
        receiving=receiving,
        time_source=sources.pop() if len(sources) == 1 else "mixed",
    )


async def _all_streams(
    selector: PreciseSelector, url: str, concurrency: int, tokens: int
) -> tuple[list[Exchange], LoopLag, ReceiveLoad]:
    async with StreamClient(url) as client:
        # One small answer first: no stream pays for what is done only once.
        await client.exchange(generate_request("warm up", 2))
        await client.open(concurrency)
        request = generate_request("measure the client", tokens)
        selector.restart()
        client.restart_load()
        exchanges = await client.exchanges([request] * concurrency)
        return exchanges, selector.lag(), client.load()


def timed_chunks(exchange: Exchange) -> list[TimedChunk]:
    """The chunks of a raw answer of the stand-in engine, which tells when it sent them."""
    events = ServerSentEvents()
    chunks = []
    for received_ns, piece in exchange.response.pieces:
        for event in events.feed(piece):
            times = _SENT.search(event)
            if times is not None:
                chunks.append(TimedChunk(int(times[1]), int(times[2]), received_ns))
    return chunks


def _rate(streams: Sequence[Sequence[float]]) -> float:
    """The sum of the streams' chunk rates, each from its first chunk to its last, in chunks/s."""
    return sum(
        (len(times) - 1) * 1e9 / (times[-1] - times[0])
        for times in streams
        if len(times) > 1 and times[-1] > times[0]
    )


def _gap_p99_ms(streams: Sequence[Sequence[float]]) -> float:
    gaps = [(after - before) / 1e6 for times in streams for before, after in pairwise(times)]
    return quantile(gaps, 0.99) if gaps else 0.0
