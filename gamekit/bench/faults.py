"""What ended a run, in words: a fault of the benchmark's own code, or of what it measured."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gamekit.bench.module import ERROR, PART, Benchmark


def in_words(benchmark: Benchmark, error: BaseException) -> str:
    """The error, and where in the benchmark's file it came up, as far as it did there."""
    file = str(benchmark.file)
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    place = f" ({Path(file).name}:{lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{place}"


def after_samples(rows: Sequence[Mapping[str, Any]], reason: str) -> str:
    """``reason``, with how far the case had come: an engine that stopped answering had answered."""
    count = sum(row.get(PART) is None for row in rows)
    if not count:
        return reason
    failed = rows[-1].get(ERROR)
    last = f", the last of which failed with: {failed}" if failed else ""
    return f"after {count} sample{'s' if count > 1 else ''}{last}: {reason}"
