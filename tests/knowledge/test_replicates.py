"""Which replicate of one run was taken beside which of the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gamekit.findings import Environment, Measurement, Run, RunSource
from gamekit.findings.run import Case
from gamekit.knowledge.replicates import taken_in_turn
from gamekit.quantity import Quantity
from gamekit.store.load import Record, Topic


def measured(figures: list[float | None], **columns: Any) -> Record:
    """A measurement of decode rate with the table of raw samples it was made from."""
    run = Run(
        id="20261201-100000-trial-000001",
        benchmark="trial",
        command=["gamekit", "bench"],
        gamekit_version="0.1.0",
        started="2026-12-01T10:00:00Z",
        finished="2026-12-01T10:01:00Z",
        outcome="done",
        environment=Environment(),
        cases=[Case(samples={"decode_rate": list(figures), **columns})],
    )
    parts = columns.get("part", [None] * len(figures))
    errors = columns.get("error", [None] * len(figures))
    counted = [
        figure
        for figure, part, error in zip(figures, parts, errors, strict=True)
        if figure is not None and part is None and error is None
    ]
    finding = Measurement(
        id=f"{run.id}.decode_rate",
        kind="measurement",
        title="decode rate",
        source=RunSource(kind="run", run=run.id),
        metric="decode_rate",
        value=Quantity(unit="tok/s", samples=counted),
    )
    return Record(finding, Topic("findings/measured/run.yaml", "run", None, run), 1, {})


def test_a_missing_replicate_takes_the_one_beside_it_along() -> None:
    """Each side lost another one: what is left is paired by turn and not by place."""
    a = measured([80.0, None, 82.0, 83.0])
    b = measured([90.0, 91.0, 92.0, 93.0], error=[None, None, None, "reset"])
    assert taken_in_turn(a, b) == ((80.0, 82.0), (90.0, 92.0))
    assert taken_in_turn(b, a) == ((90.0, 92.0), (80.0, 82.0))


def test_parts_are_no_replicates() -> None:
    """Of a wave of requests its mean is paired, and no request."""
    part = [None, "request", "request"] * 2
    a = measured([80.0, 79.0, 81.0, 84.0, 84.0, 84.0], part=part)
    b = measured([90.0, 90.0, 90.0, 95.0, 94.0, 96.0], part=part)
    assert taken_in_turn(a, b) == ((80.0, 84.0), (90.0, 95.0))


@pytest.mark.parametrize(
    "other",
    [
        None,
        measured([90.0, None]),
        replace(measured([90.0, 91.0]), topic=Topic("findings/rates.yaml", "rates", None)),
        measured([90.0, 91.0], row=["request"] * 2, repetition=[1, 1]),
    ],
)
def test_what_tells_no_turns_gives_no_pairs(other: Record | None) -> None:
    """No record, one complete pair, no table of samples, and a load of older days."""
    assert taken_in_turn(measured([80.0, 81.0]), other) is None
