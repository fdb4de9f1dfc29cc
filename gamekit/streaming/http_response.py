"""One HTTP/1.1 response, parsed from socket reads that each carry their time."""

from __future__ import annotations

from collections.abc import Callable

import httptools

BodySink = Callable[[float, bytes], None]


class HttpResponse:
    """Collects one response; a recorded stream and the live client go through the same parser.

    ``feed(at, data)`` takes one socket read; ``at`` is any clock the caller likes and is kept
    beside the body bytes that the read brought. ``pieces`` holds (at, body bytes) with headers and
    chunk framing taken off, ``fault`` what was not HTTP. ``keep_alive`` is known with the headers.
    Interim (1xx) responses are skipped, and so is whatever follows the end of the response.
    The body of an event stream goes to ``sink`` instead, where there is one.
    """

    def __init__(self, sink: BodySink | None = None) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.pieces: list[tuple[float, bytes]] = []
        self.complete = False
        self.keep_alive = False
        self.fault: str | None = None
        self._at: float = 0.0
        self._sink = sink
        self._take: BodySink = self._keep
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, at: float, data: bytes) -> None:
        """Take one read. What follows the end of the response is a fault of the server."""
        if self.complete or self.fault is not None:
            self.keep_alive = False
            return
        self._at = at
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self.complete:
                self.fault = f"not an HTTP response: {error}"
            self.keep_alive = False

    def feed_end(self) -> None:
        """The connection has ended: a body without a length is complete by that."""
        unframed = "content-length" not in self.headers and (
            "chunked" not in self.headers.get("transfer-encoding", "").lower()
        )
        if self.status >= 200 and unframed and self.fault is None:
            self.complete = True

    def body(self) -> bytes:
        """The whole body so far."""
        return b"".join(piece for _, piece in self.pieces)

    # What follows are the callbacks of httptools.

    def on_message_begin(self) -> None:
        """A response begins; where one has ended already, nobody asked for it."""
        if self.complete:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header field; a repeated name keeps its last value."""
        if self.complete:
            return
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The status line and all headers are there."""
        if self.complete:
            return
        self.status = self._parser.get_status_code()
        self.keep_alive = self.status >= 200 and self._parser.should_keep_alive()
        if self.status < 200:
            self.headers = {}
        elif self._sink is not None and self.status == 200 and self.is_event_stream:
            self._take = self._sink

    @property
    def is_event_stream(self) -> bool:
        """Whether its content type says that it is one."""
        return self.headers.get("content-type", "").lower().startswith("text/event-stream")

    def _keep(self, at: float, body: bytes) -> None:
        self.pieces.append((at, body))

    def _drop(self, at: float, body: bytes) -> None:
        """The body of a response that nobody asked for."""

    def on_body(self, body: bytes) -> None:
        """Body bytes of the read at hand."""
        self._take(self._at, body)

    def on_message_complete(self) -> None:
        """The response ended as its framing says."""
        if self.status >= 200:
            self.complete = True
            self._take = self._drop
