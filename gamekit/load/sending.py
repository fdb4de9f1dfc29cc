"""Sends a load: a closed loop that keeps so many requests in flight, or an open one of arrivals."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gamekit import event_loop
from gamekit.errors import BenchmarkFailed
from gamekit.event_loop import PreciseSelector
from gamekit.load.sent import LoadRun, SentRequest
from gamekit.load.server_view import ServerWatch
from gamekit.streaming.client import StreamClient, UnreadStream
from gamekit.streaming.live_stream import LiveStream
from gamekit.streaming.requests import StreamRequest

MakeRequest = Callable[[int], StreamRequest]

# Connections for the arrivals of the next so many seconds are opened ahead, looked at so often.
_AHEAD_S = 0.25
_LOOK_S = 0.05
# So many requests of an open loop are made ahead: one of 100 000 tokens takes 50 ms to make.
_MOST_MADE_AHEAD = 64


def closed_loop(
    url: str,
    make: MakeRequest,
    concurrency: int,
    *,
    requests: int | None = None,
    duration_s: float | None = None,
) -> LoadRun:
    """Keep ``concurrency`` requests in flight: whenever one ends, the next one is sent at once.

    None is sent after ``requests``, nor after ``duration_s``; what is in flight then is read to its
    end. ``make`` makes the request of a number from 0. Raises ``BenchmarkFailed`` where the server
    cannot be reached.
    """

    async def send(selector: PreciseSelector) -> LoadRun:
        async with StreamClient(url) as client:
            watch = await ServerWatch.begin(client)
            loop = _ClosedLoop(client, make, concurrency, requests, duration_s)
            await client.open(concurrency + 1)
            return await _watched(client, loop, watch, selector, concurrency)

    return event_loop.run(send)


def open_loop(url: str, make: MakeRequest, arrivals_s: Sequence[float]) -> LoadRun:
    """Send a request at each of ``arrivals_s`` (seconds since the load began), come what may.

    Raises as ``closed_loop`` does.
    """

    async def send(selector: PreciseSelector) -> LoadRun:
        async with StreamClient(url) as client:
            watch = await ServerWatch.begin(client)
            loop = _OpenLoop(client, make, arrivals_s)
            # Before connections are opened: it may take longer than they may be idle.
            loop.make_first()
            await loop.open_ahead(0.0)
            return await _watched(client, loop, watch, selector, None)

    # A request that is due must not wait for a processor that idled deeply.
    return event_loop.run(send, punctual=True)


async def _watched(
    client: StreamClient,
    loop: _ClosedLoop | _OpenLoop,
    watch: ServerWatch,
    selector: PreciseSelector,
    concurrency: int | None,
) -> LoadRun:
    """Send what the loop sends, and keep how client and server fared meanwhile."""
    async with watch.watching():
        selector.restart()
        client.restart_load()
        await loop.run()
        lag, receiving = selector.lag(), client.load()
    sent = loop.read()
    view = await watch.end(loop.began_ns, generated_by(sent))
    return LoadRun(sent, concurrency, lag, receiving, view)


def generated_by(sent: Sequence[SentRequest]) -> int:
    """The tokens that the requests which did not fail brought."""
    return sum(one.record.completion_tokens or 0 for one in sent if not one.failed)


@dataclass(frozen=True)
class _Ended:
    """A request that is over and not yet read; times in ms since the load began."""

    number: int
    slot: int | None
    scheduled_ms: float
    sent_ms: float
    ended_ms: float
    stream: UnreadStream


class _Loop:
    """What both loops share: the clock, and one request from its sending to its end."""

    def __init__(self, client: StreamClient) -> None:
        self._client = client
        self._ended: list[_Ended] = []
        self.began_ns = 0

    def _ms(self, at_ns: float) -> float:
        return (at_ns - self.began_ns) / 1e6

    async def _one(
        self,
        prepared: LiveStream,
        number: int,
        slot: int | None,
        scheduled_ms: float,
        sent: Callable[[], object] | None = None,
    ) -> float:
        """Send it and keep what came of it; returns when it ended, in ms.

        Raises ``BenchmarkFailed`` where it timed out and the server is silent altogether.
        """
        stream = await self._client.unread_stream(prepared, sent)
        ended_ms = self._ms(stream.ended_ns)
        self._ended.append(
            _Ended(number, slot, scheduled_ms, self._ms(stream.sent_ns), ended_ms, stream)
        )
        if stream.timed_out:
            await self._client.check_alive()
        return ended_ms

    def read(self) -> tuple[SentRequest, ...]:
        """All requests in the order in which they were sent, when the load is over."""
        self._ended.sort(key=lambda one: one.sent_ms)
        return tuple(
            SentRequest(
                one.number,
                one.slot,
                one.scheduled_ms,
                one.sent_ms,
                one.ended_ms,
                one.stream.record(),
            )
            for one in self._ended
        )


class _ClosedLoop(_Loop):
    def __init__(
        self,
        client: StreamClient,
        make: MakeRequest,
        concurrency: int,
        requests: int | None,
        duration_s: float | None,
    ) -> None:
        super().__init__(client)
        self._make = make
        self._concurrency = concurrency
        self._requests = requests
        self._duration_s = duration_s
        self._made: deque[tuple[int, LiveStream]] = deque()
        self._numbers = 0

    async def run(self) -> None:
        for _ in range(self._concurrency):
            self._make_ahead()
        self.began_ns = time.perf_counter_ns()
        await _all([self._slot(slot) for slot in range(self._concurrency)])

    def _make_ahead(self) -> None:
        if self._requests is None or self._numbers < self._requests:
            prepared = self._client.prepare(self._make(self._numbers))
            self._made.append((self._numbers, prepared))
            self._numbers += 1

    async def _slot(self, slot: int) -> None:
        free_ms = 0.0
        loop = asyncio.get_running_loop()
        while not self._over():
            if not self._made:
                self._make_ahead()
            if not self._made:
                return
            number, prepared = self._made.popleft()
            # Another is made once all that is free has been sent.
            free_ms = await self._one(
                prepared, number, slot, free_ms, lambda: loop.call_soon(self._make_ahead)
            )

    def _over(self) -> bool:
        elapsed_s = (time.perf_counter_ns() - self.began_ns) / 1e9
        return self._duration_s is not None and elapsed_s >= self._duration_s


class _OpenLoop(_Loop):
    def __init__(
        self, client: StreamClient, make: MakeRequest, arrivals_s: Sequence[float]
    ) -> None:
        super().__init__(client)
        self._make = make
        self._arrivals_s = arrivals_s
        self._next = 0
        self._made: deque[LiveStream] = deque()
        self._numbers = 0
        self._making_s = 0.0

    def make_first(self) -> None:
        """Make what can be made before the load begins."""
        while self._room():
            self._make_ahead()

    def _room(self) -> bool:
        return self._numbers < len(self._arrivals_s) and len(self._made) < _MOST_MADE_AHEAD

    def _make_ahead(self) -> None:
        began = time.perf_counter()
        self._made.append(self._client.prepare(self._make(self._numbers)))
        self._numbers += 1
        # What the next one may take: large ones are remembered, a pause of the machine forgotten.
        self._making_s = max(time.perf_counter() - began, 0.9 * self._making_s)

    async def open_ahead(self, now_s: float) -> None:
        """Open a connection for each arrival of the near future, and one to spare."""
        due = 0
        for at in self._arrivals_s[self._next :]:
            if at > now_s + _AHEAD_S:
                break
            due += 1
        # Where none can be made, the request that would have used it says so.
        with suppress(BenchmarkFailed):
            await self._client.open(due + 1)

    async def run(self) -> None:
        self.began_ns = time.perf_counter_ns()
        await _all([self._send_all()])

    async def _send_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            opening = group.create_task(self._keep_open())
            await self._arrive()
            opening.cancel()

    async def _keep_open(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.open_ahead(self._ms(time.perf_counter_ns()) / 1000)

    async def _arrive(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number, at_s in enumerate(self._arrivals_s):
                await self._refill(at_s)
                # Also where it is late already: what was started has its turn.
                await asyncio.sleep(max(0.0, self._left_s(at_s)))
                self._next = number + 1
                group.create_task(self._one(self._made.popleft(), number, None, at_s * 1000))
            # The last ones begin before the group waits for all.

    async def _refill(self, due_s: float) -> None:
        """Make more while that ends before the next one is due, and that one in any case."""
        while self._room():
            # What was started has its turn before each.
            await asyncio.sleep(0)
            if self._made and self._left_s(due_s) < 2 * self._making_s:
                return
            self._make_ahead()

    def _left_s(self, at_s: float) -> float:
        return at_s - (time.perf_counter_ns() - self.began_ns) / 1e9


async def _all(work: Sequence[object]) -> None:
    """Do all of it at once; the first fault ends the rest, and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)  # type: ignore[arg-type]  # coroutines
    except ExceptionGroup as faults:
        raise _first(faults) from None


def _first(fault: Exception) -> Exception:
    while isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
    return fault
