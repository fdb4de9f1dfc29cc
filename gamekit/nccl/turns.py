"""One change at a time in a folder: the next one reads what the one before has written."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gamekit.errors import MachineRefused

SECONDS = 120.0
_PAUSE_S = 0.02


@contextmanager
def turn(file: Path) -> Iterator[None]:
    """Hold the folder of ``file``, or of what it leads to as a link, from reading to writing.

    Waits for others that hold it; they end by themselves, and a killed one holds nothing. A folder
    that cannot be held, as on some network file systems, is not: ``write`` still refuses what
    changed since it was read. Raises ``MachineRefused`` after ``SECONDS`` of waiting.
    """
    folder = Path(os.path.realpath(file)).parent
    handle = None
    with suppress(OSError):  # what is wrong with the folder is told by who reads or writes there
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if handle is not None:
            _wait(handle, folder)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _wait(handle: int, folder: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise MachineRefused(
                    f"another program holds the folder {folder}",
                    mend="end it, as fuser -v tells it, or try again",
                ) from None
            time.sleep(_PAUSE_S)
        except OSError:
            return
        else:
            return
