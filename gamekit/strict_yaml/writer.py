"""Writes plain data as YAML that YAML 1.1 and 1.2 readers, and gamekit's own, read back equal."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from gamekit.errors import YamlError
from gamekit.strict_yaml.document import FieldPath, field_name
from gamekit.strict_yaml.judgement import judge, number_text
from gamekit.strict_yaml.limits import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, MIN_INTEGER

_WIDTH = 100
# YAML takes what stands before a colon for a key only within 1024 characters.
_MAX_KEY = 1000

# Characters that are escaped: controls, line and paragraph separators, what is invisible or turns
# the writing direction, and what is no character. Ranges rather than str.isprintable, which
# changes with the Unicode version of each Python.
_INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\xa0\\xad\u0600-\u0605\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff"
)
_ESCAPED = re.compile(f'["\\\\{_INVISIBLE}]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")

# Unquoted: words with single spaces between them, the first begins with a letter. A colon only
# inside a word and never before a space, no #, no brackets or braces. Latin, Greek, punctuation,
# arrows and mathematical signs beyond ASCII.
_BEYOND = "\xa1-\xac\xae-\u024f\u0370-\u03ff\u2010-\u2027\u2030-\u205e\u2070-\u22ff"
_IN_WORD = rf"(?:[A-Za-z0-9_./+()%=,;!?'\"&*@^~$<>{_BEYOND}-]|:(?=[A-Za-z0-9/]))"
_PLAIN = re.compile(rf"(?=[A-Za-z]){_IN_WORD}+(?: {_IN_WORD}+)*")
# What some reader or other takes for more than a text, in whatever casing.
_WORDS = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity")
)

# A block keeps every line as it is; spaces at the end of one would not survive an editor.
_BLOCK = re.compile(rf"(?! )[^{_INVISIBLE}]+(?:\n+[^{_INVISIBLE}]+)+\n?")


def write_yaml(data: Any, header: Sequence[str] = ()) -> str:
    """``data`` as YAML text: UTF-8, LF, 2 spaces, keys in their order, the same bytes every time.

    Each line of ``header`` becomes a comment at the top. Takes dicts with str keys, lists, tuples,
    str, int, float, bool, None and numpy scalars (written as the plain number they hold); a list of
    numbers is written in brackets, wrapped at 100 columns. Raises ``YamlError`` with the field for
    anything else: other types, NaN and infinity, integers beyond 64 bits, half surrogate pairs.
    """
    comments = [_comment(line) for line in header]
    body = _lines(data, (), 0)
    text = "\n".join([*comments, *body]) + "\n"
    if len(text.encode("utf-8")) > MAX_BYTES:
        raise YamlError(
            f"the document is larger than {MAX_BYTES // 1024**2} MiB",
            mend="split it into several files",
        )
    return text


def _comment(line: str) -> str:
    if re.search(f"[{_INVISIBLE}]", line):
        raise YamlError("a header line holds a line break or control character", mend="split it")
    return f"# {line}".rstrip()


def _lines(value: Any, path: FieldPath, indent: int) -> Iterator[str]:
    """The lines of a value that starts a line at ``indent`` spaces."""
    plain = _plain_data(value, path)
    pad = " " * indent
    if isinstance(plain, dict) and plain:
        _check_depth(path)
        for key, item in plain.items():
            yield from _entry(f"{pad}{_key(key, path)}:", item, (*path, str(key)), indent + 2)
    elif isinstance(plain, list) and plain and not _all_numbers(plain):
        _check_depth(path)
        for index, item in enumerate(plain):
            yield from _item(item, (*path, index), indent)
    else:
        first, *more = _inline(plain, path, indent, indent + 2)
        yield pad + first
        yield from more


def _entry(start: str, value: Any, path: FieldPath, indent: int) -> Iterator[str]:
    """A key (``start``, with its colon) and its value, which stands below it at ``indent``."""
    plain = _plain_data(value, path)
    if isinstance(plain, dict | list) and plain and not _all_numbers(plain):
        yield start
        yield from _lines(plain, path, indent)
    else:
        first, *more = _inline(plain, path, len(start) + 1, indent)
        yield f"{start} {first}"
        yield from more


def _item(value: Any, path: FieldPath, indent: int) -> Iterator[str]:
    """An item of a list, its first line behind the dash."""
    first, *more = _lines(value, path, indent + 2)
    yield f"{' ' * indent}- {first[indent + 2 :]}"
    yield from more


def _inline(value: Any, path: FieldPath, column: int, indent: int) -> list[str]:
    """What begins behind a key or dash in ``column``; further lines stand at ``indent``."""
    match value:
        case dict():
            _check_depth(path)
            return ["{}"]
        case list():
            _check_depth(path)
            return _numbers(value, path, column, indent)
        case str():
            return _string(value, path, indent)
    return [_scalar(value, path)]


def _numbers(values: list[Any], path: FieldPath, column: int, indent: int) -> list[str]:
    texts = [_scalar(_plain_data(one, (*path, i)), (*path, i)) for i, one in enumerate(values)]
    lines, row = [], "["
    for number, text in enumerate(texts):
        piece = text + ("," if number < len(texts) - 1 else "]")
        if row != "[" and column + len(row) + 1 + len(piece) > _WIDTH:
            lines.append(row)
            row, column = " " * indent + piece, 0
        else:
            row += piece if row == "[" else f" {piece}"
    return [*lines, row if texts else "[]"]


def _scalar(value: Any, path: FieldPath) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                _refuse(path, "an integer beyond 64 bits", "write it as a float or a text")
            return str(value)
    if not math.isfinite(value):
        what = "NaN" if math.isnan(value) else "infinity"
        _refuse(
            path,
            f"{what} is not a number that can be measured",
            "leave the figure out and say why it is unknown",
        )
    return number_text(value)


def _key(key: Any, path: FieldPath) -> str:
    if not isinstance(key, str):
        _refuse(path, f"a key of type {type(key).__name__}", "make every key a str")
    text = _one_line(str.__str__(key), (*path, key))
    if len(text) > _MAX_KEY:
        _refuse((*path, key), f"a key of more than {_MAX_KEY} characters", "shorten it")
    return text


def _string(text: str, path: FieldPath, indent: int) -> list[str]:
    rows = text.removesuffix("\n").split("\n")
    if path and _BLOCK.fullmatch(text) and not any(row.endswith(" ") for row in rows):
        pad = " " * indent
        return [
            "|" if text.endswith("\n") else "|-",
            *(f"{pad}{row}" if row else "" for row in rows),
        ]
    return [_one_line(text, path)]


def _one_line(text: str, path: FieldPath) -> str:
    if _SURROGATE.search(text):
        _refuse(path, "half of a surrogate pair, which UTF-8 cannot hold", "repair the text")
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and judge(text) == text:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _all_numbers(value: dict[Any, Any] | list[Any]) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool)
        for one in map(_without_numpy, value)
    )


def _without_numpy(value: Any) -> Any:
    """The Python number or text that a numpy scalar holds; anything else as it is."""
    numpy = sys.modules.get("numpy")  # who has not imported numpy has no numpy scalars
    if numpy is None or not isinstance(value, numpy.generic):
        return value
    for kind, plain in (
        (numpy.bool_, bool),
        (numpy.integer, int),
        (numpy.floating, float),
        (numpy.str_, str),
    ):
        if isinstance(value, kind):
            return plain(value)
    return value


def _plain_data(value: Any, path: FieldPath) -> Any:
    """The value as exactly one of the types that are written. Refuses every other type."""
    plain = _without_numpy(value)
    match plain:
        case None | bool() | dict() | list():
            return plain
        case tuple():
            return list(plain)
        case str():
            return str.__str__(plain)
        case int():
            return int(plain)
        case float():
            return float(plain)
    return _refuse(
        path, f"a value of type {type(value).__name__}", "give plain numbers, texts, lists, dicts"
    )


def _check_depth(path: FieldPath) -> None:
    if len(path) >= MAX_DEPTH:
        _refuse((), f"nested more than {MAX_DEPTH} levels deep", "make the structure flatter")


def _refuse(path: FieldPath, what: str, mend: str) -> NoReturn:
    raise YamlError(f"{field_name(path)}: {what} cannot be written", mend=mend)
