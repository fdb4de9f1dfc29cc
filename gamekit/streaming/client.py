"""The client: many concurrent streams to one server, each read into a StreamRecord."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from gamekit import __version__
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.streaming.address import ServerAddress, parse_address
from gamekit.streaming.connection import Connection
from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.reader import StreamReader, shortened
from gamekit.streaming.record import StreamFailure, StreamRecord
from gamekit.streaming.requests import StreamRequest

API_KEY_VARIABLE = "GAMEKIT_API_KEY"
# Parsing yields to the loop after this much, so that other streams' time stamps stay true.
_PARSED_AT_ONCE = 32 * 1024


def _key_from_environment() -> str | None:
    key = os.environ.get(API_KEY_VARIABLE) or None
    if key is not None and not (key.isascii() and key.isprintable()):
        raise UsageFault(
            f"the key in {API_KEY_VARIABLE} has characters that no HTTP header can carry",
            mend="set it again, without a line end",
        )
    return key


@dataclass(frozen=True)
class Timeouts:
    """Bounds of one request, in seconds: connecting, silence between two reads, and all of it."""

    connect_s: float = 10.0
    idle_s: float = 120.0
    total_s: float = 1800.0


@dataclass(frozen=True)
class Exchange:
    """One request and the raw response to it.

    ``sent_ns`` is on the clock of ``time.perf_counter_ns``, and so are the times of
    ``response.pieces``. ``broken_off`` says what ended it, where the response did not end by
    itself.
    """

    request: StreamRequest
    response: HttpResponse
    sent_ns: int
    broken_off: StreamFailure | None


@dataclass(frozen=True)
class JsonAnswer:
    """The answer to a request that is no stream; ``body`` is None where it was not JSON."""

    status: int
    body: Any


class StreamClient:
    """Sends requests to one server; use it as ``async with StreamClient(url) as client``.

    A Bearer key is taken from the environment variable ``GAMEKIT_API_KEY`` and kept out of every
    record; raises ``UsageFault`` for one that no header can carry. Requests run over connections
    that are open before their clock starts.
    """

    def __init__(self, url: str | ServerAddress, timeouts: Timeouts | None = None) -> None:
        self.address = parse_address(url) if isinstance(url, str) else url
        self.timeouts = timeouts or Timeouts()
        self._tls = ssl.create_default_context() if self.address.scheme == "https" else None
        self._key = _key_from_environment()
        self._idle: list[Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def open(self, connections: int) -> None:
        """Open connections ahead, so that ``connections`` requests can start at one moment.

        Raises ``BenchmarkFailed`` where the server does not answer.
        """
        missing = connections - len(self._idle)
        opened = await asyncio.gather(
            *(self._connect() for _ in range(missing)), return_exceptions=True
        )
        self._idle += [result for result in opened if isinstance(result, Connection)]
        for result in opened:
            if isinstance(result, BaseException):
                raise result

    async def stream(self, request: StreamRequest) -> StreamRecord:
        """Send ``request`` and read its stream to the end.

        Whatever goes wrong after the connection stands is the record's failure. Raises
        ``BenchmarkFailed`` where no connection can be made at all.
        """
        return await self.read(await self.exchange(request))

    async def exchange(self, request: StreamRequest) -> Exchange:
        """Send ``request`` and collect the raw response; nothing is parsed but HTTP."""
        async with self._connection() as connection:
            broken_off = await connection.exchange(
                self._message("POST", request.route, request.body),
                idle_timeout_s=self.timeouts.idle_s,
                timeout_s=self.timeouts.total_s,
            )
            return Exchange(request, connection.response, connection.sent_ns, broken_off)

    async def read(self, exchange: Exchange) -> StreamRecord:
        """The record of an exchange, read in steps that leave the loop to other streams."""
        reader = StreamReader()
        unbroken = 0
        for at_ns, piece in exchange.response.pieces:
            reader.feed((at_ns - exchange.sent_ns) / 1e6, piece)
            unbroken += len(piece)
            if unbroken > _PARSED_AT_ONCE:
                unbroken = 0
                await asyncio.sleep(0)
        record = reader.record(
            exchange.response,
            requested_tokens=exchange.request.requested_tokens,
            broken_off=exchange.broken_off,
        )
        return self._without_key(record)

    async def request_json(
        self, method: str, route: str, body: Any = None, *, timeout_s: float = 30.0
    ) -> JsonAnswer:
        """One request that is no stream, such as ``GET /server_info``.

        Raises ``BenchmarkFailed`` where the server cannot be reached or the answer does not end.
        """
        payload = b"" if body is None else json.dumps(body).encode()
        async with self._connection() as connection:
            broken_off = await connection.exchange(
                self._message(method, route, payload),
                idle_timeout_s=timeout_s,
                timeout_s=timeout_s,
            )
            response = connection.response
        if broken_off is None and response.fault is not None:
            broken_off = StreamFailure("malformed", response.fault)
        if broken_off is not None:
            raise BenchmarkFailed(
                f"{self.address.url}{route} did not answer: {broken_off.message}",
                mend="is this the engine's HTTP port, and is it up?",
            )
        try:
            answer = json.loads(response.body())
        except (ValueError, RecursionError):
            answer = None
        return JsonAnswer(response.status, answer)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        connection = None
        while self._idle and connection is None:
            candidate = self._idle.pop()
            if candidate.reusable:
                connection = candidate
            else:
                await candidate.close()
        if connection is None:
            connection = await self._connect()
        try:
            yield connection
        finally:
            if connection.reusable and connection.response.complete:
                self._idle.append(connection)
            else:
                await connection.close()

    async def _connect(self) -> Connection:
        try:
            return await Connection.open(self.address, self.timeouts.connect_s, self._tls)
        except OSError as error:
            raise BenchmarkFailed(
                f"{self.address.url} does not answer: {self._why(error)}",
                mend="start the engine or give its address with --url",
            ) from error

    def _why(self, error: OSError) -> str:
        if isinstance(error, TimeoutError):
            return f"no connection within {self.timeouts.connect_s:g} s"
        # asyncio puts its own words before the system's, where there is an error number at all.
        if isinstance(error, ConnectionError) and error.errno is not None:
            return os.strerror(error.errno)
        return str(error)

    def _message(self, method: str, route: str, body: bytes) -> bytes:
        lines = [
            f"{method} {self.address.path(route)} HTTP/1.1",
            f"Host: {self.address.authority}",
            f"User-Agent: gamekit/{__version__}",
            "Accept: */*",
            f"Content-Length: {len(body)}",
        ]
        if body:
            lines.append("Content-Type: application/json")
        if self._key is not None:
            lines.append(f"Authorization: Bearer {self._key}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def _without_key(self, record: StreamRecord) -> StreamRecord:
        if self._key is None or record.failure is None or self._key not in record.failure.message:
            return record
        message = shortened(record.failure.message.replace(self._key, "[key]"))
        return replace(record, failure=StreamFailure(record.failure.kind, message))
