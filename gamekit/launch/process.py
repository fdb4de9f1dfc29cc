"""One start of an engine: begun, waited for until it is healthy, and ended for certain."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gamekit.errors import BenchmarkFailed
from gamekit.launch import keeper
from gamekit.launch.command import ReadyCommand, answers
from gamekit.launch.log import EngineLog

# An engine frees its GPUs in this time, where it ends by itself at all.
GRACE_S = 20.0
_POLL_S = 0.1
_ANSWER_S = 5.0
# What is said of an engine that is not ready is said again after so long.
_TOLD_EVERY_S = 2.0
# Behind a grace and the kills of the keeper.
_LONGEST_END_S = 40.0


class LaunchedEngine:
    """One start of an engine; ``with LaunchedEngine(command)`` ends it whatever happens inside.

    It runs in a session of its own, so Ctrl-C on the terminal does not reach it, and below a keeper
    process, which ends the engine with everything that it started (and nothing else) when this
    process ends it, leaves it or is killed, also by SIGKILL. Its output goes straight into a file
    without a name: it can fill no pipe, and the file is gone with the last process that has it.
    """

    def __init__(self, command: ReadyCommand, *, grace_s: float = GRACE_S) -> None:
        self.command = command
        self.url = command.url
        self.start_up_s: float | None = None
        self._grace_s = grace_s
        self._keeper: subprocess.Popen[bytes] | None = None
        self._heard = b""
        self._began = 0.0
        self._output = tempfile.TemporaryFile("wb", buffering=0)  # noqa: SIM115 - closed by end()
        self.log = EngineLog(self._output.fileno())
        self.process_id: int | None = None
        self.exit_code: int | None = None
        self.refused: str | None = None
        self.left: list[int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def start(self) -> None:
        """Start it. Raises ``BenchmarkFailed`` where its port is taken or no program can be run."""
        command = self.command
        if answers(command.host, command.port):
            raise BenchmarkFailed(
                f"something listens on port {command.port} already: it would be measured instead",
                mend="end it, or write --port {port} for a free one",
            )
        self._began = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - this interpreter, our file
            # Isolated and without site packages: it is there in a tenth of the time.
            [sys.executable, "-I", "-S", str(Path(keeper.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What it has to say of a fault of its own belongs there too; and it holds nothing of
            # this process open, where that is killed.
            stderr=self._output.fileno(),
            bufsize=0,
            start_new_session=True,
            pass_fds=[self._output.fileno()],
        )
        self._keeper = process
        job = {
            "arguments": list(command.words),
            "environment": {**os.environ, **command.variables},
            "grace_s": self._grace_s,
            "output": self._output.fileno(),
        }
        assert process.stdin is not None  # noqa: S101 - asked for above
        with suppress(BrokenPipeError):  # it ended: it is heard below
            process.stdin.write(json.dumps(job).encode() + b"\n")
        while self.process_id is None and self.refused is None and self._hear(None):
            pass
        if self.process_id is None:
            raise BenchmarkFailed(
                f"{command.words[0]} cannot be started: {self.refused or 'its keeper ended'}",
                mend="see that the program can be found and run",
            )

    def ended(self, within_s: float = 0.0) -> bool:
        """Whether the engine has ended by itself; waits ``within_s`` for it to do so."""
        deadline = time.monotonic() + within_s
        while self.exit_code is None:
            left = max(0.0, deadline - time.monotonic())
            if not self._hear(left) or (left == 0 and self.exit_code is None):
                break
        return self.exit_code is not None

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
        if self.process_id is None:
            return found
        for pid in [self.process_id, *_below(self.process_id)]:
            with suppress(OSError):
                raw = Path(f"/proc/{pid}/environ").read_bytes()
                pairs = (one.partition(b"=") for one in raw.split(b"\0") if b"=" in one)
                found.update((os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs)
        return found

    def end(self) -> None:
        """End the engine and all that it started, and wait until they are gone.

        ``left`` has then the ids of those that could not be ended.
        """
        process = self._keeper
        if process is not None:
            self._keeper = None
            assert process.stdin is not None  # noqa: S101 - asked for in start()
            assert process.stdout is not None  # noqa: S101 - asked for in start()
            process.stdin.close()
            try:
                self._hear_out(process, self._grace_s + _LONGEST_END_S)
            finally:
                process.stdout.close()
            if self.left is None and self.process_id is not None:
                # Somebody killed the keeper: what is left is the engine's own group.
                with suppress(OSError):
                    os.killpg(self.process_id, signal.SIGKILL)
        self.log.close()
        self._output.close()

    def _hear_out(self, process: subprocess.Popen[bytes], within_s: float) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for in start()
        deadline = time.monotonic() + within_s
        while (left := deadline - time.monotonic()) > 0:
            if select.select([process.stdout], [], [], left)[0] and not self._read(process):
                process.wait()
                return

    def _hear(self, timeout_s: float | None) -> bool:
        """Take in what the keeper tells; False when it has nothing more to tell in that time."""
        process = self._keeper
        if process is None or process.stdout is None:
            return False
        if not select.select([process.stdout], [], [], timeout_s)[0]:
            return False
        return self._read(process)

    def _read(self, process: subprocess.Popen[bytes]) -> bool:
        assert process.stdout is not None  # noqa: S101 - asked for in start()
        piece = os.read(process.stdout.fileno(), 65536)
        *lines, self._heard = (self._heard + piece).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(piece)

    def _take(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "started":
            self.process_id = event["pid"]
        elif event["event"] == "refused":
            self.refused = event["why"]
        elif event["event"] == "exited":
            self.exit_code = event["code"]
        elif event["event"] == "ended":
            self.left = event["left"]

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
                failed[engine] = f"the engine ended before it was ready ({_how(engine.exit_code)})"
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
    return f"the engine ended while it was measured ({_how(engine.exit_code)})"


def _how(code: int | None) -> str:
    return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _waiting(engine: LaunchedEngine, redact: Callable[[str], str]) -> str:
    last = engine.log.last_line(redact)
    return f"starting for {engine.elapsed_s:.0f} s{f': {last}' if last else ''}"


def _below(pid: int) -> list[int]:
    """The process ids below ``pid``, parents before children."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError, IndexError):
                status = (process / "stat").read_bytes().rpartition(b")")[2].split()
                children.setdefault(int(status[1]), []).append(int(process.name))
    found = [pid]
    for one in found:
        found += sorted(children.get(one, []))
    return found[1:]
