"""What a run opens once and shares between its cases, such as a group of worker processes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar, cast

T = TypeVar("T")


class Kept:
    """The things of one run by key, each open from its first use to the end of the run."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._things: dict[str, object] = {}

    def get(self, key: str, open_it: Callable[[], AbstractContextManager[T]]) -> T:
        """What ``open_it`` gave when ``key`` was asked for first.

        One that fails to open is not kept: its error is the caller's, and the next asks again.
        """
        if key not in self._things:
            self._things[key] = self._stack.enter_context(open_it())
        return cast(T, self._things[key])

    def close(self) -> None:
        """Close everything, what was opened last first; a second call closes nothing."""
        self._things.clear()
        self._stack.close()
