"""Reads what the kernel tells in files, and makes one line of it."""

from __future__ import annotations

from pathlib import Path


def read(path: Path | str) -> str | None:
    """The text of a file; None where there is none, or it may not be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def one_line(text: str | None, longest: int = 200) -> str | None:
    """A text as a field of one line has it, or None where nothing is left.

    What does not print, such as an escape sequence in the answer of a program, becomes a space.
    """
    printed = "".join(char if char.isprintable() else " " for char in text or "")
    return " ".join(printed.split())[:longest].rstrip() or None
