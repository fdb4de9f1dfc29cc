"""Numbers as a user types them: in ASCII digits alone, without what Python's own source allows."""

from __future__ import annotations


def whole_number(text: str) -> int:
    """The whole number that ``text`` is; raises ``ValueError`` for any other, as ``int`` does.

    ``int`` itself takes 1_7 for 17, and the digits of every script.
    """
    return int(_plain(text))


def any_number(text: str) -> float:
    """The number that ``text`` is, also inf and nan; raises ``ValueError`` as ``float`` does."""
    return float(_plain(text))


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r:.100} is not written in digits alone")
    return text
