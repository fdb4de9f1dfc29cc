"""What the server itself says during a load: requests it runs, tokens that it generated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from gamekit.errors import BenchmarkFailed
from gamekit.load.exposition import Counted, counted_between, gauge_sum
from gamekit.streaming.client import StreamClient

METRICS_ROUTE = "/metrics"
_GENERATED = ("sglang:generation_tokens_total", "vllm:generation_tokens_total")
# The gauge of requests that run, and that of those which wait in the server's queue.
_GAUGES = (
    ("sglang:num_running_reqs", "sglang:num_queue_reqs"),
    ("vllm:num_requests_running", "vllm:num_requests_waiting"),
)
_INFO_ROUTE = "/server_info"
# Writing its metrics keeps a server from streaming for a moment: it is asked seldom. The stand-in
# engine's /server_info costs nothing.
_METRICS_EVERY_S = 2.0
_INFO_EVERY_S = 0.1
# A server counts a request a moment after its last token was sent.
_LONGEST_SETTLING_S = 3.0
_SETTLING_STEP_S = 0.1


@dataclass(frozen=True)
class ServerView:
    """``running`` are (ms since the load began, requests that the server ran), as it said.

    ``running_source`` names what told it, None where nobody did. ``generated`` is how many tokens
    the server counted over the load, None where it has no such counter.
    """

    running: tuple[tuple[float, float], ...] = ()
    waiting: tuple[tuple[float, float], ...] = ()
    running_source: str | None = None
    generated: Counted | None = None


class ServerWatch:
    """Asks before, during and after a load. ``begin`` it, then send within ``watching()``."""

    def __init__(self, client: StreamClient, before: str | None, running: str | None) -> None:
        self._client = client
        self._before = before
        self._running = running
        self._counter = next((name for name in _GENERATED if before and name in before), None)
        self._looks: list[tuple[int, Any]] = []

    @classmethod
    async def begin(cls, client: StreamClient) -> ServerWatch:
        """Find out what this server tells. Raises ``BenchmarkFailed`` where it is not reached."""
        metrics = await client.request_text(METRICS_ROUTE)
        before = metrics.text if metrics.status == 200 else None
        running = next((name for name, _ in _GAUGES if before and name in before), None)
        if running is None:
            info = await client.request_json("GET", _INFO_ROUTE)
            if info.status == 200 and _in_flight(info.body) is not None:
                running = _INFO_ROUTE
        return cls(client, before, running)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Look at the requests in flight meanwhile, where the server tells them."""
        looking = asyncio.ensure_future(self._look())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _look(self) -> None:
        every_s = _INFO_EVERY_S if self._running == _INFO_ROUTE else _METRICS_EVERY_S
        while self._running is not None:
            await asyncio.sleep(every_s)
            asked_ns = time.perf_counter_ns()
            # A server that does not answer will fail the load's own requests, which say so.
            with suppress(BenchmarkFailed):
                said: Any
                if self._running == _INFO_ROUTE:
                    said = (await self._client.request_json("GET", _INFO_ROUTE)).body
                else:
                    said = (await self._client.request_text(METRICS_ROUTE)).text
                self._looks.append(((asked_ns + time.perf_counter_ns()) // 2, said))

    async def end(self, began_ns: int, tokens: int) -> ServerView:
        """All that was said; waits a moment until the server has counted ``tokens``.

        Raises ``BenchmarkFailed`` where the server is gone.
        """
        queue = dict(_GAUGES).get(self._running or "")
        running = self._seen(began_ns, self._running)
        waiting = self._seen(began_ns, queue)
        return ServerView(
            running,
            waiting,
            self._running if running else None,
            None if self._counter is None else await self._generated(self._counter, tokens),
        )

    def _seen(self, began_ns: int, gauge: str | None) -> tuple[tuple[float, float], ...]:
        seen = [((at_ns - began_ns) / 1e6, _number(said, gauge)) for at_ns, said in self._looks]
        return tuple((at_ms, told) for at_ms, told in seen if told is not None)

    async def _generated(self, counter: str, tokens: int) -> Counted:
        until = time.monotonic() + _LONGEST_SETTLING_S
        while True:
            after = await self._client.request_text(METRICS_ROUTE)
            try:
                counted = counted_between(self._before or "", after.text, counter)
            except ValueError as error:
                counted = Counted(None, f"{METRICS_ROUTE} cannot be read: {error}")
            enough = counted.value is None or counted.value >= tokens
            if enough or time.monotonic() > until:
                return counted
            await asyncio.sleep(_SETTLING_STEP_S)


def _number(said: Any, gauge: str | None) -> float | None:
    """What a look at ``gauge`` told; that of the stand-in's route is a mapping."""
    if isinstance(said, dict):
        return _in_flight(said) if gauge == _INFO_ROUTE else None
    try:
        return None if gauge is None else gauge_sum(said, gauge)
    except ValueError:
        return None


def _in_flight(info: Any) -> float | None:
    """The sum of ``internal_states[i].in_flight``, which the stand-in engine tells."""
    states = info.get("internal_states") if isinstance(info, dict) else None
    told = [one.get("in_flight") for one in states or () if isinstance(one, dict)]
    numbers = [one for one in told if isinstance(one, int) and not isinstance(one, bool)]
    return float(sum(numbers)) if numbers else None
