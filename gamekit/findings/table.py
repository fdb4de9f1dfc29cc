"""Raw samples as text: a line of names, then one of comma-separated cells a row (RFC 4180).

A load of 200 streams gives tens of thousands of rows; as YAML lists each cell would be a line, and
reading them back would take seconds a file.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence

Scalar = str | int | float | bool | None

# Longer ones are no 64-bit integers; as floats they keep their size.
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CONTROL = re.compile(r"[\x00-\x1f]")
_WORDS = {"": None, "true": True, "false": False}


def table_text(columns: Mapping[str, Sequence[Scalar]]) -> str:
    """Columns of equal length as text, which ``table_columns`` reads back equal.

    An empty cell is null. Numbers, ``true`` and ``false`` stand bare; a text that could be taken
    for one of them, begins with a quotation mark or has a line break or tab is a JSON string. Names
    have one line.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_cell, row) for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def table_columns(text: str) -> dict[str, list[Scalar]]:
    """The columns of a table as ``table_text`` writes it, or as somebody typed it.

    Raises ``ValueError`` for a name that stands there twice, a row of more or fewer cells than
    there are names, and a cell that cannot be read.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = next(rows, [])
        if len(set(names)) < len(names):
            raise ValueError("a column name stands there twice")
        columns: list[list[Scalar]] = [[] for _ in names]
        # Most cells are empty or recur, and telling what one is takes longer than to look it up.
        known: dict[str, Scalar] = {"": None}
        for number, row in enumerate(rows, start=1):
            if len(row) != len(names):
                raise ValueError(f"row {number} has {len(row)} cells, and {len(names)} are named")
            for column, cell in zip(columns, row, strict=True):
                if cell not in known:
                    known[cell] = _scalar(cell, number)
                column.append(known[cell])
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num} is no row of a table: {error}") from None
    return dict(zip(names, columns, strict=True))


def _cell(value: Scalar) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
    bare = not value.startswith('"') and _plain(value) == value and not _CONTROL.search(value)
    return value if bare else json.dumps(value)


def _plain(cell: str) -> Scalar:
    """What a cell without quotation marks of its own stands for."""
    if cell in _WORDS:
        return _WORDS[cell]
    if _INTEGER.fullmatch(cell):
        return int(cell)
    return float(cell) if _FLOAT.fullmatch(cell) else cell


def _scalar(cell: str, row: int) -> Scalar:
    if not cell.startswith('"'):
        value = _plain(cell)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"row {row}: {cell} is larger than any figure")
        return value
    try:
        text = json.loads(cell)
    except ValueError:
        text = None
    if not isinstance(text, str):
        raise ValueError(f"row {row}: {cell[:40]} is no text in quotation marks")
    return text
