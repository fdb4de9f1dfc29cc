"""What all executions of one call of ``gamekit bench`` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gamekit.bench.context import Progress
from gamekit.bench.subject import Told
from gamekit.findings import Series
from gamekit.host.redact import Redactor
from gamekit.store.load import Base


@dataclass(frozen=True)
class Setup:
    """The knowledge base, what the user told, and where to say how far it is."""

    root: Path | None
    base: Base | None
    command: list[str]
    redactor: Redactor
    told: Told
    series: Mapping[str, Series]
    host: str | None
    append: bool
    progress: Progress
    warnings: tuple[str, ...] = ()
