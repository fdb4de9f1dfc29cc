"""A file that somebody else wrote: its bytes, and what it is as text, JSON or lines of JSON."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gamekit.errors import UsageFault
from gamekit.host.redact import Redactor

# A server's log of days; results are far smaller.
LARGEST = 64 << 20
_GIANT = re.compile(r'(?:"([^"\n]{1,80})"[ \t]{0,9}:[ \t]{0,9})?(?<!\d)-?(?<!\d)\d{4301}')
LARGEST_SHOWN = 10**100


@dataclass(frozen=True)
class Given:
    """A file as it was read; ``redactor`` knows what of it is neither printed nor recorded."""

    path: Path
    raw: bytes
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def name(self) -> str:
        """The file's name without its folder, as it may be recorded."""
        return self.redactor.text(self.path.name)

    @cached_property
    def sha256(self) -> str:
        """The digest of its bytes, by which it is known again."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def text(self) -> str:
        """The file as UTF-8. Raises ``UsageFault`` with the line of the first byte that is none."""
        try:
            return self.raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.raw.count(b"\n", 0, error.start) + 1
            raise self.fault(
                line, "it is not UTF-8", "import the file as its tool wrote it"
            ) from None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Its lines as editors count them: a line separator within a text of JSON ends none."""
        return tuple(line.removesuffix("\r") for line in self.text.split("\n"))

    @cached_property
    def whole(self) -> Fields | None:
        """The file as one JSON object; None where it is none.

        Raises ``UsageFault`` for a key that an object has twice.
        """
        data = self._parsed(self.text, None)
        return Fields(self, 1, data) if isinstance(data, dict) else None

    @cached_property
    def objects(self) -> tuple[Fields, ...]:
        """Its lines as JSON objects, empty ones left out; none where the first is no such line.

        Raises ``UsageFault`` for a later line that is none: the file was cut, or two were mixed;
        and for a key that an object has twice.
        """
        found: list[Fields] = []
        for number, line in enumerate(self.lines, start=1):
            if not line.strip():
                continue
            data = self._parsed(line, number)
            if not isinstance(data, dict):
                if not found:
                    return ()
                raise self.fault(
                    number, "it is no JSON object, unlike the lines before", "take it out"
                )
            found.append(Fields(self, number, data))
        return tuple(found)

    def fault(self, line: int, what: str, mend: str) -> UsageFault:
        """The failure of a line of this file, to be raised."""
        return UsageFault(self.redactor.text(what), file=self.path, line=line, mend=mend)

    @cached_property
    def broken(self) -> tuple[int, str] | None:
        """Where and why it stops being JSON, though it begins as an object; None otherwise.

        A file of lines that each hold an object is told of by ``objects``.
        """
        if self.whole is not None or self.objects or not self.text.lstrip().startswith("{"):
            return None
        try:
            json.loads(self.text)
        except json.JSONDecodeError as error:
            # What misses at the end of a file misses behind its last text.
            return min(error.lineno, self.text.rstrip().count("\n") + 1), error.msg
        except RecursionError:
            return None
        return None

    def require_end(self, line: int) -> None:
        """Raise ``UsageFault`` for the last line where it has no end: its number may be cut."""
        if line == len(self.lines):
            raise self.fault(
                line,
                "it has no end: a number of it may be cut",
                "import the whole file; where it is whole, end its last line",
            )

    def _parsed(self, text: str, line: int | None) -> Any:
        """``text`` as JSON, also with Infinity and NaN, which these tools write; else None.

        ``line`` is where it stands, None for the whole file: its first line is told then.
        """
        twice: list[str] = []

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            data = dict(pairs)
            if len(data) < len(pairs):
                seen = Counter(name for name, _ in pairs)
                twice.extend(name for name, times in seen.items() if times > 1)
            return data

        try:
            data = json.loads(text, object_pairs_hook=once)
        except (json.JSONDecodeError, RecursionError):
            return None
        except ValueError:  # Python refuses to read thousands of digits
            if not text.lstrip().startswith("{"):
                return None
            raise self._giant(text, line) from None
        if twice:  # only now: what is no JSON at all is for other formats
            raise self.fault(
                self._line_of(twice[0]) if line is None else line,
                f"key {self.shown(twice[0])} is there twice in one object",
                "keep the one that the tool wrote",
            )
        return data

    def _giant(self, text: str, line: int | None) -> UsageFault:
        giant = _GIANT.search(text)
        name = giant and giant[1] and f"{self.shown(giant[1])} "
        at = text.count("\n", 0, giant.start()) + 1 if giant else 1
        return self.fault(
            at if line is None else line,
            f"{name or 'a number '}is no figure: it has thousands of digits",
            "the tool wrote no result there",
        )

    def _line_of(self, key: str) -> int:
        """The last line that holds ``key``, as files with a line for each key have it; else 1."""
        written = json.dumps(key), json.dumps(key, ensure_ascii=False)
        holding = (
            at for at, line in enumerate(self.lines, start=1) if line.strip().startswith(written)
        )
        return max(holding, default=1)

    def shown(self, value: object) -> str:
        """A value of the file as a failure shows it: redacted, then shortened."""
        if isinstance(value, int) and abs(value) > LARGEST_SHOWN:  # str refuses thousands of digits
            return "a giant number"
        shown = str(value) if isinstance(value, str | int | float) else type(value).__name__
        shown = self.redactor.text(shown)
        return shown if len(shown) <= 40 else f"{shown[:40]}…"


