"""The response to one request while it comes in: dated reads first, parsed when there is time."""

from __future__ import annotations

import asyncio
from collections import deque

from gamekit.streaming.http_response import BodySink, HttpResponse
from gamekit.streaming.receiver import Receiver
from gamekit.streaming.record import TimeSource

# How an event of a stream ends, with its HTTP chunk: nobody waits for what it says.
_IN_MID_STREAM = b"\n\n\r\n"
# A response that does not end so long after [DONE] has no end to wait for.
_LATEST_END_S = 0.1
# How both dialects end a stream, and the HTTP chunk that ends the response, which comes with it or
# in a read of its own. Nothing within an event looks so: JSON has its line ends escaped.
_LAST_EVENT = b"data: [DONE]\n\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


class Incoming:
    """One response in the making; ``over`` is done when it has ended.

    Reads are parsed by the ``Receiver``, which reads all that is ready first. With ``at_sight`` a
    stream is over as soon as a read looks like its end, parsed or not: many streams that end at
    one moment are then not in the way of the requests that follow them. Times are
    ``time.perf_counter_ns`` values; ``sent_ns`` was taken right before the request was handed to
    the system, and is 0 until then. Body bytes of a stream go to ``sink``, where there is one, and
    are not kept. ``resent`` says that the request was sent twice, ``unended`` that the stream ended
    and its response did not.
    """

    def __init__(self, receiver: Receiver, sink: BodySink | None = None, *, at_sight: bool = False):
        self.response = HttpResponse(sink)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended_at_sight = self.unended = self.resent = False
        self.sent_ns = self.last_at_ns = 0
        self._receiver = receiver
        self._at_sight = at_sight
        self._lost = False
        self._surplus = False
        self._stream_ended = False
        self._reads: deque[tuple[int, bytes]] = deque()
        self._before = b""
        self._kernel_reads = 0
        self._other_reads = 0

    def take(self, data: bytes, read_ns: int, arrived_ns: int | None) -> None:
        """``data`` was read at ``read_ns``; ``arrived_ns`` is the kernel's word for it, if any."""
        if arrived_ns is None:
            at, wait_ns = read_ns, None
            self._other_reads += 1
        else:
            at, wait_ns = arrived_ns, read_ns - arrived_ns
            self._kernel_reads += 1
        self.last_at_ns = at
        self._reads.append((at, data))
        if self._at_sight:
            if self.ended_at_sight:
                self._surplus = True
            elif self._looks_over(data):
                self.ended_at_sight = True
                self._finish()
        urgent = not (self.ended_at_sight or data.endswith(_IN_MID_STREAM))
        self._receiver.took(self, len(data), wait_ns, urgent=urgent)

    def lose(self) -> None:
        """The connection is gone; what was read before still counts."""
        self._lost = True
        self._receiver.took(self, 0, None, urgent=True)

    def send_again(self) -> None:
        """Begin anew, of a request whose connection went without a byte of an answer."""
        self.resent = True
        self._lost = False
        self.over = self.over.get_loop().create_future()

    def refuse(self, why: str) -> None:
        """What comes in belongs to no answer to this request."""
        self.response.fault = why

    def stream_ended(self) -> None:
        """The stream within the response has ended, whether or not the response does."""
        self._stream_ended = True

    @property
    def heard(self) -> bool:
        """Whether anything was read at all."""
        return bool(self._kernel_reads or self._other_reads)

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
        over = self._lost and not self._reads
        if over:
            self.response.feed_end()
        if over or self.response.complete or self.response.fault is not None:
            self._finish()
        elif self._stream_ended and not self.over.done():
            self._stream_ended = False
            self.over.get_loop().call_later(_LATEST_END_S, self._end_without_end)
        return parsed

    def _end_without_end(self) -> None:
        if not self.over.done():
            self.unended = True
            self._finish()

    def parse_all(self) -> None:
        """Parse all that was read."""
        self.parse(1 << 62)

    @property
    def time_source(self) -> TimeSource:
        """Where the times of the response's pieces come from."""
        if not self._kernel_reads:
            return "reading"
        return "mixed" if self._other_reads else "kernel"

    @property
    def leaves_open(self) -> bool:
        """Whether it has ended and left a connection that can carry another request.

        Of one that ended at sight that is what it looks like; ``ended_well`` parses it.
        """
        if self._surplus:
            return False
        if not self.ended_at_sight:
            return not self._reads and self.response.complete and self.response.keep_alive
        while not self.response.status and self._reads:
            self.parse(1)  # the headers, which the first read brought
        return self.response.keep_alive

    @property
    def ended_well(self) -> bool:
        """Whether it has ended, with nothing behind its end."""
        self.parse_all()
        return self.response.complete and self.response.keep_alive and not self._surplus

    def _looks_over(self, data: bytes) -> bool:
        before, self._before = self._before, data
        if data == _LAST_CHUNK:
            return before.endswith(_LAST_EVENT)
        return data.endswith(_LAST_CHUNK) and data.endswith(_LAST_EVENT + _LAST_CHUNK)

    def _finish(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
