"""One request and its stream, which is read as its pieces come."""

from __future__ import annotations

from dataclasses import replace

from gamekit.streaming.incoming import Incoming
from gamekit.streaming.reader import StreamReader
from gamekit.streaming.receiver import Receiver
from gamekit.streaming.record import StreamFailure, StreamRecord
from gamekit.streaming.requests import StreamRequest


class LiveStream:
    """Reads what ``incoming`` brings; the response keeps only what is no stream.

    It can be made long before ``message`` is sent, and ``at_sight`` is that of ``Incoming``.
    """

    def __init__(
        self, request: StreamRequest, message: bytes, receiver: Receiver, *, at_sight: bool = False
    ) -> None:
        self.message = message
        self.incoming = Incoming(receiver, self._feed, at_sight=at_sight)
        self._requested_tokens = request.requested_tokens
        self._reader = StreamReader(self.incoming.stream_ended)

    def record(self, broken_off: StreamFailure | None) -> StreamRecord:
        """The record of the stream that is over, by itself or broken off; to be made once."""
        incoming = self.incoming
        incoming.parse_all()
        for at_ns, piece in incoming.response.pieces:
            self._feed(at_ns, piece)
        record = self._reader.record(
            incoming.response,
            requested_tokens=self._requested_tokens,
            broken_off=broken_off,
            time_source=incoming.time_source,
        )
        unended = incoming.unended and not incoming.response.complete
        return replace(record, resent=incoming.resent, unended=unended)

    def _feed(self, at_ns: float, piece: bytes) -> None:
        self._reader.feed((at_ns - self.incoming.sent_ns) / 1e6, piece)
