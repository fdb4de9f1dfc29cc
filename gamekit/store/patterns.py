"""What the pattern of a text asks of it, in words: for errors that say how to mend it."""

from __future__ import annotations

from gamekit.findings.base import (
    DATE_PATTERN,
    ID_PATTERN,
    LINE_PATTERN,
    MESSAGES_PATTERN,
    TEXT_PATTERN,
)

PLAN_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*\.md$"

# By pattern, what a text is that does not match it, and how to mend it.
_IN_WORDS = {
    ID_PATTERN: (
        "is no id",
        "write small letters, digits, '.', '_' and '-', at most 120, the first a letter or digit",
    ),
    LINE_PATTERN: ("is blank or not one line", "write one line of text"),
    TEXT_PATTERN: ("is blank", "write the text, or leave the field out"),
    DATE_PATTERN: ("is no date", 'write it as "2026-11-29"'),
    MESSAGES_PATTERN: (
        "is no message number",
        'write a number of at most 9 digits, or two: "4930" or "4912-4931"',
    ),
    PLAN_PATTERN: (
        "is no file name of a plan",
        "write a name without folders that ends in .md, such as plan.md",
    ),
}


def in_words(pattern: str) -> tuple[str, str]:
    """What is wrong with a text that does not match ``pattern``, and how to mend it."""
    return _IN_WORDS.get(pattern, ("does not have the form it must have", f"match {pattern}"))
