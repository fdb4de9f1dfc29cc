"""What a fault of a benchmark's own code says, with the line of its file."""

from __future__ import annotations

import traceback
from pathlib import Path

from gamekit.bench.module import Benchmark


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
