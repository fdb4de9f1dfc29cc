"""The stand-in engine: sglang's and OpenAI's routes with exact, known timing.

Every event has an absolute deadline (request arrival + prefill + i cycles), so lateness of one
never shifts the next. Requests do not influence each other.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httptools

from gamekit import event_loop
from gamekit.errors import MachineRefused
from gamekit.kernel_clock import KernelClock, request_stamps
from gamekit.open_files import raise_limit
from gamekit.stand_in.answers import (
    Answer,
    BadRequest,
    model_info,
    read_request,
    server_info,
)
from gamekit.stand_in.config import MODEL_NAME, SimulatorConfig
from gamekit.stand_in.http_socket import HttpSocket
from gamekit.stand_in.ledger import Ledger, SentAnswer
from gamekit.stand_in.schedule import Schedule

_GENERATING = ("/generate", "/v1/chat/completions", "/v1/completions")
_LARGEST_BODY = 16 * 1024 * 1024
_BACKLOG = 4096
# What was really sent, for whoever compares a client with it.
LEDGER_ROUTE = "/stand_in/answers"


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
    raise_limit()  # an engine that cannot accept leaves its clients waiting
    engine = _Engine(config)
    loop = asyncio.get_running_loop()
    try:
        listener = await _listen(host, port)
    except OSError as error:
        raise MachineRefused(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            mend="give another --port, or 0 for a free one",
        ) from error
    loop.add_reader(listener.fileno(), _accept, listener, engine)
    try:
        if ready is not None:
            ready(listener.getsockname()[1])
        await loop.create_future()
    finally:
        loop.remove_reader(listener.fileno())
        listener.close()
        for connection in list(engine.connections):
            connection.abort()


async def _listen(host: str, port: int) -> socket.socket:
    """A listening socket on the first address of ``host``."""
    addresses = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, _, _, _, address = addresses[0]
    listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    listener.setblocking(False)
    # Before there is a connection: the kernel begins to stamp a little later.
    request_stamps(listener)
    return listener


def _accept(listener: socket.socket, engine: _Engine) -> None:
    # Whoever has gone again, or too many for this process: the others are served.
    with suppress(OSError):
        while True:
            sock, _ = listener.accept()
            _EngineConnection(engine, sock)


def run(config: SimulatorConfig, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until Ctrl-C, which is raised as ``KeyboardInterrupt`` once all sockets are closed."""
    event_loop.run(lambda _: serve(config, host, port, ready), punctual=True)


class _Engine:
    """What all connections of one stand-in share: its configuration and its counters."""

    def __init__(self, config: SimulatorConfig) -> None:
        self.config = config
        self.schedule = Schedule()
        self.ledger = Ledger()
        self.clock = KernelClock()
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
        """Forget the lifetime figures, as sglang's /flush_cache does, and the ledger."""
        self.ledger.clear()
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


class _EngineConnection:
    """One connection: requests one after another, each answered before the next is read."""

    def __init__(self, engine: _Engine, sock: socket.socket) -> None:
        self._engine = engine
        self._answering: _Answering | None = None
        self._waiting: list[tuple[bytes, int]] = []
        self._arrived_ns = 0
        self._begin_request()
        self._socket = HttpSocket(sock, engine.clock, self._take, self._lost)
        engine.connections.add(self)

    def _begin_request(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []
        self._size = 0

    def _lost(self) -> None:
        self._engine.connections.discard(self)
        if self._answering is not None:
            self._answering.give_up()

    def abort(self) -> None:
        """Drop the connection with whatever it is doing."""
        self._socket.abort()

    def _take(self, data: bytes, arrived_ns: int) -> None:
        if self._answering is not None:
            self._waiting.append((data, arrived_ns))
            return
        self._arrived_ns = arrived_ns
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
        described: dict[str, Callable[[], Any]] = {
            "/server_info": engine.describe,
            "/get_server_info": engine.describe,
            "/model_info": model_info,
            "/get_model_info": model_info,
            "/v1/models": _models,
            LEDGER_ROUTE: engine.ledger.describe,
        }
        if route in described:
            return 200, _json(described[route]())
        if route in ("/health", "/health_generate"):
            return 200, b""
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
        self._answering = _Answering(
            self._engine,
            answer,
            self._arrived_ns,
            write=self._socket.write,
            end=self._end_of_answer,
            reply=self._reply,
        )

    def _reply(self, status: int, body: bytes) -> None:
        kind = "application/json" if body.startswith((b"{", b"[")) else "text/plain"
        self._socket.write(
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nserver: gamekit-simulate\r\n"
            f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        self._end_of_answer()

    def _end_of_answer(self) -> None:
        self._answering = None
        if not self._parser.should_keep_alive():
            self._socket.close()
            return
        self._begin_request()
        waiting, self._waiting = self._waiting, []
        for data, arrived_ns in waiting:
            self._take(data, arrived_ns)


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
        *,
        write: Callable[[bytes], None],
        end: Callable[[], None],
        reply: Callable[[int, bytes], None],
    ) -> None:
        self._answer = answer
        self._engine = engine
        self._sent = SentAnswer(arrived_ns)
        self._write = write
        self._end = end
        self._reply = reply
        self._steps = 0
        self._first_ns = arrived_ns + round(engine.config.prefill_ms * 1e6)
        self._cycle_ns = engine.config.cycle_ms * 1e6
        self._due_ns = self._first_ns
        self._number = engine.schedule.add(self._due_ns, self)

    def step(self) -> int | None:
        """Send the step that is due; returns when the next is."""
        answer, arrived_ns = self._answer, self._sent.arrived_ns
        answer.advance()
        now = time.perf_counter_ns()
        if not answer.request.stream:
            if answer.finished:
                self._close_books()
                self._reply(200, answer.whole(arrived_ns, now))
        else:
            data = b"".join(map(_framed, answer.events(arrived_ns, now)))
            if self._steps == 0:
                data = _STREAM_HEAD + data
            self._sent.sent_ns.append(now)
            self._sent.late_ns.append(now - self._due_ns)
            if answer.finished:
                self._close_books()
                self._sent.tokens = answer.tokens
                self._write(data + b"0\r\n\r\n")
                self._end()
            else:
                self._write(data)
        if answer.finished:
            return None
        self._steps += 1
        self._due_ns = self._first_ns + round(self._steps * self._cycle_ns)
        return self._due_ns

    def _close_books(self) -> None:
        self._engine.end(self._answer)
        if self._answer.request.stream:
            self._engine.ledger.add(self._sent)

    def give_up(self) -> None:
        """The client has gone."""
        if not self._answer.finished:
            self._engine.schedule.drop(self._number)
            self._close_books()


def _framed(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


def _models() -> dict[str, Any]:
    model = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "gamekit"}
    return {"object": "list", "data": [model]}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _error(message: str, kind: str) -> bytes:
    return _json({"error": {"message": message, "type": kind, "code": None}})
