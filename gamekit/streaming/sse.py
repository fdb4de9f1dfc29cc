"""An incremental parser of Server-Sent Events over bytes."""

from __future__ import annotations

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvents:
    """Turns bytes, cut anywhere, into the data of each event.

    Follows the WHATWG HTML standard, section 9.2.6: lines end in CRLF, LF or CR; one space after
    the colon is dropped; lines that begin with a colon are comments; several ``data`` lines are
    joined with LF; an event without data is none; one that no blank line ends is discarded.
    ``event``, ``id`` and ``retry`` mean nothing to a benchmark. Works on bytes, because a cut may
    fall inside a UTF-8 character, and no line end can.
    """

    def __init__(self) -> None:
        # Of a line without an end so far: joined once, however many pieces it comes in.
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that ``piece`` completes, in order; ``piece`` may be empty."""
        if not piece:
            return []
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r") if piece else False
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = piece.split(b"\n")
        self._line.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._line)
        self._line = [lines.pop()]
        events = []
        for line in lines:
            event = self._take_line(line)
            if event is not None:
                events.append(event)
        return events

    def _take_line(self, line: bytes) -> bytes | None:
        """The data of the event that an empty line ends."""
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            data, self._data = self._data, []
            return b"\n".join(data) if data else None
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line == b"data":
            self._data.append(b"")
        return None
