"""Asks a program for its output, and gives up on one that hangs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LONGEST_REASON = 200
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
    """The standard output of ``command``, which gets ``timeout_s`` seconds.

    Never waits longer than that and a moment, whatever the program does: it and all that it started
    are killed, and one that does not even die is left behind.
    """
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(  # noqa: S603 - programs of the driver and this interpreter
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, f"{name} cannot be started: {error.strerror or error}")
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return Answer(None, f"{name} gave no answer in {timeout_s:g} s")
    finally:
        _end(process)
    if process.returncode != 0:
        said = " ".join((errors.strip() or output.strip()).split())[:_LONGEST_REASON]
        return Answer(None, f"{name} failed ({said or f'exit code {process.returncode}'})")
    return Answer(output)


def _end(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DYING_S)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
