"""Absolute deadlines of many answers on one timer of the event loop."""

from __future__ import annotations

import asyncio
import heapq
import time
from typing import Protocol


class Paced(Protocol):
    """What is done step by step."""

    def step(self) -> int | None:
        """Make the step that is due; returns when the next is (ns), None after the last."""


class Schedule:
    """Calls each answer's next step when it is due, on the clock of ``time.perf_counter_ns``.

    One timer for all: a timer of asyncio for each of them costs more than their steps.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[int, int, Paced]] = []
        self._dropped: set[int] = set()
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def add(self, due_ns: int, paced: Paced) -> int:
        """Begin with ``paced.step()`` at ``due_ns``; returns the number to drop it by."""
        self._number += 1
        heapq.heappush(self._due, (due_ns, self._number, paced))
        self._set_timer()
        return self._number

    def drop(self, number: int) -> None:
        """No further step of what has this number."""
        self._dropped.add(number)

    def _set_timer(self) -> None:
        next_ns = self._due[0][0]
        if self._timer is not None:
            if self._timer_ns <= next_ns:
                return
            self._timer.cancel()
        self._timer_ns = next_ns
        # The loop's clock is perf_counter's on Linux: both are CLOCK_MONOTONIC.
        self._timer = self._loop.call_at(next_ns / 1e9, self._run)

    def _run(self) -> None:
        self._timer = None
        due = self._due
        now = time.perf_counter_ns()
        while due and due[0][0] <= now:
            _, number, paced = due[0]
            next_ns = None if number in self._dropped else paced.step()
            # A step may drop its own answer, and never adds one: it is still the first.
            if next_ns is None:
                heapq.heappop(due)
                self._dropped.discard(number)
            else:
                heapq.heapreplace(due, (next_ns, number, paced))
        if due:
            self._set_timer()
