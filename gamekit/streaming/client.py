"""The client: many concurrent streams to one server, each read into a StreamRecord."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from gamekit import __version__
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.open_files import out_of_files, raise_limit, refusal
from gamekit.streaming.address import ServerAddress, parse_address
from gamekit.streaming.connection import Connection
from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.incoming import Incoming
from gamekit.streaming.live_stream import LiveStream
from gamekit.streaming.plain_connection import PlainConnection
from gamekit.streaming.reader import StreamReader, shortened
from gamekit.streaming.receiver import ReceiveLoad, Receiver
from gamekit.streaming.record import StreamFailure, StreamRecord, TimeSource
from gamekit.streaming.requests import StreamRequest
from gamekit.streaming.tls_connection import TlsConnection

API_KEY_VARIABLE = "GAMEKIT_API_KEY"


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
    ``response.pieces``, which ``time_source`` describes. ``broken_off`` says what ended it, where
    the response did not end by itself.
    """

    request: StreamRequest
    response: HttpResponse
    sent_ns: int
    broken_off: StreamFailure | None
    time_source: TimeSource = "reading"

    def read(self) -> StreamRecord:
        """The record of the response, of which nothing was parsed as it came."""
        reader = StreamReader()
        for at_ns, piece in self.response.pieces:
            reader.feed((at_ns - self.sent_ns) / 1e6, piece)
        return reader.record(
            self.response,
            requested_tokens=self.request.requested_tokens,
            broken_off=self.broken_off,
            time_source=self.time_source,
        )


@dataclass(frozen=True)
class UnreadStream:
    """A stream that is over; ``record`` reads what is left of it, and is to be called once.

    Times are those of ``time.perf_counter_ns``: ``ended_ns`` is when the last of it arrived, or
    when it was given up; ``timed_out`` says that it was, by the client's own limits.
    """

    sent_ns: int
    ended_ns: float
    timed_out: bool
    record: Callable[[], StreamRecord]


@dataclass(frozen=True)
class JsonAnswer:
    """The answer to a request that is no stream; ``body`` is None where it was not JSON."""

    status: int
    body: Any


