"""One HTTP/1.1 connection: a request at a time, reads dated before anything is done with them."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque

from gamekit.streaming.http_response import BodySink, HttpResponse
from gamekit.streaming.receiver import Receiver
from gamekit.streaming.record import StreamFailure, TimeSource

# A server that closes idle connections (uvicorn: after 5 s) must not do so under a request.
_LONGEST_IDLE_S = 2.0
# How an event of a stream ends, with its HTTP chunk: nobody waits for what it says.
_IN_MID_STREAM = b"\n\n\r\n"


class Connection(ABC):
    """Carries one request at a time; ``response`` belongs to the last one.

    Times are ``time.perf_counter_ns`` values. ``sent_ns`` was taken right before the request was
    handed to the system; the connection is open by then. Each piece of the response carries the
    time at which it arrived, as ``time_source`` says. What was read is parsed later, by the
    ``Receiver``, which reads all that is ready first.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.response = HttpResponse()
        self.sent_ns = 0
        self.lost: str | None = None
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] | None = None
        self._heard_ns = time.perf_counter_ns()
        self._last_at_ns = 0
        self._reads: deque[tuple[int, bytes]] = deque()
        self._kernel_reads = 0
        self._other_reads = 0

    def begin(self, request: bytes, sink: BodySink | None = None) -> None:
        """Send ``request``; its clock starts here. ``ended`` waits for the response.

        Body bytes of a stream go to ``sink``, where there is one, and are not kept.
        """
        self.response = HttpResponse(sink)
        self._drop_unparsed()
        self._kernel_reads = self._other_reads = 0
        self._finished = self._loop.create_future()
        self.sent_ns = self._heard_ns = self._last_at_ns = time.perf_counter_ns()
        if self.lost is None:
            self._send(request)

    async def ended(self, *, idle_timeout_s: float, timeout_s: float) -> StreamFailure | None:
        """Wait for the end of the response; returns what cut it short, or None."""
        assert self._finished is not None  # noqa: S101 - begin() was called
        timed_out = await self._wait(self._finished, idle_timeout_s, timeout_s)
        self.parse(_EVERYTHING)
        if self.response.complete or self.response.fault is not None:
            return None
        return timed_out or StreamFailure("connection", self.lost or "the connection ended early")

    async def _wait(
        self, finished: asyncio.Future[None], idle_timeout_s: float, timeout_s: float
    ) -> StreamFailure | None:
        end_ns = self.sent_ns + int(timeout_s * 1e9)
        while not finished.done() and self.lost is None:
            now = time.perf_counter_ns()
            idle_end_ns = self._heard_ns + int(idle_timeout_s * 1e9)
            if now >= end_ns:
                return StreamFailure("timeout", f"not finished within {timeout_s:g} s")
            if now >= idle_end_ns:
                return StreamFailure("timeout", f"not a byte for {idle_timeout_s:g} s")
            await asyncio.wait([finished], timeout=(min(end_ns, idle_end_ns) - now) / 1e9)
        return None

    @property
    def time_source(self) -> TimeSource:
        """Where the times of the last response's pieces come from."""
        if not self._kernel_reads:
            return "reading"
        return "mixed" if self._other_reads else "kernel"

    @property
    def reusable(self) -> bool:
        """Whether another request may go over this connection."""
        idle_s = (time.perf_counter_ns() - self._heard_ns) / 1e9
        fresh = self.sent_ns == 0
        return (
            self.lost is None
            and idle_s < _LONGEST_IDLE_S
            and not self._reads
            and (fresh or (self.response.complete and self.response.keep_alive))
        )

    @abstractmethod
    async def close(self) -> None:
        """Close now, and wait until the socket is gone."""

    @abstractmethod
    def _send(self, request: bytes) -> None:
        """Hand ``request`` to the system, what it does not take at once as soon as it does."""

    # What subclasses call when something happens, and the receiver in between.

    def _take(self, data: bytes, read_ns: int, arrived_ns: int | None) -> None:
        """``data`` was read at ``read_ns``; ``arrived_ns`` is the kernel's word for it, if any."""
        self._heard_ns = read_ns
        if arrived_ns is None:
            at, wait_ns = read_ns, None
            self._other_reads += 1
        else:
            at, wait_ns = arrived_ns, read_ns - arrived_ns
            self._kernel_reads += 1
        self._last_at_ns = at
        self._reads.append((at, data))
        urgent = not data.endswith(_IN_MID_STREAM)
        self._receiver.took(self, len(data), wait_ns, urgent=urgent)

    def _lose(self, why: str) -> None:
        """The connection is gone; what was read before still counts."""
        if self.lost is None:
            self.lost = why
            self._receiver.took(self, 0, None, urgent=True)

    @property
    def unparsed(self) -> bool:
        """Whether anything read is still to be parsed."""
        return bool(self._reads)

    def parse(self, limit: int) -> int:
        """Parse reads until about ``limit`` bytes are through; returns how many they were."""
        parsed = 0
        while self._reads and parsed < limit:
            at, data = self._reads.popleft()
            self.response.feed(at, data)
            parsed += len(data)
        self._receiver.parsed(parsed)
        over = self.lost is not None and not self._reads
        if over:
            self.response.feed_end()
        over = over or self.response.complete or self.response.fault is not None
        if over and self._finished is not None and not self._finished.done():
            self._finished.set_result(None)
        return parsed

    def _drop_unparsed(self) -> None:
        self._receiver.parsed(sum(len(data) for _, data in self._reads))
        self._reads.clear()


_EVERYTHING = 1 << 62
