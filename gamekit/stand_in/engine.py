"""The stand-in engine: sglang's and OpenAI's routes with exact, known timing.

Every event has an absolute deadline (request arrival + prefill + i cycles), so lateness of one
never shifts the next. Requests do not influence each other.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httptools

from gamekit import event_loop
from gamekit.errors import MachineRefused
from gamekit.stand_in.answers import (
    Answer,
    BadRequest,
    model_info,
    read_request,
    server_info,
)
from gamekit.stand_in.config import MODEL_NAME, SimulatorConfig

_GENERATING = ("/generate", "/v1/chat/completions", "/v1/completions")
_LARGEST_BODY = 16 * 1024 * 1024
_BACKLOG = 4096
# Shared by all connections: a read is copied out before the next one begins.
_BUFFER = memoryview(bytearray(64 * 1024))


async def serve(
    config: SimulatorConfig,
    host: str,
    port: int,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Serve until cancelled; ``ready`` is called with the port (a free one where ``port`` is 0).

    Deadlines are met within about 0.2 ms on a loop of ``event_loop.run(..., punctual=True)``, and
    within 1 ms on another. Raises ``MachineRefused`` where the address cannot be listened on.
    """
    engine = _Engine(config)
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: _EngineConnection(engine), host, port, backlog=_BACKLOG
        )
    except OSError as error:
        raise MachineRefused(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            mend="give another --port, or 0 for a free one",
        ) from error
    try:
        if ready is not None:
            ready(server.sockets[0].getsockname()[1])
        await loop.create_future()
    finally:
        server.close()
        for connection in list(engine.connections):
            connection.abort()
        # One turn of the loop lets the aborted transports close their sockets.
        await asyncio.sleep(0)


