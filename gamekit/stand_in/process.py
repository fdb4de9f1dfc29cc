"""The stand-in engine as a child process: for benchmarks that were given no server."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self

from gamekit import event_loop
from gamekit.errors import BenchmarkFailed
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.engine import serve

_HOST = "127.0.0.1"
_LONGEST_END_S = 5.0


class StandInEngine:
    """A stand-in engine on a free port of this machine: ``with StandInEngine(config) as engine``.

    A process of its own, since an engine that shared the client's interpreter would take turns with
    it. It ends with the ``with`` block, and by itself when this process dies: its standard input is
    a pipe that then closes. Ctrl-C on the terminal does not reach it before the block ends.
    """

    def __init__(self, config: SimulatorConfig) -> None:
        self.config = config
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, this module
            [sys.executable, "-m", __name__, json.dumps(dataclasses.asdict(self.config))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._process = process
        assert process.stdout is not None  # noqa: S101 - asked for above
        try:
            port = process.stdout.readline().strip()
        except BaseException:
            self._end()
            raise
        if not port:
            self._end()
            raise BenchmarkFailed(
                f"the stand-in engine did not start (exit code {process.returncode})",
                mend="its own words are above",
            )
        self.url = f"http://{_HOST}:{port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def process_id(self) -> int | None:
        """The id of the child, None before it was started."""
        return None if self._process is None else self._process.pid

    def _end(self) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        process.stdin.close()
        try:
            process.wait(_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            process.stdout.close()


async def _serve_until_orphaned(config: SimulatorConfig) -> None:
    loop = asyncio.get_running_loop()
    serving = asyncio.ensure_future(serve(config, _HOST, 0, _announce))
    # Nobody writes into standard input: it becomes readable when the parent has closed it or died.
    loop.add_reader(sys.stdin.fileno(), serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def _announce(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Serve the configuration given as JSON until standard input closes; print the port."""
    config = SimulatorConfig(**json.loads(arguments[0]))
    event_loop.run(lambda _: _serve_until_orphaned(config), punctual=True)


if __name__ == "__main__":
    main(sys.argv[1:])
