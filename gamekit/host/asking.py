"""Asks a program for its output, and gives up on one that hangs."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gamekit.host.files import one_line

# No driver's program says nearly as much; one that floods is ended before it fills the memory.
_MOST_BYTES = 1024**2
_AT_ONCE = 65536
# Longer than any reason that is shown, so that a secret is taken out of it before it is cut.
_LONGEST_REASON = 2000
# A process that hangs in the driver cannot even be killed; it is waited for no longer than this.
_DYING_S = 0.5


@dataclass(frozen=True)
class Answer:
    """What a program said; ``text`` is None where it said nothing usable, and ``why`` says why."""

    text: str | None
    why: str = ""


def ask(
    command: Sequence[str], timeout_s: float, environ: Mapping[str, str] | None = None
) -> Answer:
    """The standard output of ``command``, which gets ``timeout_s`` seconds and 1 MiB.

    Never waits longer than that and a moment, whatever the program does: it and all that it started
    are killed, and one that does not even die is left behind. A reason is one line that prints.
    """
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(  # noqa: S603 - programs of the driver and this interpreter
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, f"{name} cannot be started: {error.strerror or error}")
    deadline = time.monotonic() + timeout_s
    try:
        output, errors = _read(process, deadline)
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Answer(None, f"{name} gave no answer in {timeout_s:g} s")
    except _TooMuchError:
        return Answer(None, f"{name} gave more than 1 MiB of output")
    finally:
        _end(process)
    if process.returncode != 0:
        said = one_line(errors, _LONGEST_REASON) or one_line(output, _LONGEST_REASON)
        return Answer(None, f"{name} failed ({said or f'exit code {process.returncode}'})")
    return Answer(output)


class _TooMuchError(Exception):
    """A program said more than any answer has."""


def _read(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, str]:
    """Standard output and standard error to their ends, as UTF-8."""
    said = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}
    with selectors.DefaultSelector() as waiting:
        for pipe in said:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            left = deadline - time.monotonic()
            ready = waiting.select(left) if left > 0 else []
            if not ready:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready:
                part = os.read(key.fd, _AT_ONCE)
                if not part:
                    waiting.unregister(key.fileobj)
                said[key.fileobj] += part  # type: ignore[index]
            if sum(map(len, said.values())) > _MOST_BYTES:
                raise _TooMuchError
    output, errors = (text.decode("utf-8", "replace") for text in said.values())
    return output, errors


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DYING_S)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
