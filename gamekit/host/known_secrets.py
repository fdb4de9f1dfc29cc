"""Finds the secrets that a command holds, and takes known ones out of texts however written."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gamekit.host.named_secrets import named_secrets
from gamekit.host.secret_names import is_secret_name

# A shorter one is hidden by its name alone: as a value it would be found everywhere.
_SHORTEST = 3
# One from here on is searched for anywhere in a text, a shorter one where it stands as a value.
_SHORTEST_ANYWHERE = 6
# The beginning or end of a longer one gives it away from here on.
_SHORTEST_PIECE = 8
# A longer one, such as a file in a variable, is looked for as it is alone.
_LONGEST_ODD = 10_000
_NO_SECRETS = frozenset({"none", "null", "true", "false", "yes", "off"})
_HEADER = re.compile(r"\s*([A-Za-z][A-Za-z0-9_\-]*)\s*:\s*(\S.*)", re.DOTALL)
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey)\s+(\S.*)", re.DOTALL)
# Where a value stands: behind a sign, a quote or a flag.
_BEFORE_VALUE = (
    r"""["'=]\s*+|\b(?:bearer|key|token|secret|password)(?:\s++is)?\s++"""
    r"""|(?<![\w\-])--?[a-z][\w\-]*+\s++"""
)
_BEHIND_VALUE = r"(?![\w\-]|[./:@]\w)"
# Behind "INFO: " stands a sentence, behind "key: " a value and no more.
_BEFORE_LAST, _BEHIND_LAST = r":\s*+", r"""(?=\s*+(?:[,;)}\]"']|\n|\Z))"""
_CUT_AFTER = re.compile(r"\.\.|…|\*|<")
_CUT_BEFORE = re.compile(r"(?:\.\.|…|\*|>)\Z")
# What no path and no word of a language is likely to be.
_RANDOM = re.compile(r"\d|[a-z][A-Z]")


def worth_knowing(secrets: Iterable[str]) -> frozenset[str]:
    """Those of ``secrets`` that can be searched for: neither short ones nor ``none``."""
    return frozenset(
        one for one in secrets if len(one) >= _SHORTEST and one.lower() not in _NO_SECRETS
    )


def secrets_of(words: Sequence[str]) -> Iterator[str]:
    """What stands behind secret names in the words of a command.

    That is a flag, ``NAME=value``, a header, JSON or a literal of Python, or the command of a shell
    in one word; each also within another.
    """
    before = ""
    for word in words:
        name, sign, value = word.partition("=")
        if before.startswith("-") and "=" not in before and is_secret_name(before):
            yield from _forms(word)
        elif sign and len(name.split()) == 1 and is_secret_name(name):
            yield from _forms(value)
        header = _HEADER.fullmatch(word)
        if header is not None and is_secret_name(header[1]):
            yield from _forms(header[2])
        for text in (word, value):
            if text.lstrip().startswith(("{", "[")):
                yield from _in_braces(text)
        if len(within := _split(word)) > 1:
            yield from secrets_of(within)
        before = word


