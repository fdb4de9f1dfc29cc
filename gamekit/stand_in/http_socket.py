"""A client's connection at the stand-in engine: requests dated by the kernel, writes at once."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

from gamekit.kernel_clock import CONTROL_BYTES, KernelClock, request_stamps

_LARGEST_READ = 64 * 1024


class HttpSocket:
    """Calls ``received(data, arrived_ns)`` for what comes and ``lost()`` once when it is over.

    ``write`` hands bytes to the system at once, what that does not take as soon as it does.
    """

    def __init__(
        self,
        sock: socket.socket,
        clock: KernelClock,
        received: Callable[[bytes, int], None],
        lost: Callable[[], None],
    ) -> None:
        self._socket = sock
        self._clock = clock
        self._received = received
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._last_ns = 0
        self._open = True
        self._closing = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._control_bytes = CONTROL_BYTES if request_stamps(sock) else 0
        self._loop.add_reader(sock.fileno(), self._read)

    def _read(self) -> None:
        try:
            data, control, _, _ = self._socket.recvmsg(_LARGEST_READ, self._control_bytes)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, control = b"", []
        if not data:
            self.abort()
            return
        now = time.perf_counter_ns()
        self._clock.refresh()
        arrived = self._clock.arrival_ns(control, now, self._last_ns)
        self._last_ns = now if arrived is None else arrived
        self._received(data, self._last_ns)

    def write(self, data: bytes) -> None:
        """Send ``data`` after all that was written before; nothing on a lost connection."""
        if self._unsent:
            self._unsent += data
            return
        if not self._open:
            return
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.abort()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.add_writer(self._socket.fileno(), self._write_more)

    def _write_more(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.abort()
            return
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())
            if self._closing:
                self.abort()

    def close(self) -> None:
        """Close once all is sent."""
        self._closing = True
        if not self._unsent:
            self.abort()

    def abort(self) -> None:
        """Close now, with whatever is unsent."""
        if not self._open:
            return
        self._open = False
        self._unsent.clear()
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        self._lost()
