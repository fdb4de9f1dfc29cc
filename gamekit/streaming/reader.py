"""Turns the timed reads of one HTTP response into a StreamRecord."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from gamekit.streaming.events import StreamEvent, read_event
from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.record import (
    LONGEST_MESSAGE,
    CountSource,
    FailureKind,
    SpeculationCounters,
    StreamFailure,
    StreamRecord,
    TimeSource,
    TokenChunk,
)
from gamekit.streaming.sse import ServerSentEvents

_DONE = b"[DONE]"
# json.loads would guess the encoding of each event; an event stream is UTF-8.
_DECODER = json.JSONDecoder()


def read_stream(
    reads: Iterable[tuple[float, bytes]], *, requested_tokens: int | None = None
) -> StreamRecord:
    """The record of a response whose socket reads are (milliseconds since the request, bytes).

    The reads are those of a whole connection, headers and chunk framing included. Never raises for
    what a server sends: whatever is wrong with it is the record's ``failure``.
    """
    response = HttpResponse()
    for at_ms, data in reads:
        response.feed(at_ms, data)
    response.feed_end()
    reader = StreamReader()
    for at_ms, piece in response.pieces:
        reader.feed(at_ms, piece)
    return reader.record(response, requested_tokens=requested_tokens)


class StreamReader:
    """Reads the body of a streamed answer piece by piece, as it comes or afterwards.

    ``done`` is called once, when the stream has ended.
    """

    def __init__(self, done: Callable[[], object] = lambda: None) -> None:
        self._done = done
        self._events = ServerSentEvents()
        self._chunks: list[TokenChunk] = []
        self._done_ms: float | None = None
        self._failure: StreamFailure | None = None
        # The last that was told of each; cumulative, so the last one holds.
        self._completion_tokens: int | None = None
        self._count_source: CountSource = "unknown"
        self._prompt_tokens: int | None = None
        self._cached_tokens: int | None = None
        self._finish_reason: str | None = None
        self._speculation: SpeculationCounters | None = None
        self._retractions: int | None = None
        self._token_ids: tuple[int, int] | None = None
        self._fell: str | None = None

    def feed(self, at_ms: float, piece: bytes) -> None:
        """Take body bytes (chunk framing already off) that were read at ``at_ms``."""
        for data in self._events.feed(piece):
            if self._done_ms is not None:
                return
            if data.strip() == _DONE:
                self._done_ms = at_ms
                self._done()
            else:
                self._take(at_ms, data)

    def _take(self, at_ms: float, data: bytes) -> None:
        try:
            payload = _DECODER.decode(data.decode())
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            self._fail("malformed", f"an event that is not a JSON object: {_beginning(data)}")
            return
        event = read_event(payload, self._completion_tokens)
        if event.error is not None:
            self._fail("error_event", event.error)
        if event.finish_reason in ("abort", "error"):
            said = event.finish_message or f"finish_reason {event.finish_reason}"
            self._fail("aborted", said)
        if event.brings_tokens:
            self._take_tokens(at_ms, event)
        self._remember(event)

    def _take_tokens(self, at_ms: float, event: StreamEvent) -> None:
        total = event.completion_tokens
        before = self._chunks[-1].total if self._chunks else 0
        # Without the count before it, a chunk's own number is not known.
        tokens = None if total is None or before is None else max(0, total - before)
        self._chunks.append(TokenChunk(at_ms=at_ms, tokens=tokens, total=total))

    def _remember(self, event: StreamEvent) -> None:
        if event.completion_tokens is not None:
            if event.completion_tokens < (self._completion_tokens or 0):
                self._note_fall("tokens", self._completion_tokens, event.completion_tokens)
            self._completion_tokens = event.completion_tokens
            self._count_source = event.count_source
        if event.prompt_tokens is not None:
            self._prompt_tokens = event.prompt_tokens
        if event.cached_tokens is not None:
            self._cached_tokens = event.cached_tokens
        if event.finish_reason is not None:
            self._finish_reason = event.finish_reason
        if event.speculation is not None:
            self._take_speculation(event.speculation)
        if event.retractions is not None:
            self._retractions = event.retractions
        if event.token_ids is not None:
            before = 0 if self._token_ids is None else self._token_ids[1]
            self._token_ids = event.token_ids, before + event.token_ids

    def _take_speculation(self, told: SpeculationCounters) -> None:
        before, self._speculation = self._speculation, told
        if before is None:
            return
        self._note_fall("verifies", before.verify_count, told.verify_count)
        self._note_fall("correct drafts", before.correct_drafts, told.correct_drafts)

    def _note_fall(self, what: str, before: int | None, after: int | None) -> None:
        if self._fell is None and after is not None and after < (before or 0):
            self._fell = f"the count of {what} fell from {before} to {after}"

    def _fail(self, kind: FailureKind, message: str) -> None:
        # The first failure is the cause; what follows is its consequence.
        if self._failure is None:
            self._failure = StreamFailure(kind, shortened(message))

    def record(
        self,
        response: HttpResponse,
        *,
        requested_tokens: int | None = None,
        broken_off: StreamFailure | None = None,
        time_source: TimeSource = "reading",
    ) -> StreamRecord:
        """The record of all that was fed.

        ``broken_off`` is what ended the exchange, where it was not the response's own end;
        ``time_source`` is where the times that were fed come from.
        """
        return StreamRecord(
            status=response.status,
            content_type=response.headers.get("content-type"),
            server=response.headers.get("server"),
            requested_tokens=requested_tokens,
            chunks=tuple(self._chunks),
            first_token_ms=self._chunks[0].at_ms if self._chunks else None,
            last_token_ms=self._chunks[-1].at_ms if self._chunks else None,
            end_ms=self._done_ms,
            completion_tokens=self._completion_tokens,
            count_source=self._count_source,
            prompt_tokens=self._prompt_tokens,
            cached_tokens=self._cached_tokens,
            finish_reason=self._finish_reason,
            speculation=self._speculation,
            retractions=self._retractions,
            failure=self._judge(response, broken_off),
            time_source=time_source,
            fell=self._fell,
            token_ids=self._token_ids,
        )

    def _judge(
        self, response: HttpResponse, broken_off: StreamFailure | None
    ) -> StreamFailure | None:
        if response.status not in (0, 200):
            return StreamFailure(
                "http_status", shortened(f"{response.status}: {_beginning(response.body())}")
            )
        if self._failure is not None:
            return self._failure
        if self._done_ms is None:
            return broken_off or self._why_without_end(response)
        if not self._chunks:
            return StreamFailure("empty", "the stream ended properly without a single token")
        return None

    def _why_without_end(self, response: HttpResponse) -> StreamFailure:
        if response.fault is not None:
            return StreamFailure("malformed", shortened(response.fault))
        if response.status == 0:
            return StreamFailure("connection", "the connection ended without a response")
        if not response.complete:
            return StreamFailure("connection", "the connection ended before the response did")
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            return StreamFailure(
                "malformed",
                shortened(f"answered with content-encoding {encoding}, which was not asked for"),
            )
        if not response.is_event_stream:
            kind = response.headers.get("content-type", "nothing")
            return StreamFailure(
                "malformed",
                shortened(f"answered with {kind}, not a stream: {_beginning(response.body())}"),
            )
        return StreamFailure("incomplete", "the stream ended without data: [DONE]")


def shortened(text: str) -> str:
    """``text``, cut where it is longer than a record keeps."""
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def _beginning(data: bytes) -> str:
    return shortened(data[: 4 * LONGEST_MESSAGE].decode("utf-8", "replace").strip())
