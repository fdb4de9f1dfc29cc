"""Reads all plain sockets of a client first, and parses what they brought when none is ready."""

from __future__ import annotations

import asyncio
import select
import time
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from gamekit.kernel_clock import KernelClock
from gamekit.nearest_rank import quantile

# Rounds of reading before other callbacks of the loop have their turn.
_ROUNDS = 8
_SOCKETS_A_ROUND = 1024
# One piece of parsing: what a socket that becomes ready meanwhile may have to wait for.
_SLICE_BYTES = 16 * 1024
# Unparsed bytes of all connections from which parsing no longer waits for idle sockets. Answers
# that repeat all their text in each chunk grow with the square of their length.
_LARGEST_BACKLOG = 64 * 1024 * 1024


class Readable(Protocol):
    """Who owns a socket."""

    def ready(self, mask: int) -> None:
        """The socket is ready, in the bits of epoll: read once."""


class Source(Protocol):
    """Who has read something."""

    def parse(self, limit: int) -> int:
        """Parse about ``limit`` unparsed bytes; returns how many it was."""

    @property
    def unparsed(self) -> bool:
        """Whether anything is left to parse."""


@dataclass(frozen=True)
class ReceiveLoad:
    """How well the client kept up with receiving, over one run.

    ``wait_p99_ms`` and ``wait_max_ms`` say how long bytes that the kernel stamped had waited to be
    read; from the time between two chunks of a stream on, chunks merge and gaps are lost. None
    where no read had a stamp. ``idle_s`` is the time spent on parsing while no socket was ready: it
    was in nobody's way.
    """

    reads: int
    stamped: int
    wait_p99_ms: float | None
    wait_max_ms: float | None
    idle_s: float


class Receiver:
    """Watches sockets through an epoll of its own, which is one descriptor to the event loop.

    The event loop so runs one callback for a whole burst, and needs no object a read. Works with
    any asyncio loop that has ``add_reader``.
    """

    def __init__(self) -> None:
        self.clock = KernelClock()
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._sockets: dict[int, Readable] = {}
        # Ordered sets: who waits longest is parsed first.
        self._urgent: OrderedDict[Source, None] = OrderedDict()
        self._patient: OrderedDict[Source, None] = OrderedDict()
        self._backlog_bytes = 0
        self._working: asyncio.Handle | None = None
        self._reads = 0
        self._waits_ns = array("q")
        self._idle_ns = 0
        self._loop.add_reader(self._epoll.fileno(), self._readable)

    def close(self) -> None:
        """Stop watching; the sockets are their owners' to close."""
        if self._working is not None:
            self._working.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def watch(self, descriptor: int, owner: Readable) -> None:
        """Call ``owner.ready`` whenever the socket can be read."""
        self._sockets[descriptor] = owner
        self._epoll.register(descriptor, select.EPOLLIN)

    def watch_writing(self, descriptor: int, *, wanted: bool) -> None:
        """Call also, or no longer, when it can be written."""
        self._epoll.modify(descriptor, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def forget(self, descriptor: int) -> None:
        """No longer watch the socket; call it before closing it."""
        if self._sockets.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def took(self, source: Source, size: int, wait_ns: int | None, *, urgent: bool) -> None:
        """``source`` has read ``size`` bytes, 0 for an end, and wants to parse them.

        ``urgent`` where they may end an answer: whoever waits for it wants to know. ``wait_ns`` is
        how long they had waited to be read, None where that is not known.
        """
        self._reads += size > 0
        self._backlog_bytes += size
        if wait_ns is not None:
            self._waits_ns.append(wait_ns)
        (self._urgent if urgent else self._patient)[source] = None
        if self._working is None:
            self._working = self._loop.call_soon(self._work)

    def parsed(self, size: int) -> None:
        """``size`` bytes were parsed, or dropped, by their source."""
        self._backlog_bytes -= size

    def _readable(self) -> None:
        self._drain()

    def _drain(self) -> bool:
        """Read what is ready; returns whether anything was."""
        ready = False
        for _ in range(_ROUNDS):
            events = self._epoll.poll(0, _SOCKETS_A_ROUND)
            if not events:
                break
            ready = True
            self.clock.refresh()
            for descriptor, mask in events:
                # One socket's callback may have closed another's.
                owner = self._sockets.get(descriptor)
                if owner is not None:
                    owner.ready(mask)
        return ready

    def _work(self) -> None:
        """One piece of parsing, where nothing more pressing is to be done; then again."""
        self._working = None
        busy = self._drain()
        began = time.perf_counter_ns()
        if self._urgent:
            self._parse_some(self._urgent)
        elif self._patient and (not busy or self._backlog_bytes > _LARGEST_BACKLOG):
            self._parse_some(self._patient)
            if not busy:
                self._idle_ns += time.perf_counter_ns() - began
        if (self._urgent or self._patient) and self._working is None:
            self._working = self._loop.call_soon(self._work)

    def _parse_some(self, queue: OrderedDict[Source, None]) -> None:
        left = _SLICE_BYTES
        while queue and left > 0:
            source, _ = queue.popitem(last=False)
            left -= source.parse(left)
            if source.unparsed:
                queue[source] = None

    def restart(self) -> None:
        """Forget the load so far: a run begins."""
        self._reads = self._idle_ns = 0
        self._waits_ns = array("q")

    def load(self) -> ReceiveLoad:
        """The load since the start or the last ``restart``."""
        waits = sorted(self._waits_ns)
        return ReceiveLoad(
            reads=self._reads,
            stamped=len(waits),
            wait_p99_ms=quantile(waits, 0.99) / 1e6 if waits else None,
            wait_max_ms=waits[-1] / 1e6 if waits else None,
            idle_s=self._idle_ns / 1e9,
        )