def read(path: Path, redactor: Redactor) -> Given:
    """Read the file. Raises ``UsageFault`` when it is missing, empty, no file or giant."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UsageFault("it is no file", file=path, mend="name the file that the tool wrote")
        if size > LARGEST:
            raise UsageFault(
                f"it has {size >> 20} MiB, more than {LARGEST >> 20}",
                file=path,
                mend="import the part that matters",
            )
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UsageFault("there is no such file", file=path, mend="name one") from None
    if not raw.strip():
        raise UsageFault("it is empty", file=path, line=1, mend="name the file that the tool wrote")
    return Given(path, raw, redactor)


@dataclass(frozen=True)
class Fields:
    """One JSON object of a file, whose fields are taken by name and type.

    Each method returns None for a field that is missing or null, and raises ``UsageFault`` with
    file, line and field for one of another type.
    """

    given: Given
    line: int
    data: Mapping[str, Any]
    inside: str = ""

    def number(self, name: str) -> float | None:
        """A number that is finite and not negative."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "no number")
        if not abs(value) <= 1e100:  # nor is NaN
            raise self.wrong(name, "no figure")
        if value < 0:
            raise self.wrong(name, "negative")
        return value

    def count(self, name: str) -> int | None:
        """A whole number."""
        value = self.number(name)
        if value is not None and value != int(value):
            raise self.wrong(name, "no whole number")
        return None if value is None else int(value)

    def text(self, name: str) -> str | None:
        """A text of one line, as UTF-8 can hold it and of any length; an empty one is none."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "no text")
        return " ".join(value.encode("utf-8", "replace").decode().split()) or None

    def inner(self, name: str) -> Fields:
        """An object; one that is missing is empty."""
        value = self.data.get(name)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.wrong(name, "no object")
        return Fields(self.given, self.line, value, f"{self.inside}{name}.")

    def each(self, name: str) -> list[Fields]:
        """The objects of a list."""
        values = self.data.get(name)
        if values is None:
            return []
        if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
            raise self.wrong(name, "no list of objects")
        return [
            Fields(self.given, self.line, one, f"{self.inside}{name}[{number}].")
            for number, one in enumerate(values)
        ]

    def numbers(self, name: str) -> list[float]:
        """The numbers of a list, each as by ``number``."""
        values = self.data.get(name)
        if values is None:
            return []
        if not isinstance(values, list):
            raise self.wrong(name, "no list")
        row = Fields(self.given, self.line, {str(at): one for at, one in enumerate(values)})
        found = [row.number(str(at)) for at in range(len(values))]
        if None in found:
            raise self.wrong(name, "no list of numbers")
        return [one for one in found if one is not None]

    def wrong(self, name: str, what: str) -> UsageFault:
        """The failure of a field, to be raised; its value is shown shortened."""
        return self.given.fault(
            self.line,
            f"{self.inside}{name} is {what}: {self.given.shown(self.data.get(name))}",
            "the tool wrote no result there",
        )

    def missing(self, name: str) -> UsageFault:
        """The failure of a field that has to be there, to be raised."""
        return self.given.fault(
            self.line, f"{self.inside}{name} is missing", "import the file as its tool wrote it"
        )


def is_infinite(value: Any) -> bool:
    """Whether a rate is without limit, as tools write it."""
    return value in ("inf", "Infinity") or (isinstance(value, float) and math.isinf(value))