def _in_data(data: Any, name: str = "") -> Iterator[str]:
    """The secrets in what was read."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _in_data(value, str(key) if is_secret_name(str(key)) else name)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _in_data(value, name)
    elif name and data is not None and not isinstance(data, bool):
        yield from _forms(str(data))
    elif isinstance(data, str):
        yield from secrets_of([data])


def _forms(value: str) -> Iterator[str]:
    """A value, and of ``Bearer K`` the K as well."""
    yield value
    if found := _SCHEME.fullmatch(value):
        yield found[1].strip()


def _in_braces(text: str) -> Iterator[str]:
    """The secrets in JSON, in a literal of Python, or in what is nearly one of these."""
    for read in (json.loads, ast.literal_eval):
        try:
            data = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        yield from _in_data(data)
        return
    for begin, end in named_secrets(text):
        yield from _forms(text[begin:end].rstrip(",)}]").strip("\"'"))


def _split(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()


class KnownSecrets:
    """Takes secrets out of texts; the time is linear in the length of the text.

    However each is written: as it is, with what Python, JSON, a shell or a URL puts before or in
    place of its quotes and other signs, and cut short. One of fewer than six characters is taken
    out where it stands as a value: whole, behind a sign, a quote, a flag or a word for it.
    """

    def __init__(self, secrets: Iterable[str], hidden: str) -> None:
        self._hidden = hidden
        writable = {one.encode("utf-8", "replace").decode() for one in secrets}
        ordered = sorted(writable, key=lambda one: (-len(one), one))
        self._anywhere = [
            (one, re.compile(_written(one)) if _is_odd(one) else None)
            for one in ordered
            if len(one) >= _SHORTEST_ANYWHERE
        ]
        self._short = [one for one in ordered if len(one) < _SHORTEST_ANYWHERE]
        short = "|".join(map(_written, self._short))
        self._as_value = re.compile(
            rf"((?i:{_BEFORE_VALUE}))(?:{short}){_BEHIND_VALUE}"
            rf"|({_BEFORE_LAST})(?:{short}){_BEHIND_LAST}"
        )

    def without(self, text: str) -> str:
        """``text`` with the mark in place of each secret."""
        for secret, pattern in self._anywhere:
            if pattern is None:
                text = text.replace(secret, self._hidden)
            else:
                text = pattern.sub(self._hidden, text)
        for secret, _ in self._anywhere:
            if len(secret) > _SHORTEST_PIECE:
                text = self._without_pieces(text, secret)
        if text in self._short:
            return self._hidden
        if self._short:
            text = self._as_value.sub(lambda at: (at[1] or at[2]) + self._hidden, text)
        return text

    def _without_pieces(self, text: str, secret: str) -> str:
        """``text`` without beginnings and ends of ``secret`` that are words of their own."""
        kept: list[str] = []
        done = at = 0
        beginning = secret[:_SHORTEST_PIECE]
        while (at := text.find(beginning, at)) >= 0:
            end = at + _in_common(text[at : at + len(secret)], secret)
            if self._is_piece(text, at, end, secret, _CUT_AFTER.match(text, end) is not None):
                kept += [text[done:at], self._hidden]
                done = end
            at = end
        text = "".join([*kept, text[done:]])
        kept, done, at = [], 0, 0
        ending, backwards = secret[-_SHORTEST_PIECE:], secret[::-1]
        while (at := text.find(ending, at)) >= 0:
            end = at + _SHORTEST_PIECE
            before = text[max(done, end - len(secret)) : end][::-1]
            begin = end - _in_common(before, backwards)
            cut = _CUT_BEFORE.search(text[max(0, begin - 2) : begin]) is not None
            if self._is_piece(text, begin, end, secret, cut):
                kept += [text[done:begin], self._hidden]
                done = end
            at = end
        return "".join([*kept, text[done:]])

    @staticmethod
    def _is_piece(text: str, begin: int, end: int, secret: str, cut: bool) -> bool:
        """Whether it stands alone, and is marked as cut or like nothing that one writes."""
        alone = not text[max(0, begin - 1) : begin].isalnum() and not text[end : end + 1].isalnum()
        path = secret.startswith(("/", "~", "."))
        return alone and (cut or (not path and _RANDOM.search(text[begin:end]) is not None))


def _in_common(text: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))


def _is_odd(secret: str) -> bool:
    """Whether it can be written in several ways, and is short enough to look for all of them."""
    return len(secret) <= _LONGEST_ODD and not (secret.isalnum() and secret.isascii())


def _written(secret: str) -> str:
    """A pattern of ``secret`` with backslashes before its signs, however many, or escapes."""
    parts: list[str] = []
    escaped = False  # whether the backslashes before a sign are matched already
    for number, run in enumerate(re.findall(r"\\+|[^\\]", secret)):
        if run[0] == "\\":
            parts.append((r"(?<!\\)" if number == 0 else "") + r"(?:\\++|(?i:%5c)+)")
        elif run.isascii() and run.isalnum():
            parts.append(run)
        else:
            before = "" if escaped or number == 0 else r"\\*+"
            escapes = "|".join(_escapes(run, r"\\*+" if escaped else r"\\++"))
            parts.append(f"(?:(?i:{escapes})|{before}{re.escape(run)})")
        escaped = run[0] == "\\"
    return "".join(parts)


def _escapes(char: str, slashes: str) -> Iterator[str]:
    """How a URL, JSON, Python and a shell write a character otherwise than as itself."""
    yield "".join(f"%{byte:02x}" for byte in char.encode())
    wide = char.encode("utf-16-be").hex()
    yield "".join(f"{slashes}u{wide[at : at + 4]}" for at in range(0, len(wide), 4))
    yield slashes + re.escape(char.encode("unicode_escape").decode().lstrip("\\"))
    if char == "'":
        yield from (re.escape("'\"'\"'"), re.escape("'\\''"))
    if char == " ":
        yield re.escape("+")
