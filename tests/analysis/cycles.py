"""Knowledge bases whose cycle time is known, as runs would have recorded it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge.bases import Data, measurement, run

SUBJECT: Data = {
    "target": "Big",
    "quantization": "INT4",
    "speculation": "EAGLE3",
    "drafter": "small",
    "steps": 2,
    "topk": 1,
    "draft_tokens": 3,
    "acceptance": "natural",
    "workload": "prompts",
    "concurrency": 1,
    "host": "here",
}


def subject(**changes: Any) -> Data:
    """The subject with fields changed; None takes one out."""
    return {field: value for field, value in {**SUBJECT, **changes}.items() if value is not None}


def imposed(length: float, **changes: Any) -> Data:
    return subject(acceptance="imposed", imposed_accept_length=length, **changes)


def rates(
    name: str, of: Data, cycles: Sequence[float], length: float, metric: str = "decode_rate"
) -> Data:
    """Rates of requests whose cycles took ``cycles`` ms."""
    return measurement(
        name,
        {"samples": [1000 * length / cycle for cycle in cycles], "unit": "tok/s"},
        metric=metric,
        subject=of,
    )


def lengths(name: str, of: Data, length: float, count: int) -> Data:
    return measurement(
        name,
        {"samples": [length] * count, "unit": "tok/cycle"},
        metric="accept_length",
        subject=of,
    )


def served(name: str, of: Data, cycles: Sequence[float], length: float, **options: Any) -> Data:
    """The run of one server start: decode rate and accept length, request by request."""
    day = f"2026-12-{int(name[1:]) % 27 + 1:02}T10:00:00Z"
    return run(
        name,
        day,
        rates(f"{name}.rate", of, cycles, length),
        lengths(f"{name}.length", of, length, len(cycles)),
        **options,
    )


def timed(name: str, of: Data, cycles: Sequence[float]) -> Data:
    return measurement(
        name, {"samples": list(cycles), "unit": "ms"}, metric="cycle_time", subject=of
    )
