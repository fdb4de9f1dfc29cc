"""What an engine's log says: graphs captured, decode ticks, and the part worth keeping."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Captured = Literal["captured", "eager"]
Field = str | float | bool

_READ_AT_ONCE = 1 << 20
# More than this that was not read yet is not worth the time.
_MOST_BEHIND = 64 << 20
# Of a line: what is kept while it is read, and of that what is recorded.
_LONGEST_READ, _LONGEST_LINE = 20_000, 300
_CUT = b"\0cut\0"
# How many lines of each kind are recorded.
_FIRST, _LAST, _CAPTURES, _ERRORS = 20, 40, 60, 40
_MOST_TICKS = 100_000

# sglang 0.5.15 and 0.5.23: "Capture target verify CUDA graph begin. ..." and "... end. ...".
_CAPTURE = re.compile(
    r"Capture (target verify|target decode|draft decode|draft extend) \w+ graph (begin|end)\b"
    r"(?:.*?elapsed=([0-9.]+) s)?",
    re.IGNORECASE,
)
# Said by every scheduler of sglang at log level info, behind all captures: with it, no line of a
# capture means that there was none.
_TELLS_CAPTURES = re.compile(r"\bmax_total_num_tokens=\d+, .*\bmax_running_requests=\d+")
_ERROR = re.compile(
    rb"ERROR|CRITICAL|FATAL|Error\b|Exception\b|Traceback \(most recent|[Oo]ut of memory"
    rb"|[Ss]egmentation fault|core dumped"
)
# The lines that are looked at more closely: a log may be a flood.
_MATTERS = re.compile(
    rb"(?i:capture )|Decode batch|Prefill batch|max_total_num_tokens=|" + _ERROR.pattern
)
_TICK = re.compile(r"\bDecode batch\b[^,]*, (.*)")
_PREFILL_WHEN_IDLE = re.compile(r"\bPrefill batch\b.*#running-req: 0\b")
_UNIT = re.compile(r"\s*\([^)]*\)$")


@dataclass(frozen=True)
class Tick:
    """One decode line of the log: its fields by key, such as ``gen throughput`` (tok/s).

    Keys are those of the log, without a unit in brackets: releases differ in which they have.
    """

    line: int
    fields: dict[str, Field]

    def number(self, key: str) -> float | None:
        """The number of a field, None where there is none."""
        value = self.fields.get(key)
        return None if isinstance(value, bool | str) else value


class EngineLog:
    """The log of one start, read on as it grows; only what is worth keeping is kept of it.

    ``ticks`` leaves out the first decode line behind an idle time, which spans that time.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._offset = 0
        self._partial = b""
        self._open = True
        self._lines = 0
        self._first: list[tuple[int, bytes]] = []
        self._last: deque[tuple[int, bytes]] = deque(maxlen=_LAST)
        self._captures: list[tuple[int, bytes]] = []
        self._errors: list[tuple[int, bytes]] = []
        self._last_errors: deque[tuple[int, bytes]] = deque(maxlen=_ERRORS // 2)
        self._captured_s: dict[str, float | None] = {}
        self._tells_captures = False
        self._idle = True
        self._has_decode_lines = False
        self._ticks: deque[Tick] = deque(maxlen=_MOST_TICKS)

    def close(self) -> None:
        """Read what is there, once more, and no further."""
        if self._open:
            self._read_on()
            self._open = False

    def ticks(self, after_line: int = 0) -> list[Tick]:
        """The decode lines behind that line of the log."""
        self._read_on()
        return [tick for tick in self._ticks if tick.line > after_line]

    def has_decode_lines(self) -> bool:
        """Whether there is any decode line, also where ``ticks`` leaves it out."""
        self._read_on()
        return self._has_decode_lines

    def position(self) -> int:
        """How many lines there are now: what comes later is behind it."""
        self._read_on()
        return self._lines

    def last_line(self, redact: Callable[[str], str]) -> str:
        """The last line that says something, also one that has no end yet; as in ``excerpt``.

        Of a flood it may be one of a moment ago: this is asked while time counts.
        """
        self._read_on(most=_READ_AT_ONCE)
        shown = _recorded([_plain(self._partial)], redact) or _recorded(
            [_plain(raw) for _, raw in self._last], redact
        )
        return shown[-1] if shown else ""

    def tail(self, lines: int, redact: Callable[[str], str]) -> list[str]:
        """The last lines that say something; as in ``excerpt``."""
        self._read_on()
        last = [*(raw for _, raw in self._last), self._partial]
        return _recorded([_plain(raw) for raw in last], redact)[-lines:]

    def last_word(self, redact: Callable[[str], str]) -> str:
        """Of the last lines the last that tells of an error, else the last; as in ``excerpt``."""
        tail = self.tail(_LAST, redact)
        errors = [line for line in tail if _ERROR.search(line.encode()) is not None]
        return (errors or tail or [""])[-1]

    def graphs(self, *, speculates: bool, steps: int | None = None) -> dict[str, Captured]:
        """Which phases of a decode cycle were captured as graphs when the engine started.

        Without speculation there is ``decode`` alone; else ``verify``, ``draft decode`` (from two
        steps on: the first draft comes from the extend) and ``draft extend``. A phase without a
        line runs eager, where the log tells captures at all; nothing is known otherwise.
        """
        self._read_on()
        phases = {"decode": "target decode"}
        if speculates:
            phases = {"verify": "target verify", "draft extend": "draft extend"}
            if steps is None or steps > 1:
                phases["draft decode"] = "draft decode"
        found: dict[str, Captured] = {}
        for phase, said in phases.items():
            if said in self._captured_s:
                found[phase] = "captured"
            elif self._tells_captures:
                found[phase] = "eager"
        return found

    def capture_times_s(self) -> dict[str, float]:
        """How long each capture took, s, by its name in the log; of several ranks the last."""
        self._read_on()
        return {name: took for name, took in self._captured_s.items() if took is not None}

    def excerpt(self, redact: Callable[[str], str]) -> list[str]:
        """The first and the last lines, those of captures and of errors; gaps are told.

        ``redact`` takes out what must not be recorded, before a line is shortened.
        """
        self._read_on()
        kept = dict([*self._first, *self._captures, *self._errors, *self._last_errors, *self._last])
        kept[self._lines + 1] = self._partial
        shown: list[str] = []
        before = 0
        for number in sorted(kept):
            if number > before + 1:
                shown.append(f"[{number - before - 1} lines left out]")
            shown.append(_plain(kept[number]))
            before = number
        return _recorded(shown, redact)

    def _read_on(self, most: int | None = None) -> None:
        """Take in what has come since, as far as it reaches now: a flood may never end."""
        if not self._open:
            return
        end = os.fstat(self._descriptor).st_size
        if most is not None:
            end = min(end, self._offset + most)
        elif end - self._offset > _MOST_BEHIND:
            left_out = end - _READ_AT_ONCE - self._offset
            self._offset += left_out
            self._lines += 1
            self._last.append((self._lines, b"[%d bytes left out]" % left_out))
            self._captures.append(self._last[-1])
            self._partial = b""
        while self._offset < end:
            piece = os.pread(self._descriptor, min(_READ_AT_ONCE, end - self._offset), self._offset)
            if not piece:
                return
            self._offset += len(piece)
            *ended, rest = piece.split(b"\n")
            for one in ended:
                self._take(_bounded(self._partial + one if self._partial else one))
                self._partial = b""
            self._partial = _bounded(self._partial + rest)

    def _take(self, raw: bytes) -> None:
        self._lines += 1
        numbered = (self._lines, raw)
        if self._lines <= _FIRST:
            self._first.append(numbered)
        self._last.append(numbered)
        if _MATTERS.search(raw) is not None:
            self._read_line(numbered)

    def _read_line(self, numbered: tuple[int, bytes]) -> None:
        raw = numbered[1]
        text = _plain(raw)
        if (capture := _CAPTURE.search(text)) is not None:
            _add(self._captures, numbered, _CAPTURES)
            if capture[2].lower() == "end":
                took = capture[3]
                self._captured_s[capture[1].lower()] = None if took is None else float(took)
        elif (tick := _TICK.search(text)) is not None:
            if not self._idle:
                self._ticks.append(Tick(self._lines, _fields(tick[1])))
            self._idle = False
            self._has_decode_lines = True
        elif _PREFILL_WHEN_IDLE.search(text) is not None:
            self._idle = True
        elif _TELLS_CAPTURES.search(text) is not None:
            self._tells_captures = True
        elif _ERROR.search(raw) is not None:
            _add(self._errors, numbered, _ERRORS // 2)
            self._last_errors.append(numbered)


def _add(lines: list[tuple[int, bytes]], line: tuple[int, bytes], most: int) -> None:
    if len(lines) < most:
        lines.append(line)


def _fields(text: str) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for part in text.split(", "):
        key, sign, value = part.rpartition(": ")
        if sign:
            fields[_UNIT.sub("", key.strip())] = _value(value.strip())
    return fields


def _value(text: str) -> Field:
    if text in ("True", "False"):
        return text == "True"
    try:
        return float(text)
    except ValueError:
        return text


def _bounded(line: bytes) -> bytes:
    """The end of a line, marked where that is not all of it."""
    return line if len(line) <= _LONGEST_READ else _CUT + line[-_LONGEST_READ:]


def _plain(raw: bytes) -> str:
    """A line as text: what a progress bar shows last, without colours and control characters.

    Of a cut line the first word is left out: it may be the end of a key that nobody knows again.
    """
    if raw.startswith(_CUT):
        raw = b"[cut] " + raw.partition(b" ")[2]
    text = raw.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return "".join(char if char.isprintable() else " " for char in text).rstrip()


def _recorded(lines: list[str], redact: Callable[[str], str]) -> list[str]:
    # Together: a key may go over several lines.
    redacted = redact("\n".join(lines)).split("\n")
    return [_shortened(line) for line in redacted if line.strip()]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"