def run(config: SimulatorConfig, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until Ctrl-C, which is raised as ``KeyboardInterrupt`` once all sockets are closed."""
    event_loop.run(lambda _: serve(config, host, port, ready), punctual=True)


class _Engine:
    """What all connections of one stand-in share: its configuration and its counters."""

    def __init__(self, config: SimulatorConfig) -> None:
        self.config = config
        self.connections: set[_EngineConnection] = set()
        self.requests = 0
        self.in_flight = 0
        self.peak_in_flight = 0
        self.verifies = 0
        self.accepted = 0

    def begin(self) -> str:
        """A request arrives; returns its id."""
        self.requests += 1
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        return f"stand-in-{self.requests}"

    def end(self, answer: Answer) -> None:
        """A request is answered, or its client has gone."""
        self.in_flight -= 1
        self.verifies += answer.verifies
        self.accepted += answer.accepted

    def flush(self) -> None:
        """Forget the lifetime figures, as sglang's /flush_cache does."""
        self.verifies = self.accepted = 0
        self.peak_in_flight = self.in_flight

    def describe(self) -> dict[str, Any]:
        """The answer to /server_info."""
        state: dict[str, Any] = {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak_in_flight,
        }
        if self.verifies:
            state["avg_spec_accept_length"] = self.accepted / self.verifies
        return {**server_info(self.config), "internal_states": [state]}


class _EngineConnection(asyncio.BufferedProtocol):
    """One connection: requests one after another, each answered before the next is read."""

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        self._transport: asyncio.Transport | None = None
        self._answering: _Answering | None = None
        self._waiting: list[bytes] = []
        self._arrived_ns = 0
        self._begin_request()

    def _begin_request(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []
        self._size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's promise for TCP
        self._transport = transport
        self._engine.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._engine.connections.discard(self)
        if self._answering is not None:
            self._answering.give_up()

    def abort(self) -> None:
        """Drop the connection with whatever it is doing."""
        if self._transport is not None:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        self._take(bytes(_BUFFER[:nbytes]))

    def _take(self, data: bytes) -> None:
        self._arrived_ns = time.perf_counter_ns()
        if self._answering is not None:
            self._waiting.append(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()

    # The callbacks of httptools.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > _LARGEST_BODY:
            self.abort()
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        route = urlsplit(self._url.decode("latin-1")).path
        post = self._parser.get_method() == b"POST"
        if route in _GENERATING and post:
            self._generate(route, body)
        else:
            self._reply(*self._plain(route))

    def _plain(self, route: str) -> tuple[int, bytes]:
        engine = self._engine
        if route in ("/health", "/health_generate"):
            return 200, b""
        if route in ("/server_info", "/get_server_info"):
            return 200, _json(engine.describe())
        if route in ("/model_info", "/get_model_info"):
            return 200, _json(model_info())
        if route == "/v1/models":
            model = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "gamekit"}
            return 200, _json({"object": "list", "data": [model]})
        if route == "/flush_cache":
            engine.flush()
            return 200, b"Cache flushed.\n"
        return 404, _error(f"{route} is not a route of the stand-in engine", "NotFound")

    def _generate(self, route: str, body: bytes) -> None:
        try:
            request = read_request(route, json.loads(body))
        except (BadRequest, ValueError, RecursionError) as error:
            self._reply(400, _error(str(error), "BadRequest"))
            return
        answer = Answer(request, self._engine.config, self._engine.begin())
        self._answering = _Answering(self._engine, answer, self._arrived_ns, self._write)

    def _write(self, data: bytes, *, last: bool) -> None:
        answering = self._answering
        assert self._transport is not None  # noqa: S101 - a request came over it
        assert answering is not None  # noqa: S101 - it is what writes
        if answering.answer.request.stream:
            self._transport.write(data)
            if last:
                self._end_of_answer()
        else:
            self._reply(200, data)

    def _reply(self, status: int, body: bytes) -> None:
        assert self._transport is not None  # noqa: S101 - a request came over it
        kind = "application/json" if body.startswith(b"{") else "text/plain"
        self._transport.write(
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nserver: gamekit-simulate\r\n"
            f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        self._end_of_answer()

    def _end_of_answer(self) -> None:
        self._answering = None
        if not self._parser.should_keep_alive():
            assert self._transport is not None  # noqa: S101 - an answer went over it
            self._transport.close()
            return
        self._begin_request()
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self._take(data)


_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: gamekit-simulate\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}


class _Answering:
    """Sends one answer's steps at their deadlines."""

    def __init__(
        self,
        engine: _Engine,
        answer: Answer,
        arrived_ns: int,
        write: Callable[..., None],
    ) -> None:
        self.answer = answer
        self._engine = engine
        self._arrived_ns = arrived_ns
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._step = 0
        self._timer = self._next()

    def _next(self) -> asyncio.TimerHandle:
        config = self._engine.config
        due_ms = config.prefill_ms + self._step * config.cycle_ms
        # The loop's clock is perf_counter's on Linux: both are CLOCK_MONOTONIC.
        return self._loop.call_at(self._arrived_ns / 1e9 + due_ms / 1000, self._send)

    def _send(self) -> None:
        head = _STREAM_HEAD if self._step == 0 else b""
        self.answer.advance()
        self._step += 1
        finished = self.answer.finished
        now = time.perf_counter_ns()
        if self.answer.request.stream:
            data = head + b"".join(map(_framed, self.answer.events(self._arrived_ns, now)))
            self._put(data + b"0\r\n\r\n" if finished else data, last=finished)
        elif finished:
            self._put(self.answer.whole(self._arrived_ns, now), last=True)
        if not finished:
            self._timer = self._next()

    def _put(self, data: bytes, *, last: bool) -> None:
        if last:
            self._engine.end(self.answer)
        self._write(data, last=last)

    def give_up(self) -> None:
        """The client has gone."""
        self._timer.cancel()
        self._engine.end(self.answer)


def _framed(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _error(message: str, kind: str) -> bytes:
    return _json({"error": {"message": message, "type": kind, "code": None}})
