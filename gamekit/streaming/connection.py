"""One HTTP/1.1 connection whose reads are time-stamped before anything else is done with them."""

from __future__ import annotations

import asyncio
import ssl
import time

from gamekit.streaming.address import ServerAddress
from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.record import StreamFailure

# One read at most; shared by all connections of the process, each read is copied out at once.
_BUFFER = memoryview(bytearray(64 * 1024))
# A server that closes idle connections (uvicorn: after 5 s) must not do so under a request.
_LONGEST_IDLE_S = 2.0


class Connection(asyncio.BufferedProtocol):
    """Carries one request at a time; ``response`` belongs to the last one.

    Reads into one buffer: asyncio's plain protocols allocate 256 kB for each read, which takes
    longer than all else that happens to it.

    Times are ``time.perf_counter_ns`` values: ``sent_ns`` was taken right before the request was
    handed to the system, each piece of the response carries the time at which its read arrived.
    """

    def __init__(self) -> None:
        self.response = HttpResponse()
        self.sent_ns = 0
        self.ended_ns = 0
        self.lost: str | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._heard_ns = time.perf_counter_ns()

    @classmethod
    async def open(
        cls, address: ServerAddress, timeout_s: float, tls: ssl.SSLContext | None
    ) -> Connection:
        """Connect; raises ``OSError`` (``TimeoutError`` included) where that fails."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_s):
            _, connection = await loop.create_connection(cls, address.host, address.port, ssl=tls)
        return connection

    async def exchange(
        self, request: bytes, *, idle_timeout_s: float, timeout_s: float
    ) -> StreamFailure | None:
        """Send ``request`` and wait for the end of its response.

        Returns what cut it short, or None. The clock of the request starts here: the connection is
        open already.
        """
        if self._transport is None or self.lost is not None:
            return StreamFailure("connection", self.lost or "not connected")
        self.response = HttpResponse()
        self._finished = self._loop.create_future()
        self.sent_ns = self._heard_ns = time.perf_counter_ns()
        self._transport.write(request)
        return await self._wait(self._finished, idle_timeout_s, timeout_s)

    async def _wait(
        self, finished: asyncio.Future[None], idle_timeout_s: float, timeout_s: float
    ) -> StreamFailure | None:
        end_ns = self.sent_ns + int(timeout_s * 1e9)
        while not finished.done():
            now = time.perf_counter_ns()
            idle_end_ns = self._heard_ns + int(idle_timeout_s * 1e9)
            if now >= end_ns:
                return StreamFailure("timeout", f"not finished within {timeout_s:g} s")
            if now >= idle_end_ns:
                return StreamFailure("timeout", f"not a byte for {idle_timeout_s:g} s")
            await asyncio.wait([finished], timeout=(min(end_ns, idle_end_ns) - now) / 1e9)
        if self.response.complete or self.response.fault is not None:
            return None
        return StreamFailure("connection", self.lost or "the connection ended early")

    @property
    def reusable(self) -> bool:
        """Whether another request may go over this connection."""
        idle_s = (time.perf_counter_ns() - self._heard_ns) / 1e9
        fresh = self.sent_ns == 0
        return (
            self.lost is None and idle_s < _LONGEST_IDLE_S and (fresh or self.response.keep_alive)
        )

    async def close(self) -> None:
        """Close now, and wait until the socket is gone."""
        if self._transport is not None:
            self._transport.abort()
            await self._closed

    # What follows are the callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's promise for TCP
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Where the next read goes."""
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """One read: the time first."""
        now = time.perf_counter_ns()
        self._heard_ns = now
        self.response.feed(now, bytes(_BUFFER[:nbytes]))
        if self.response.complete or self.response.fault is not None:
            self._finish(now)

    def connection_lost(self, error: Exception | None) -> None:
        """The peer closed, or the system says that it is gone."""
        self.lost = str(error) if error is not None else "the server closed the connection"
        self.response.feed_end()
        self._finish(time.perf_counter_ns())
        if not self._closed.done():
            self._closed.set_result(None)

    def _finish(self, now: int) -> None:
        if self._finished is not None and not self._finished.done():
            self.ended_ns = now
            self._finished.set_result(None)
