"""Runs that gave a decode rate, as files of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamekit.strict_yaml import write_yaml

ENGINE = {"name": "sglang", "version": "0.5.15", "stand_in": False}
SUBJECT = {"target": "model-x", "speculation": "none", "concurrency": 1, "host": "box"}


def run_file(
    base: Path,
    name: str,
    samples: Sequence[float],
    *,
    start: str | None = None,
    hour: int = 1,
    subject: dict[str, Any] | None = None,
    more: Sequence[dict[str, Any]] = (),
    engine: dict[str, Any] | None = None,
    launch: str | None = None,
    benchmark: str = "serving_decode",
    **environment: Any,
) -> None:
    """Put a run with a decode rate (and ``more`` measurements) into the knowledge base."""
    source = {"kind": "run", "run": name}
    rate = {
        "id": f"{name}.decode_rate",
        "metric": "decode_rate",
        "value": {"samples": list(samples), "unit": "tok/s"},
        # A series takes only what is of its subject.
        **({"series": "rate"} if subject is None else {}),
    }
    shared = {"kind": "measurement", "title": "A figure", "source": source}
    shared["subject"] = SUBJECT | (subject or {})
    surroundings = {"driver": "570", "boot": "b1", **environment}
    if start is not None:
        surroundings["start"] = start
    data = {
        "schema": 1,
        "run": {
            "id": name,
            "benchmark": benchmark,
            "command": ["gamekit", "bench", benchmark],
            "gamekit_version": "0.1.0",
            "started": f"2026-12-01T{hour:02}:00:00Z",
            "finished": f"2026-12-01T{hour:02}:30:00Z",
            "outcome": "done",
            "engine": ENGINE | (engine or {}),
            **({} if launch is None else {"launch": {"command": launch}}),
            "environment": surroundings,
            "cases": [{"samples": {"decode_rate": list(samples)}}],
        },
        "findings": [shared | rate, *(shared | one for one in more)],
    }
    folder = base / "findings" / "measured" / "2026-12"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(write_yaml(data), encoding="utf-8")


def around(rate: float) -> list[float]:
    """Five samples close to a rate."""
    return [rate * (1 + step / 1000) for step in (0, 2, -1, 1, -2)]
