"""The data files, and how tests take figures from them."""

from __future__ import annotations

from pathlib import Path

from gamekit.imports.detect import taken
from gamekit.imports.figures import Figure, Taken
from gamekit.imports.given import Given

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data" / "imports"
LAB = REPOSITORY / "perf" / "lab" / "sglang-bench"
RECORDINGS = REPOSITORY / "tests" / "data" / "recordings"


def from_text(folder: Path, text: str | bytes) -> Taken:
    """What is taken from a file of that text."""
    path = folder / "given"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return taken(Given(path, path.read_bytes()))


def from_file(path: Path) -> Taken:
    """What is taken from a file as it is."""
    return taken(Given(path, path.read_bytes()))


def by_metric(found: Taken) -> dict[str, Figure]:
    """The figures of a file that has one a metric."""
    figures = {figure.metric: figure for figure in found.figures}
    assert len(figures) == len(found.figures)
    return figures
