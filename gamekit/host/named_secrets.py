"""Finds in a text what stands behind the names of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gamekit.host.secret_names import is_secret_name

# A name, and what stands between it and its value: a sign, and behind a flag a space or, in a list,
# a comma. Each begins only where such a run of characters begins, and takes the run whole: tried
# from every character of a long line, it would take minutes. The value is looked at behind a secret
# name alone: that of another may be JSON or a command, with names of its own.
_NAME = re.compile(
    r"""(?<![A-Za-z0-9_.\-])(?P<name>(?P<flag>--?(?=[A-Za-z]))?[A-Za-z0-9_.\-]++)"""
    r"""(?P<sign>\\{0,7}["']?(?:(?(flag)|\s*+)(?:=\s*+|:\s++)|:(?![/:]|\s))"""
    r"""|(?P<space>\\{0,7}["']\s*+,\s*+(?=\\{0,7}["'])|(?:\\?\s)++))"""
)
_NEXT_FLAG = ("--", '"--', "'--")
# "#new-token: 42," in the log of an engine counts tokens.
_COUNT = re.compile(r"\d+,?")
# A value within quotes, or in brackets, may have lines. Where quotes are escaped, the same escape
# ends it.
_QUOTED = re.compile(r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\[[^\[\]]*+\])""", re.DOTALL)
_ESCAPED_QUOTE = re.compile(r"""\\{1,7}["']""")
_ENDS = re.compile(r"[,)}\]\s]|\Z")
# As far as a shell word or a part of a query reaches, rather too far than too short.
_WORD = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|\\[ \t]|[^\s&])*+""")


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where each value begins and ends that stands behind the name of a secret.

    The time is linear in the length of the text.
    """
    at = 0
    while (found := _NAME.search(text, at)) is not None:
        name, at = found["name"], found.end()
        if found["space"] and (not found["flag"] or text.startswith(_NEXT_FLAG, at)):
            continue
        if not is_secret_name(name):
            continue
        end = _end_of_value(text, at)
        counts = text[found.start() - 1 : found.start()] == "#" and _COUNT.fullmatch(text, at, end)
        if not counts and end > at:
            yield at, end
            at = end


def _end_of_value(text: str, begin: int) -> int:
    """Where the value ends that begins there."""
    end = begin
    if quoted := _QUOTED.match(text, begin):
        end = quoted.end()
    elif escaped := _ESCAPED_QUOTE.match(text, begin):
        closing = text.find(escaped[0], escaped.end())
        end = begin if closing < 0 else closing + len(escaped[0])
    if end > begin and _ENDS.match(text, end):
        return end
    word = _WORD.match(text, end)
    return end if word is None else word.end()
