"""The event loop of client and stand-in engine: precise timers, and it knows its own lag."""

from __future__ import annotations

import asyncio
import gc
import select
import selectors
import signal
import threading
import time
from array import array
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from gamekit.nearest_rank import quantile

_T = TypeVar("_T")


@dataclass(frozen=True)
class LoopLag:
    """How long the loop was busy between two looks at its sockets, over one run.

    Bytes that arrive while the loop is busy get their time stamp at its next look: ``max_ms``
    bounds the error of any time stamp of the run, ``p99_ms`` is the 99th percentile over the turns
    of the loop, ``busy_fraction`` the part of ``wall_s`` in which it did not wait for anything. A
    client whose ``busy_fraction`` nears 1 is what limits the run.
    """

    turns: int
    max_ms: float
    p99_ms: float
    busy_fraction: float
    wall_s: float


class PreciseSelector(selectors.EpollSelector):
    """Epoll with timeouts in microseconds, recording how long the loop was away.

    ``epoll_wait`` rounds a timeout up to the next millisecond, so asyncio's timers fire up to 1 ms
    late. An epoll descriptor can itself be waited for with ``select``, which takes microseconds. A
    processor that idled deeply wakes later still (0.2 to 0.7 ms on a virtual machine): with
    ``punctual`` the selector learns by how much, sleeps that much less and polls for the rest, at
    most 1 ms a timer, so that timers are met within about 0.1 ms for a few per cent of a core.
    """

    def __init__(self, *, punctual: bool = False) -> None:
        super().__init__()
        self._punctual = punctual
        self._oversleep_s = 0.0
        self._returned_at = 0
        self._started_at = time.perf_counter_ns()
        self._busy_ns = array("q")

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for readiness for at most ``timeout`` seconds (None: for ever)."""
        if self._returned_at:
            self._busy_ns.append(time.perf_counter_ns() - self._returned_at)
        if timeout is None or timeout <= 0 or self.fileno() >= _FD_SETSIZE:
            ready = super().select(timeout)
        elif self._punctual:
            ready = self._select_until(time.perf_counter() + timeout)
        else:
            select.select((self.fileno(),), (), (), timeout)
            ready = super().select(0)
        self._returned_at = time.perf_counter_ns()
        return ready

    def _select_until(self, deadline: float) -> list[tuple[selectors.SelectorKey, int]]:
        # A short sleep does not idle deeply: polling for it would burn a core under load.
        long = deadline - time.perf_counter() > _LONGEST_POLL_S
        wake_at = deadline - (max(0.0, self._oversleep_s - _TOLERATED_S) if long else 0.0)
        pause = wake_at - time.perf_counter()
        if pause > 0:
            woken_by, _, _ = select.select((self.fileno(),), (), (), pause)
            if long and not woken_by:
                late = min(time.perf_counter() - wake_at, _LONGEST_POLL_S)
                # Quick to learn that waking is slow, slow to forget it: a late chunk costs more.
                weight = 0.5 if late > self._oversleep_s else 0.1
                self._oversleep_s += weight * (late - self._oversleep_s)
        if not long:
            return super().select(0)
        ready = super().select(0)
        while not ready and time.perf_counter() < deadline:
            ready = super().select(0)
        return ready

    def restart(self) -> None:
        """Forget the lag so far: a run begins."""
        self._busy_ns = array("q")
        self._returned_at = 0
        self._started_at = time.perf_counter_ns()

    def lag(self) -> LoopLag:
        """The lag since the start or the last ``restart``."""
        wall_s = (time.perf_counter_ns() - self._started_at) / 1e9
        busy = sorted(self._busy_ns)
        if not busy:
            return LoopLag(0, 0.0, 0.0, 0.0, wall_s)
        p99 = quantile(busy, 0.99)
        return LoopLag(len(busy), busy[-1] / 1e6, p99 / 1e6, sum(busy) / 1e9 / wall_s, wall_s)


# select(2) cannot name descriptors from here on; the loop's own is among the first of a process.
_FD_SETSIZE = 1024
# Lateness that is left alone, and the longest time spent polling for one timer.
_TOLERATED_S = 50e-6
_LONGEST_POLL_S = 1e-3


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Ctrl-C and SIGTERM come behind this: what a finalizer raises is lost, and they would be.

    An event loop has a finalizer, and the collector finds the loops of earlier runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: handler for number, handler in before.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for arrived in came:
            signal.raise_signal(arrived)


def run(
    main: Callable[[PreciseSelector], Coroutine[Any, Any, _T]], *, punctual: bool = False
) -> _T:
    """Run ``main(selector)`` on a loop with a :class:`PreciseSelector` and return its result.

    The cyclic garbage collector rests meanwhile: its pauses would be the largest lag of the run.
    On Ctrl-C the coroutine is cancelled, so that its ``finally`` clauses run, and
    ``KeyboardInterrupt`` is raised (asyncio's rule).
    """
    selector = PreciseSelector(punctual=punctual)
    collecting = gc.isenabled()
    with _signals_wait():
        gc.collect()
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
            return runner.run(main(selector))
    finally:
        if collecting:
            gc.enable()
