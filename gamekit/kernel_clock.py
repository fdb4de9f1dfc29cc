"""When the kernel received a segment: its time stamps, mapped onto the client's own clock."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence

_TIMESPEC = struct.Struct("@ll")
# Linux's own number of SO_TIMESTAMPNS, and of the control message that it makes (asm-generic);
# Python's socket module does not name it.
_SO_TIMESTAMPNS = 35
# Room for one control message with a timespec.
CONTROL_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
# Two clocks read one after the other differ by less, unless the process was interrupted between
# them; a step of the system clock that matters to a figure is larger.
_SUSPICIOUS_NS = 50_000
_READINGS = 7

Control = Sequence[tuple[int, int, bytes]]


def request_stamps(sock: socket.socket) -> bool:
    """Ask the kernel to stamp what ``sock`` receives; False where this system does not.

    On a TCP socket a read then tells when the *last* segment that it touched was received
    (``tcp_recvmsg``), and the kernel merges segments that wait in a queue under the stamp of the
    newest (``tcp_try_coalesce``). What was merged is therefore never dated too early, and too late
    by at most the time that it waited to be read.
    """
    if sys.platform != "linux" or _TIMESPEC.size != 16:
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


class KernelClock:
    """Maps kernel stamps, which are on CLOCK_REALTIME, onto ``time.perf_counter_ns``.

    On Linux the latter is CLOCK_MONOTONIC. Both are slewed alike, so their offset is constant but
    for steps of the system clock (``settimeofday``, a leap second). ``refresh`` is cheap, notices a
    step and measures the offset anew.
    """

    def __init__(
        self,
        realtime_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._realtime_ns = realtime_ns
        self._monotonic_ns = monotonic_ns
        self._offset_ns = self._measured_offset()
        self._trusted = True
        self.steps = 0

    def _measured_offset(self) -> int:
        """Realtime minus monotonic, from the reading that was interrupted least."""
        best = None
        for _ in range(_READINGS):
            before = self._monotonic_ns()
            realtime = self._realtime_ns()
            after = self._monotonic_ns()
            if best is None or after - before < best[0]:
                best = (after - before, realtime - (before + after) // 2)
        assert best is not None  # noqa: S101 - there is at least one reading
        return best[1]

    def refresh(self) -> None:
        """Look whether the system clock was stepped; call it before each batch of reads.

        Stamps made before a step cannot be told from those made after it: none is believed until
        the next ``refresh``.
        """
        self._trusted = True
        if abs(self._realtime_ns() - self._monotonic_ns() - self._offset_ns) < _SUSPICIOUS_NS:
            return
        offset = self._measured_offset()
        if abs(offset - self._offset_ns) >= _SUSPICIOUS_NS:
            self._trusted = False
            self.steps += 1
        self._offset_ns = offset

    def arrival_ns(self, control: Control, read_ns: int, not_before_ns: int) -> int | None:
        """When what was just read had arrived, on the monotonic clock; None is not known.

        ``control`` are the control messages of the read, ``read_ns`` the time right after it,
        ``not_before_ns`` the time of whatever came before on the same connection: bytes behind a
        segment that was lost and sent again wait for it, though they were received earlier. The
        result is never outside the two.
        """
        if not control or not self._trusted:
            return None
        _, kind, data = control[0]
        if kind != _SO_TIMESTAMPNS or len(data) != _TIMESPEC.size:
            return None
        seconds, nanoseconds = _TIMESPEC.unpack(data)
        at = int(seconds) * 1_000_000_000 + int(nanoseconds) - self._offset_ns
        if at > read_ns:
            return None
        return max(at, not_before_ns)
