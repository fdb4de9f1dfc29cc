"""Which figures of two runs meet, and what is offered where none do."""

from __future__ import annotations

import pytest
from knowledge.bases import Data, known, measurement, run

from gamekit.analysis.sides import pairs
from gamekit.errors import UsageFault

DAY = "2026-12-01T10:00:00Z"


def figure(name: str, metric: str, workload: str) -> Data:
    value = {"samples": [9.0, 9.1, 9.2, 9.0, 9.1], "unit": "ms"}
    return measurement(name, value, metric=metric, subject={"workload": workload})


def test_where_no_case_is_shared_figures_of_one_metric_are_offered() -> None:
    """Two cases and three, of other prompts each: ids of a metric that both have."""
    one = run("one", DAY, *(figure(f"one.{n}.ttft", "ttft", f"a {n}") for n in (1, 2)))
    two = run(
        "two",
        DAY,
        figure("two.1.request_latency", "request_latency", "b 1"),
        *(figure(f"two.{n}.ttft", "ttft", f"b {n}") for n in (1, 2, 3)),
    )
    with pytest.raises(UsageFault) as refusal:
        pairs(known(one, two), "one", "two")
    assert refusal.value.mend == (
        "name a figure of each: one.1.ttft or one.2.ttft and two.1.ttft or two.2.ttft or two.3.ttft"
    )
