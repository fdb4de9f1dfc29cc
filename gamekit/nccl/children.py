"""Runs a program to its end, and gives up on one that hangs or that has no end of words."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from gamekit.errors import MachineRefused, UsageFault

SECONDS = 60.0
_LONGEST = 4 << 20  # bytes of each of its two outputs
_PIECE = 1 << 16
# A process that hangs in a driver cannot even be killed; it is waited for no longer than this.
_DYING_S = 0.5


@dataclass(frozen=True)
class Ended:
    """How a program ended, and all that it said."""

    code: int
    output: bytes
    errors: bytes


def run(
    command: Sequence[str],
    *,
    mend: str,
    environment: Mapping[str, str] | None = None,
    content: bytes = b"",
) -> Ended:
    """What ``command`` says, with ``content`` as its input, in a session of its own.

    Raises ``UsageFault`` when there is no such program; ``MachineRefused`` when it does not start,
    takes more than ``SECONDS`` or says more than 4 MiB. It is then killed with all that it started.
    """
    with tempfile.TemporaryFile() as given:  # a pipe would have to be fed while its output is read
        given.write(content)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
                list(command),
                env=None if environment is None else dict(environment),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError):
            raise UsageFault(f"there is no {command[0]}", mend=mend) from None
        except OSError as error:
            raise MachineRefused(
                f"{command[0]} does not start: {(error.strerror or str(error)).lower()}", mend=mend
            ) from None
    try:
        output, errors = _said(process, time.monotonic() + SECONDS)
    except subprocess.TimeoutExpired:
        raise MachineRefused(
            f"{command[0]} gave no answer within {SECONDS:.0f} s", mend=mend
        ) from None
    except OverflowError:
        raise MachineRefused(
            f"{command[0]} says more than {_LONGEST >> 20} MiB", mend=mend
        ) from None
    finally:
        _end(process)
    return Ended(process.returncode, output, errors)


def _said(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Both outputs to their ends. Raises ``TimeoutExpired`` and ``OverflowError``."""
    pipes = _pipes(process)
    said = [bytearray() for _ in pipes]
    with selectors.DefaultSelector() as selector:
        for pipe, into in zip(pipes, said, strict=True):
            selector.register(pipe, selectors.EVENT_READ, into)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, SECONDS)
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
                if len(key.data) > _LONGEST:
                    raise OverflowError
    process.wait(max(0.0, deadline - time.monotonic()))
    output, errors = said
    return bytes(output), bytes(errors)


def _pipes(process: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DYING_S)
    for pipe in _pipes(process):
        pipe.close()
