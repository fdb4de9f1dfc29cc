"""Requests sent a few at one moment, wave after wave, and whether the client kept up with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from gamekit import event_loop
from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.context import Context
from gamekit.bench.floor import RunFloor
from gamekit.bench.gaps import tell_gaps
from gamekit.bench.module import ERROR, Parameter, Replicate, Sample
from gamekit.bench.serving import answer_row, request_maker
from gamekit.event_loop import LoopLag
from gamekit.streaming.client import StreamClient
from gamekit.streaming.figures import chunk_gaps_ms
from gamekit.streaming.receiver import ReceiveLoad
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import StreamRequest

REQUESTS = Parameter(
    "requests",
    int,
    7,
    "requests one after another, or waves of them; each is a sample",
    low=1,
    high=100_000,
    effort=True,
)
CONCURRENCY = Parameter(
    "concurrency", int, 1, "requests of a wave, sent at one moment", low=1, high=1000
)
WARMUP = Parameter(
    "warmup", int, 1, "the same before them, not measured", low=0, high=1000, effort=True
)


@dataclass(frozen=True)
class Wave:
    """Requests sent at one moment: what came, and how the client fared."""

    records: list[StreamRecord]
    lag: LoopLag
    receiving: ReceiveLoad


class Waves:
    """Sends what the parameters REQUESTS, CONCURRENCY and WARMUP say, wave after wave.

    ``rows`` has a row an answer and ``sent`` the waves, as far as they have come; ``before`` is
    called before each that is measured.
    """

    def __init__(self, context: Context, before: Callable[[], object] | None = None) -> None:
        self.rows: list[dict[str, Any]] = []
        self.notices: Counter[str] = Counter()
        self.sent: list[Wave] = []
        self._context = context
        self._before = before
        self._make = request_maker(context)
        context.tell(concurrency=context["concurrency"])

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        """The rows of one wave after another."""
        name, count = self._context.benchmark.name, self._context["requests"]
        for _ in range(self._context["warmup"]):
            self._context.progress(f"{name}: warming up")
            self._send(0)
        for number in range(count):
            self._context.progress(f"{name}: request {number + 1} of {count}")
            if self._before is not None:
                self._before()
            self.sent.append(self._send(number))
            steps = self._context.subject.steps
            rows = [answer_row(record, self.notices, steps) for record in self.sent[-1].records]
            self.rows += rows
            yield rows

    def _send(self, number: int) -> Wave:
        concurrency = self._context["concurrency"]
        requests = [self._make(number * concurrency + place) for place in range(concurrency)]
        return send_wave(self._context.engine.url, requests)

    def warn(self) -> None:
        """Tell what is to be known of the answers, and how even they were."""
        for notice, times in self.notices.items():
            self._context.warn(f"{times} of {len(self.rows)} requests: {notice}")
        answers = [one for wave in self.sent for one in wave.records if one.failure is None]
        tell_gaps(self._context, [gap for one in answers for gap in chunk_gaps_ms(one)])


def replicate(rows: Sequence[Sample], metrics: Sequence[str]) -> Sample | Replicate:
    """One wave as one replicate: its request, or the means of its requests.

    Requests of one wave share every step of the engine. A failed one counts in no mean; where all
    failed, so did the wave.
    """
    if len(rows) == 1:
        return rows[0]
    return Replicate(means(rows, metrics), rows)


def means(rows: Sequence[Sample], metrics: Sequence[str]) -> dict[str, Any]:
    """The mean of each of ``metrics`` over the rows that have it; an error where all have one."""
    if rows and all(row.get(ERROR) for row in rows):
        return {ERROR: f"every request failed, the first with: {rows[0][ERROR]}"}
    seen = {
        metric: [row[metric] for row in rows if row.get(metric) is not None] for metric in metrics
    }
    return {metric: fmean(values) if values else None for metric, values in seen.items()}


def send_wave(url: str, requests: Sequence[StreamRequest]) -> Wave:
    """Send the requests at one moment, over connections that are open already.

    Raises ``BenchmarkFailed`` where the server does not answer at all, or does not any more.
    """

    async def send(selector: event_loop.PreciseSelector) -> Wave:
        async with StreamClient(url) as client:
            await client.open(len(requests))
            selector.restart()
            client.restart_load()
            records = await client.streams(requests)
            wave = Wave(records, selector.lag(), client.load())
            if any(one.failure is not None and one.failure.kind == "timeout" for one in records):
                await client.check_alive()
            return wave

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
