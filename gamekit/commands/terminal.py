"""What commands print: text that cannot drive a terminal, aligned tables, colour where it shows."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import click

Tone = Literal["good", "bad", "dim", "strong"]
_STYLES: dict[Tone, dict[str, str | bool]] = {
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "dim": {"dim": True},
    "strong": {"bold": True},
}


def literal(text: str) -> str:
    """``text`` with every character that is not printable written as an escape; newlines stay.

    Escape sequences, carriage returns and bidirectional overrides in a finding, or in what an
    engine answered, are shown and not obeyed.
    """
    return "".join(
        char
        if char.isprintable() or char == "\n"
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def say(text: str = "", tone: Tone | None = None) -> None:
    """Print ``text`` literally, coloured by ``tone`` when stdout is a terminal that wants it."""
    shown = literal(text)
    if tone is not None and _colours():
        shown = click.style(shown, **_STYLES[tone])  # type: ignore[arg-type]
    click.echo(shown, color=True)


def paragraph(text: str, indent: str = "") -> None:
    """Print ``text`` wrapped to the terminal, or to 88 columns where there is none."""
    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    for part in text.splitlines():
        wrapped = textwrap.wrap(
            part,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        say("\n".join(wrapped))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headings: fitted to a terminal by rich, plainly aligned elsewhere.

    Outside a terminal nothing is wrapped or cut, so that lines can be searched.
    """
    shown = [[literal(cell).replace("\n", " ") for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(headings, shown)
        return
    lines = [list(headings), *shown]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _rich_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    fitted = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        fitted.add_column(heading, overflow="fold")
    for row in rows:
        fitted.add_row(*(Text(cell) for cell in row))  # Text: no markup in a finding is obeyed
    Console().print(fitted)


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_json(value: Any) -> None:
    """Print ``value`` as indented JSON in plain ASCII, which no terminal obeys or lacks."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


class ProgressLine:
    """One line on stderr that says how far a command is; only where stderr is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Show ``text`` in place of what was shown before."""
        if self._shown:
            width = shutil.get_terminal_size((88, 24)).columns - 1
            click.echo(f"\r\x1b[K{literal(text)[:width]}", nl=False, err=True)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self("")
