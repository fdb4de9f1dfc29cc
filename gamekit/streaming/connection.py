"""One HTTP/1.1 connection: a request at a time, reads dated before anything is done with them."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod

from gamekit.streaming.incoming import Incoming
from gamekit.streaming.receiver import Receiver
from gamekit.streaming.record import StreamFailure

# A server that closes idle connections (uvicorn: after 5 s) must not do so under a request.
_LONGEST_IDLE_S = 2.0


class Connection(ABC):
    """Carries one request at a time; ``incoming`` is the response to the last one.

    It is open before the clock of a request starts.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.incoming = Incoming(receiver)
        self.lost: str | None = None
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._heard_ns = time.perf_counter_ns()
        self._used = self._may_be_closed = False
        # The answer before, where it ended at sight and may still turn out not to have ended.
        self._before: Incoming | None = None

    def begin(self, request: bytes, incoming: Incoming) -> None:
        """Send ``request``, whose clock starts here unless it was sent before.

        ``incoming`` takes the response.
        """
        self._before = self.incoming if self.incoming.ended_at_sight else None
        self.incoming = incoming
        self._heard_ns = incoming.last_at_ns = time.perf_counter_ns()
        incoming.sent_ns = incoming.sent_ns or self._heard_ns
        self._may_be_closed = self._used or self.lost is not None
        self._used = True
        if self.lost is None:
            self._send(request)
        else:
            self.incoming.lose()

    async def ended(self, *, idle_timeout_s: float, timeout_s: float) -> StreamFailure | None:
        """Wait for the end of the response; returns what cut it short, or None."""
        incoming = self.incoming
        timed_out = await self._wait(incoming, idle_timeout_s, timeout_s)
        if incoming.ended_at_sight:
            return None
        incoming.parse_all()
        response = incoming.response
        if response.complete or response.fault is not None or incoming.unended:
            return None
        return timed_out or StreamFailure("connection", self.lost or "the connection ended early")

    async def _wait(
        self, incoming: Incoming, idle_timeout_s: float, timeout_s: float
    ) -> StreamFailure | None:
        end_ns = incoming.sent_ns + int(timeout_s * 1e9)
        failure: StreamFailure | None = None
        timer: asyncio.TimerHandle | None = None

        def look() -> asyncio.TimerHandle | None:
            nonlocal failure
            now = time.perf_counter_ns()
            idle_end_ns = self._heard_ns + int(idle_timeout_s * 1e9)
            if now >= end_ns:
                failure = StreamFailure("timeout", f"not finished within {timeout_s:g} s")
            elif now >= idle_end_ns:
                failure = StreamFailure("timeout", f"not a byte for {idle_timeout_s:g} s")
            else:
                return self._loop.call_later((min(end_ns, idle_end_ns) - now) / 1e9, look_again)
            if not incoming.over.done():
                incoming.over.set_result(None)
            return None

        def look_again() -> None:
            nonlocal timer
            timer = look()

        # One timer for all of it: a wait with a time-out of its own takes longer than to send.
        timer = look()
        try:
            await incoming.over
        finally:
            if timer is not None:
                timer.cancel()
        return failure

    @property
    def reusable(self) -> bool:
        """Whether another request may go over this connection."""
        idle_s = (time.perf_counter_ns() - self._heard_ns) / 1e9
        fresh = self.incoming.sent_ns == 0 and not self.incoming.heard
        return (
            self.lost is None and idle_s < _LONGEST_IDLE_S and (fresh or self.incoming.leaves_open)
        )

    @property
    def silent(self) -> bool:
        """Whether the system holds nothing unread, nor an end, as far as that can be seen."""
        return True

    @property
    def may_send_again(self) -> bool:
        """Whether its request is to be sent over another connection.

        It is where this one was gone before the request, or went, having served another, without a
        byte of an answer: a server closes a connection that it kept open whenever it likes (RFC
        9112, section 9.3.1).
        """
        return self.lost is not None and self._may_be_closed and not self.incoming.heard

    @abstractmethod
    async def close(self) -> None:
        """Close now, and wait until the socket is gone."""

    @abstractmethod
    def _send(self, request: bytes) -> None:
        """Hand ``request`` to the system, what it does not take at once as soon as it does."""

    # What subclasses call when something happens.

    def _take(self, data: bytes, read_ns: int, arrived_ns: int | None) -> None:
        """``data`` was read at ``read_ns``; ``arrived_ns`` is the kernel's word for it, if any."""
        self._heard_ns = read_ns
        if self._before is not None:
            before, self._before = self._before, None
            if not before.ended_well:
                self.incoming.refuse("the answer before it on this connection had not ended")
        self.incoming.take(data, read_ns, arrived_ns)

    def _lose(self, why: str) -> None:
        """The connection is gone; what was read before still counts."""
        if self.lost is None:
            self.lost = why
            self.incoming.lose()
