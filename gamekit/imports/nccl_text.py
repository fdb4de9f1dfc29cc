"""Reads what nccl-tests prints: its columns by their headings, which differ between releases."""

from __future__ import annotations

import re

from gamekit.imports.figures import Taken
from gamekit.imports.given import Given
from gamekit.imports.nccl_rows import NAME, Row, Test, figures, version

_HEADING = re.compile(r"^#\s+size\s+count\s+type\b.*\bbusbw\b", re.MULTILINE)
_DEVICE = re.compile(r"^#\s+Rank\s+\d+ .*\bdevice\s+\d+ \[[0-9a-fA-Fx:.]+\] (.+)$")
_PROGRAM = re.compile(r"^# Collective test starting: (\S+)")
_GRAPH = re.compile(r"^# nThread .*\bgraph: (\d{1,9})\b")
_VERSION = re.compile(r"^# nccl-tests version (\S+) .*\bnccl-library=(\d{4,6})\b")
_OWN_VERSION = re.compile(r"^# nccl-tests version (\S+)", re.MULTILINE)
_ROW = re.compile(r"^\s*\d+\s+\d+\s+\w+\s")
# What a run prints once, above its rows; which of them there are differs between releases.
_ONCE = ("# nccl-tests version ", "# Collective test starting:", "# nThread ", "# Using devices")
_PLACES = ("out of place", "in place")


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    return None if _HEADING.search(given.text) else "no line is nccl-tests' heading of columns"


def parse(given: Given) -> Taken:
    """The figures of every size.

    Raises ``UsageFault``, for a row that was cut and for a second run in the same text too.
    """
    test = Test()
    columns: list[str] = []
    printed: set[str] = set()
    for number, line in enumerate(given.lines, start=1):
        heading = _HEADING.match(line) is not None
        once = "heading" if heading else next((o for o in _ONCE if line.startswith(o)), None)
        if once in printed:
            raise given.fault(number, "a second run begins there", "import the text of one run")
        if once is not None:
            printed.add(once)
        if heading:
            columns = line.lstrip("# ").split()
        elif _ROW.match(line) and columns:
            test.rows += _rows(given, number, columns, line.split())
        elif line.startswith("#"):
            _read_comment(test, line)
    left_out: list[str] = []
    found = tuple(figures(given, test, left_out))
    environment: dict[str, object] = {"gpus": test.gpus} if test.gpus else {}
    if test.nccl:
        environment["nccl"] = test.nccl
    own = _OWN_VERSION.search(given.text)
    aside = [line.lstrip("# ") for line in given.lines if line.startswith("# ")]
    return Taken(
        NAME,
        found,
        version=own[1] if own else None,
        environment=environment,
        aside={"printed": [" ".join(line.split()) for line in aside if line.strip()][:60]},
        left_out=tuple(left_out),
    )


def _read_comment(test: Test, line: str) -> None:
    if device := _DEVICE.match(line):
        test.gpus.append(" ".join(device[1].split()))
        test.ranks = len(test.gpus)
    elif program := _PROGRAM.match(line):
        test.program = program[1].rpartition("/")[2]
    elif graph := _GRAPH.match(line):
        test.graph = int(graph[1]) > 0
    elif told := _VERSION.match(line):
        test.nccl = version(int(told[2]))


def _rows(given: Given, line: int, columns: list[str], cells: list[str]) -> list[Row]:
    if len(cells) != len(columns):
        raise given.fault(
            line,
            f"it has {len(cells)} of {len(columns)} columns",
            "the file was cut or mixed: import a whole one",
        )
    given.require_end(line)
    found = []
    times = [at for at, name in enumerate(columns) if name == "time"]
    ends = [*times[1:], len(columns)]
    for placement, start, end in zip(_PLACES, times, ends, strict=False):
        told = dict(zip(columns[start:end], cells[start:end], strict=True))
        try:
            wrong = told.get("#wrong", told.get("error", "N/A"))
            row = Row(
                line,
                int(cells[0]),
                cells[2],
                placement,
                float(told["time"]),
                float(told["algbw"]),
                float(told["busbw"]),
                None if wrong == "N/A" else float(wrong),
            )
        except (KeyError, ValueError):
            raise given.fault(
                line, "a column holds no number", "import the text as the tool printed it"
            ) from None
        if not 0 <= row.time_us < 1e12 or not 0 <= row.bus_bandwidth < 1e9:  # nor is NaN
            raise given.fault(line, "a column holds no figure", "import a run that came to its end")
        found.append(row)
    return found
