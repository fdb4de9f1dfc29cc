"""One start of an engine: begun, waited for until it is healthy, and ended for certain."""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Callable, Sequence

from gamekit.errors import BenchmarkFailed
from gamekit.host.processes import variables
from gamekit.launch.command import ReadyCommand, answers
from gamekit.launch.kept import KeptProcess, in_words

# An engine frees its GPUs in this time, where it ends by itself at all.
GRACE_S = 20.0
_POLL_S = 0.1
_ANSWER_S = 5.0
# What is said of an engine that is not ready is said again after so long.
_TOLD_EVERY_S = 2.0


class LaunchedEngine(KeptProcess):
    """One start of an engine, kept as every :class:`KeptProcess`, with where it answers."""

    def __init__(self, command: ReadyCommand, *, grace_s: float = GRACE_S) -> None:
        super().__init__(command.words, command.variables, grace_s=grace_s)
        self.command = command
        self.url = command.url
        self.start_up_s: float | None = None
        self._began = 0.0

    def start(self) -> None:
        """Start it. Raises ``BenchmarkFailed`` where its port is taken or no program can be run."""
        command = self.command
        if answers(command.host, command.port):
            raise BenchmarkFailed(
                f"something listens on port {command.port} already: it would be measured instead",
                mend="end it, or write --port {port} for a free one",
            )
        self._began = time.monotonic()
        super().start()

    def healthy(self) -> bool:
        """Whether it answers and says that it is ready; from the first time on it has started."""
        status = self._status("/health")
        # An engine without that route, or with a key before it, is asked for what it serves.
        if status in (401, 403, 404, 405):
            status = self._status("/v1/models")
        ready = status is not None and status < 500 and not self.ended()
        if ready and self.start_up_s is None:
            self.start_up_s = time.monotonic() - self._began
        return ready

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._began

    def variables(self) -> dict[str, str]:
        """The environment of the engine's processes as each was started with it.

        Where they differ, the process that was started last counts: what an engine sets itself
        reaches those that it starts.
        """
        found = {**os.environ, **self.command.variables}
        return found if self.process_id is None else found | variables(self.process_id)

    def _status(self, route: str) -> int | None:
        connection = http.client.HTTPConnection(
            self.command.host, self.command.port, timeout=_ANSWER_S
        )
        try:
            connection.request("GET", route)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def wait_until_healthy(
    engines: Sequence[LaunchedEngine],
    limit_s: float,
    tell: Callable[[str], None] = lambda _: None,
    redact: Callable[[str], str] = str,
) -> dict[LaunchedEngine, str]:
    """Wait until each of ``engines`` is healthy; gives those that are not, with the reason.

    They are waited for side by side. ``tell`` is told every few seconds which are awaited, for how
    long, and the last line of the log as ``redact`` leaves it.
    """
    awaited = list(engines)
    failed: dict[LaunchedEngine, str] = {}
    told = 0.0
    while awaited:
        for engine in list(awaited):
            if engine.healthy():
                awaited.remove(engine)
            elif engine.ended():
                awaited.remove(engine)
                failed[engine] = (
                    f"the engine ended before it was ready ({in_words(engine.exit_code)})"
                )
            elif engine.elapsed_s > limit_s:
                awaited.remove(engine)
                failed[engine] = (
                    f"the engine was not ready after {limit_s:g} s, and was ended"
                    " (--set start_timeout=SECONDS waits longer)"
                )
        if not awaited:
            break
        if time.monotonic() - told > _TOLD_EVERY_S:
            told = time.monotonic()
            tell("; ".join(_waiting(engine, redact) for engine in awaited))
        time.sleep(_POLL_S)
    return failed


def how_it_ended(engine: LaunchedEngine) -> str:
    """How an engine that ended by itself did so, in words."""
    return f"the engine ended while it was measured ({in_words(engine.exit_code)})"


def _waiting(engine: LaunchedEngine, redact: Callable[[str], str]) -> str:
    last = engine.log.last_line(redact)
    return f"starting for {engine.elapsed_s:.0f} s{f': {last}' if last else ''}"
