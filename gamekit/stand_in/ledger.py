"""What the stand-in engine really sent, and when: the truth that a client is compared with."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import Any

# The oldest answers are forgotten beyond so many chunks: 8 MB.
_MOST_CHUNKS = 1_000_000


@dataclass
class SentAnswer:
    """One streamed answer; times are ``time.perf_counter_ns`` values of this machine.

    ``arrived_ns`` is when the request had arrived, ``sent_ns`` when each chunk with tokens was
    handed to the system, ``late_ns`` how long after its deadline that was. ``tokens`` is None for
    an answer that was given up.
    """

    arrived_ns: int
    sent_ns: array[int] = field(default_factory=lambda: array("q"))
    late_ns: array[int] = field(default_factory=lambda: array("q"))
    tokens: int | None = None

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "arrived_ns": self.arrived_ns,
            "tokens": self.tokens,
            "sent_ns": self.sent_ns.tolist(),
            "late_ns": self.late_ns.tolist(),
        }


class Ledger:
    """The streamed answers of late, in the order in which they ended."""

    def __init__(self) -> None:
        self._answers: deque[SentAnswer] = deque()
        self._chunks = 0

    def add(self, answer: SentAnswer) -> None:
        """An answer has ended."""
        self._answers.append(answer)
        self._chunks += len(answer.sent_ns)
        while self._chunks > _MOST_CHUNKS and len(self._answers) > 1:
            self._chunks -= len(self._answers.popleft().sent_ns)

    def clear(self) -> None:
        """Forget all."""
        self._answers.clear()
        self._chunks = 0

    def describe(self) -> list[dict[str, Any]]:
        """As JSON."""
        return [answer.describe() for answer in self._answers]
