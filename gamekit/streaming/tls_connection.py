"""A connection over TLS, whose reads carry the time of reading: the kernel sees only records."""

from __future__ import annotations

import asyncio
import ssl
import time

from gamekit.streaming.connection import Connection
from gamekit.streaming.receiver import Receiver

# Shared by all connections of the process: each read is copied out before the next one begins.
_BUFFER = memoryview(bytearray(64 * 1024))


class TlsConnection(Connection, asyncio.BufferedProtocol):
    """Lets asyncio do the encryption.

    Reads into one buffer: asyncio's plain protocols allocate 256 kB for each read, which takes
    longer than all else that happens to it.
    """

    def __init__(self, receiver: Receiver) -> None:
        super().__init__(receiver)
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(
        cls, host: str, port: int, receiver: Receiver, tls: ssl.SSLContext
    ) -> TlsConnection:
        """Connect and shake hands; raises ``OSError``."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: cls(receiver), host, port, ssl=tls)
        return connection

    def _send(self, request: bytes) -> None:
        assert self._transport is not None  # noqa: S101 - open() has connected it
        self._transport.write(request)

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
        self._take(bytes(_BUFFER[:nbytes]), time.perf_counter_ns(), None)

    def connection_lost(self, error: Exception | None) -> None:
        """The peer closed, or the system says that it is gone."""
        self._lose(str(error) if error is not None else "the server closed the connection")
        if not self._closed.done():
            self._closed.set_result(None)
