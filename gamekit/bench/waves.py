"""Requests sent a few at one moment, wave after wave, and whether the client kept up with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gamekit import event_loop
from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.context import Context
from gamekit.bench.floor import RunFloor
from gamekit.bench.module import Parameter
from gamekit.event_loop import LoopLag
from gamekit.streaming.client import StreamClient
from gamekit.streaming.receiver import ReceiveLoad
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import StreamRequest

REQUESTS = Parameter(
    "requests", int, 7, "requests that are measured", low=1, high=100_000, effort=True
)
CONCURRENCY = Parameter("concurrency", int, 1, "requests sent at one moment", low=1, high=1000)
WARMUP = Parameter(
    "warmup", int, 1, "requests before them, not measured", low=0, high=1000, effort=True
)


@dataclass(frozen=True)
class Wave:
    """Requests sent at one moment: what came, and how the client fared."""

    records: list[StreamRecord]
    lag: LoopLag
    receiving: ReceiveLoad


def send_wave(url: str, requests: Sequence[StreamRequest]) -> Wave:
    """Send the requests at one moment, over connections that are open already.

    Raises ``BenchmarkFailed`` where the server does not answer at all.
    """

    async def send(selector: event_loop.PreciseSelector) -> Wave:
        async with StreamClient(url) as client:
            await client.open(len(requests))
            selector.restart()
            client.restart_load()
            records = await client.streams(requests)
            return Wave(records, selector.lag(), client.load())

    return event_loop.run(send)


def judge_waves(
    context: Context, sent: Sequence[Wave], interval_ms: float | None, floor: RunFloor
) -> None:
    """A client that could not keep up is what was measured, not the engine.

    ``interval_ms`` is the time between two chunks of a stream, None where there is none to tell.
    """
    waits = [one.receiving.wait_max_ms for one in sent if one.receiving.wait_max_ms is not None]
    context.fact(
        "client",
        {
            "time_sources": sorted({record.time_source for one in sent for record in one.records}),
            "busy_fraction": round(max(busy_fraction(one.lag, one.receiving) for one in sent), 4),
            "lag_max_ms": round(max(one.lag.max_ms for one in sent), 3),
            "wait_max_ms": round(max(waits), 3) if waits else None,
        },
    )
    rate = None if interval_ms is None else 1000 * context["concurrency"] / interval_ms
    limits = [
        client_limit(
            one.lag,
            one.receiving,
            chunk_interval_ms=interval_ms,
            chunks_per_s=rate,
            floor=floor,
        )
        for one in sent
    ]
    why = next((limit for limit in limits if limit is not None), None)
    if why is not None:
        limited = len(limits) - limits.count(None)
        context.flaw(f"the client limited the run ({limited} of {len(sent)} times): {why}")
