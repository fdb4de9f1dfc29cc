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
# Of a table on a terminal: what stands between columns and at the edges, and what a column of
# several words should have, so that it does not become a ladder of single words.
_GAP, _EDGES, _LEGIBLE = 3, 2, 16
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


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], dropped: Sequence[str] = ()
) -> None:
    """Print rows under headings: fitted to a terminal by rich, plainly aligned elsewhere.

    On a terminal cells are wrapped between words; where even that does not fit, the columns
    ``dropped`` are left out, in that order. Elsewhere a row is one line, and nothing is wrapped,
    cut or left out, so that lines can be searched.
    """
    shown = [[literal(cell).replace("\n", " ") for cell in row] for row in rows]
    if sys.stdout.isatty():
        _fitted_table(*_fitting(headings, shown, dropped))
        return
    lines = [list(headings), *shown]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _fitting(
    headings: Sequence[str], rows: Sequence[Sequence[str]], dropped: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """The columns that fit the terminal without a word being broken, as far as that can be."""
    kept = list(range(len(headings)))
    for name in dropped:
        columns = [[headings[at], *(row[at] for row in rows)] for at in kept]
        wanted = [max(_longest_word(one), min(max(map(len, one)), _LEGIBLE)) for one in columns]
        if _width(wanted) <= _columns():
            break
        kept.remove(headings.index(name))
    return [headings[at] for at in kept], [[row[at] for at in kept] for row in rows]


def _longest_word(cells: Iterable[str]) -> int:
    return max(len(word) for text in cells for word in (text.split() or [""]))


def _width(columns: Sequence[int]) -> int:
    return sum(columns) + _GAP * (len(columns) - 1) + _EDGES


def _columns() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _fitted_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    columns = [[heading, *(row[at] for row in rows)] for at, heading in enumerate(headings)]
    widths = [_longest_word(column) for column in columns]
    if _width(widths) > _columns():
        # No column can keep its words beside the others: the rest of a row goes below its id.
        for first, *others in rows:
            say(first)
            paragraph("; ".join(filter(None, others)), "  ")
        return
    missing = [max(map(len, column)) - width for column, width in zip(columns, widths, strict=True)]
    for _ in range(min(sum(missing), _columns() - _width(widths))):
        neediest = missing.index(max(missing))
        widths[neediest] += 1
        missing[neediest] -= 1

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    fitted = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, width in zip(headings, widths, strict=True):
        fitted.add_column(heading, overflow="fold", width=width)
    for row in rows:
        fitted.add_row(*(Text(cell) for cell in row))  # Text: no markup in a finding is obeyed
    Console().print(fitted)


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_json(value: Any) -> None:
    """Print ``value`` as indented JSON in plain ASCII, which no terminal obeys or lacks."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


class ProgressLine:
    """Says on stderr how far a command is: on a terminal in one line that changes.

    Elsewhere each part of the work is one line when it begins, unless ``quiet``.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = sys.stderr.isatty()
        self._quiet = quiet

    def begins(self, text: str) -> None:
        """Say that a part of the work begins."""
        if self._shown:
            self(text)
        elif not self._quiet:
            click.echo(literal(text), err=True)

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