@dataclass(frozen=True)
class TextAnswer:
    """The answer to a request that is no stream, as text; what is no UTF-8 in it is replaced."""

    status: int
    text: str


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
        self._receiver: Receiver | None = None

    async def __aenter__(self) -> Self:
        self._receiver = Receiver()
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
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.close()

    async def open(self, connections: int) -> None:
        """Open connections ahead, so that ``connections`` requests can start at one moment.

        Those that were idle for too long to be used are closed, and do not count. Raises
        ``BenchmarkFailed`` where the server does not answer, ``MachineRefused`` where this process
        may open no more.
        """
        # Each is asked once before it goes, and is kept until then: age decides, and time passes.
        while stale := next((one for one in self._idle if not one.reusable), None):
            self._idle.remove(stale)
            await stale.close()
        missing = connections - len(self._idle)
        opened = await asyncio.gather(
            *(self._connect_ahead() for _ in range(missing)), return_exceptions=True
        )
        for result in opened:
            if isinstance(result, BaseException):
                raise result

    async def stream(self, request: StreamRequest) -> StreamRecord:
        """Send ``request`` and read its stream to the end.

        Whatever goes wrong after the connection stands is the record's failure. Raises
        ``BenchmarkFailed`` where no connection can be made at all.
        """
        return (await self.streams([request]))[0]

    async def streams(self, requests: Sequence[StreamRequest]) -> list[StreamRecord]:
        """Send ``requests`` at one moment and read all streams to their ends, as ``stream`` does.

        The connections are open and the messages serialised before the first clock starts. What
        comes in is parsed while no socket is ready, and not kept.
        """
        live = [self._live(request) for request in requests]
        ends = await self._at_one_moment([(one.message, one.incoming) for one in live])
        return [self._without_key(one.record(end)) for one, end in zip(live, ends, strict=True)]

    def prepare(self, request: StreamRequest) -> LiveStream:
        """All of a request that can be made before it is sent, for ``unread_stream``."""
        return self._live(request, at_sight=True)

    async def unread_stream(
        self, prepared: LiveStream, sent: Callable[[], object] | None = None
    ) -> UnreadStream:
        """Send what was prepared and wait for the end of its stream, without reading what ended it.

        For whoever sends one request after another: many answers may end at one moment, and the
        next requests go out before that is parsed. ``sent`` is called once the request is on its
        way. Raises as ``stream`` does.
        """
        incoming = prepared.incoming
        connection = await self._take()
        try:
            connection.begin(prepared.message, incoming)
            if sent is not None:
                sent()
            end = await self._ended(connection, prepared.message, self.timeouts)
        finally:
            await self._give_back(connection)
        ended = end is None and not incoming.unended
        ended_ns = incoming.last_at_ns if ended else time.perf_counter_ns()
        return UnreadStream(
            incoming.sent_ns,
            ended_ns,
            end is not None and end.kind == "timeout",
            lambda: self._without_key(prepared.record(end)),
        )

    async def exchange(self, request: StreamRequest) -> Exchange:
        """Send ``request`` and collect the raw response; nothing is parsed but HTTP."""
        return (await self.exchanges([request]))[0]

    async def exchanges(self, requests: Sequence[StreamRequest]) -> list[Exchange]:
        """Send ``requests`` at one moment and collect the raw responses."""
        incoming = [Incoming(self._receiving) for _ in requests]
        messages = [self._message("POST", one.route, one.body) for one in requests]
        ends = await self._at_one_moment(list(zip(messages, incoming, strict=True)))
        return [
            Exchange(request, one.response, one.sent_ns, end, one.time_source)
            for request, one, end in zip(requests, incoming, ends, strict=True)
        ]

    async def _at_one_moment(
        self, sent: Sequence[tuple[bytes, Incoming]]
    ) -> list[StreamFailure | None]:
        """Send messages and wait for the ends of their responses; returns what cut each short."""
        await self.open(len(sent))
        async with AsyncExitStack() as stack:
            connections = [await stack.enter_async_context(self._connection()) for _ in sent]
            for connection, (message, incoming) in zip(connections, sent, strict=True):
                connection.begin(message, incoming)
            return await asyncio.gather(
                *(
                    self._ended(connection, message, self.timeouts)
                    for connection, (message, _) in zip(connections, sent, strict=True)
                )
            )

    async def _ended(
        self, connection: Connection, message: bytes, timeouts: Timeouts
    ) -> StreamFailure | None:
        """Wait for the end of the response; returns what cut it short, or None.

        What went out over a connection that the server was about to close is sent once more.
        """
        limits = {"idle_timeout_s": timeouts.idle_s, "timeout_s": timeouts.total_s}
        end = await connection.ended(**limits)
        if end is None or not connection.may_send_again:
            return end
        try:
            another = await self._connect()
        except BenchmarkFailed:
            return end  # it is gone: that is what cut the response short
        try:
            connection.incoming.send_again()
            another.begin(message, connection.incoming)
            return await another.ended(**limits)
        finally:
            await self._give_back(another)

    def restart_load(self) -> None:
        """Forget the load so far: a run begins."""
        self._receiving.restart()

    def load(self) -> ReceiveLoad:
        """How well receiving kept up, since the beginning or the last ``restart_load``."""
        return self._receiving.load()

    async def request_json(
        self, method: str, route: str, body: Any = None, *, timeout_s: float = 30.0
    ) -> JsonAnswer:
        """One request that is no stream, such as ``GET /server_info``.

        Raises ``BenchmarkFailed`` where the server cannot be reached or the answer does not end.
        """
        payload = b"" if body is None else json.dumps(body).encode()
        response = await self._whole(method, route, payload, timeout_s)
        try:
            answer = json.loads(response.body())
        except (ValueError, RecursionError):
            answer = None
        return JsonAnswer(response.status, answer)

    async def request_text(self, route: str, *, timeout_s: float = 30.0) -> TextAnswer:
        """``GET`` of a text, such as ``/metrics``; raises as ``request_json`` does."""
        response = await self._whole("GET", route, b"", timeout_s)
        return TextAnswer(response.status, response.body().decode("utf-8", "replace"))

    async def check_alive(self) -> None:
        """Raise ``BenchmarkFailed`` where the server answers nothing at all any more.

        To be asked when a stream timed out: one that hangs is that request's failure, and a network
        that is gone would let every other wait as long.
        """
        try:
            await self.request_text("/v1/models", timeout_s=min(30.0, self.timeouts.idle_s))
        except BenchmarkFailed as error:
            raise BenchmarkFailed(
                f"{self.address.url} fell silent: a stream timed out, and then {error.message}",
                mend="is the engine still up, and the network to it?",
            ) from None

    async def _whole(
        self, method: str, route: str, payload: bytes, timeout_s: float
    ) -> HttpResponse:
        timeouts = replace(self.timeouts, idle_s=timeout_s, total_s=timeout_s)
        async with self._connection() as connection:
            message = self._message(method, route, payload)
            connection.begin(message, Incoming(self._receiving))
            broken_off = await self._ended(connection, message, timeouts)
            response = connection.incoming.response
        if broken_off is None and response.fault is not None:
            broken_off = StreamFailure("malformed", response.fault)
        if broken_off is not None:
            raise BenchmarkFailed(
                f"{self.address.url}{route} did not answer: {broken_off.message}",
                mend="is this the engine's HTTP port, and is it up?",
            )
        return response

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        connection = await self._take()
        try:
            yield connection
        finally:
            await self._give_back(connection)

    async def _take(self) -> Connection:
        """A connection that is open and free, a new one where there is none."""
        while self._idle:
            candidate = self._idle.pop()
            if candidate.reusable and candidate.silent:
                return candidate
            await candidate.close()
        return await self._connect()

    async def _give_back(self, connection: Connection) -> None:
        if connection.reusable:
            self._idle.append(connection)
        else:
            await connection.close()

    async def _connect_ahead(self) -> None:
        # Kept at once: whoever opens many may be cancelled while some still connect.
        self._idle.append(await self._connect())

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self.timeouts.connect_s):
                return await self._open_connection(self.address.host, self.address.port)
        except OSError as error:
            if out_of_files(error):
                if raise_limit():
                    return await self._connect()
                raise refusal(error) from error
            raise BenchmarkFailed(
                f"{self.address.url} does not answer: {self._why(error)}",
                mend="start the engine or give its address with --url",
            ) from error

    async def _open_connection(self, host: str, port: int) -> Connection:
        if self._tls is not None:
            return await TlsConnection.open(host, port, self._receiving, self._tls)
        return await PlainConnection.open(host, port, self._receiving)

    @property
    def _receiving(self) -> Receiver:
        assert self._receiver is not None, "use it as: async with StreamClient(url)"  # noqa: S101
        return self._receiver

    def _why(self, error: OSError) -> str:
        if isinstance(error, TimeoutError):
            return f"no connection within {self.timeouts.connect_s:g} s"
        # asyncio puts its own words before the system's, where there is an error number at all.
        if isinstance(error, ConnectionError) and error.errno is not None:
            return os.strerror(error.errno)
        return str(error)

    def _live(self, request: StreamRequest, *, at_sight: bool = False) -> LiveStream:
        message = self._message("POST", request.route, request.body)
        return LiveStream(request, message, self._receiving, at_sight=at_sight)

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
