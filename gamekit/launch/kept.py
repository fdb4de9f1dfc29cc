"""A process below a keeper: started, listened to, and ended for certain with all it started."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gamekit.errors import BenchmarkFailed
from gamekit.launch import keeper
from gamekit.launch.log import EngineLog

# Behind a grace and the kills of the keeper.
_LONGEST_END_S = 40.0


class KeptProcess:
    """One process; ``with KeptProcess(words, variables)`` ends it whatever happens inside.

    ``variables`` are added to those of this process. It runs in a session of its own, so Ctrl-C on
    the terminal does not reach it, and below a keeper process, which ends it with everything that
    it started (and nothing else) when this process ends it, leaves it or is killed, also by
    SIGKILL. Its output goes straight into a file without a name: it can fill no pipe, and the file
    is gone with the last process that has it.
    """

    def __init__(
        self, words: Sequence[str], variables: Mapping[str, str], *, grace_s: float
    ) -> None:
        self._words = list(words)
        self._variables = dict(variables)
        self._grace_s = grace_s
        self._keeper: subprocess.Popen[bytes] | None = None
        self._heard = b""
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
        """Start it. Raises ``BenchmarkFailed`` where no program can be run."""
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
            "arguments": self._words,
            "environment": {**os.environ, **self._variables},
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
                f"{self._words[0]} cannot be started: {self.refused or 'its keeper ended'}",
                mend="see that the program can be found and run",
            )

    def fileno(self) -> int:
        """What is readable when there is something to hear of its end: then ask ``ended()``."""
        assert self._keeper is not None  # noqa: S101 - only of one that was started
        assert self._keeper.stdout is not None  # noqa: S101 - asked for in start()
        return self._keeper.stdout.fileno()

    def ended(self, within_s: float = 0.0) -> bool:
        """Whether it has ended by itself; waits ``within_s`` for it to do so."""
        deadline = time.monotonic() + within_s
        while self.exit_code is None:
            left = max(0.0, deadline - time.monotonic())
            if not self._hear(left) or (left == 0 and self.exit_code is None):
                break
        return self.exit_code is not None

    def end(self) -> None:
        """End it and all that it started, and wait until they are gone.

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
                # Somebody killed the keeper: what is left is its own group.
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


def in_words(code: int | None) -> str:
    """How a process ended, by its exit code as ``subprocess`` gives it."""
    return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
