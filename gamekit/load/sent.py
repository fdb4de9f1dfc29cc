"""What is known of the requests of one load when all of them are over."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.event_loop import LoopLag
from gamekit.load.server_view import ServerView
from gamekit.streaming.receiver import ReceiveLoad
from gamekit.streaming.record import StreamRecord


@dataclass(frozen=True)
class SentRequest:
    """One request; times in milliseconds since the load began.

    ``scheduled_ms`` is when it was due: in an open loop its arrival, in a closed loop the end of
    the request before it in its ``slot``. ``ended_ms`` is the end of its response, or when it was
    given up.
    """

    number: int
    slot: int | None
    scheduled_ms: float
    sent_ms: float
    ended_ms: float
    record: StreamRecord

    @property
    def failed(self) -> bool:
        """Whether it failed: then it has no latency, and its tokens do not count."""
        return self.record.failure is not None

    @property
    def queueing_ms(self) -> float:
        """How long it waited in the client: from when it was due until it was sent."""
        return self.sent_ms - self.scheduled_ms

    @property
    def due_ms(self) -> float:
        """The moment its times are counted from.

        In an open loop the arrival: a client that sends late must not hide it. A closed loop has no
        arrivals, and the moment of sending is it.
        """
        return self.scheduled_ms if self.slot is None else self.sent_ms

    @property
    def ttft_ms(self) -> float | None:
        """Time to the first token, since ``due_ms``; None for one that failed."""
        return self._since_due(self.record.first_token_ms)

    @property
    def latency_ms(self) -> float | None:
        """Time to the last token, since ``due_ms``; None for one that failed."""
        return self._since_due(self.record.last_token_ms)

    def _since_due(self, since_sent_ms: float | None) -> float | None:
        if self.failed or since_sent_ms is None:
            return None
        return self.sent_ms - self.due_ms + since_sent_ms


@dataclass(frozen=True)
class LoadRun:
    """All requests of one load, in the order in which they were sent.

    ``concurrency`` is the number of slots of a closed loop, None for an open one. ``lag`` and
    ``receiving`` tell how the client fared, ``server`` what the server said of itself meanwhile.
    """

    requests: tuple[SentRequest, ...]
    concurrency: int | None
    lag: LoopLag
    receiving: ReceiveLoad
    server: ServerView
