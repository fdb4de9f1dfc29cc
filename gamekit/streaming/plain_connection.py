"""A connection over plain TCP, whose reads the kernel dates where it can."""

from __future__ import annotations

import asyncio
import select
import socket
import time

from gamekit.kernel_clock import CONTROL_BYTES, request_stamps
from gamekit.streaming.connection import Connection
from gamekit.streaming.receiver import Receiver

# Most that one read takes; what is left is read in the receiver's next round.
_LARGEST_READ = 64 * 1024


class PlainConnection(Connection):
    """Reads its own non-blocking socket whenever the receiver finds it ready."""

    def __init__(self, sock: socket.socket, receiver: Receiver, *, stamped: bool) -> None:
        super().__init__(receiver)
        self._socket = sock
        self._control_bytes = CONTROL_BYTES if stamped else 0
        self._unsent = memoryview(b"")
        self._awaits_room = False
        receiver.watch(sock.fileno(), self)

    @classmethod
    async def open(
        cls, host: str, port: int, receiver: Receiver, *, kernel_stamps: bool = True
    ) -> PlainConnection:
        """Connect to the first address of ``host`` that answers; raises ``OSError``."""
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        failure: OSError = OSError(f"{host} has no address")
        for family, kind, protocol, _, address in addresses:
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as error:
                failure = error  # such as an address of IPv6 on a kernel without it
                continue
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                stamped = kernel_stamps and request_stamps(sock)
                await loop.sock_connect(sock, address)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
            else:
                return cls(sock, receiver, stamped=stamped)
        raise failure

    def _send(self, request: bytes) -> None:
        self._unsent = memoryview(request)
        self._send_more()

    def _send_more(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            # The peer has gone. What it said before it went is still to be read, then its end.
            self._unsent = memoryview(b"")
        if self._awaits_room != bool(self._unsent):
            self._awaits_room = bool(self._unsent)
            self._receiver.watch_writing(self._socket.fileno(), wanted=self._awaits_room)

    @property
    def silent(self) -> bool:
        """Whether the system holds nothing unread, nor an end."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            pass  # it is gone, and the next read says so
        return False

    def ready(self, mask: int) -> None:
        """Read once, the time first; the receiver calls again while there is more."""
        if mask & select.EPOLLOUT:
            self._send_more()
            if not mask & ~select.EPOLLOUT:
                return
        try:
            data, control, _, _ = self._socket.recvmsg(_LARGEST_READ, self._control_bytes)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error.strerror or str(error))
            self._shut()
            return
        now = time.perf_counter_ns()
        if not data:
            self._lose("the server closed the connection")
            self._shut()
            return
        arrived = self._receiver.clock.arrival_ns(control, now, self.incoming.last_at_ns)
        self._take(data, now, arrived)

    def _shut(self) -> None:
        if self._socket.fileno() >= 0:
            self._receiver.forget(self._socket.fileno())
            self._socket.close()

    async def close(self) -> None:
        """Close now."""
        self._lose("closed by the client")
        self._shut()
