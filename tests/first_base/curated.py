"""Where the curated findings of this repository lie."""

from __future__ import annotations

from pathlib import Path

from gamekit.store.load import findings_files

ROOT = Path(__file__).parents[2]


def curated_files() -> list[Path]:
    return [path for path in findings_files(ROOT) if path.parent == ROOT / "findings"]
