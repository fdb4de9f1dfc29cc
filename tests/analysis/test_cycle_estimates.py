"""Which samples of rate and accept length are divided one by one, and what other pairs give."""

from __future__ import annotations

from typing import Any

import pytest
from knowledge.bases import Data, known, measurement, published, run

from gamekit.analysis.cycle_estimates import CycleEstimate, cycle_estimates
from gamekit.ranges import Range

from .cycles import SUBJECT, rates

STEADY = (-0.02, -0.01, 0.0, 0.01, 0.02)


def around(cycle: float) -> list[float]:
    return [cycle * (1 + step) for step in STEADY]


def only(*parts: Data) -> CycleEstimate:
    (estimate,) = cycle_estimates(known(*parts))
    return estimate


def length_of(value: Data, name: str = "length", **fields: Any) -> Data:
    return measurement(
        name,
        {"unit": "tok/cycle", **value},
        **{"metric": "accept_length", "subject": SUBJECT, **fields},
    )


def ratio(length: Range, rate: Range) -> tuple[float, float, float]:
    return (
        1000 * length.low / rate.high,
        1000 * length.mid / rate.mid,
        1000 * length.high / rate.low,
    )


@pytest.mark.parametrize(
    "value",
    [
        {"low": 1.8, "high": 2.2, "range": "observed"},
        {"low": 1.8, "high": 2.2, "value": 1.9, "range": "observed"},
        {"value": 2.0},
        {"samples": [1.8, 1.9, 2.0, 2.1, 2.2]},
        {"samples": [1.98, 2.0, 2.02]},
    ],
    ids=["range", "range-around-value", "value", "as-many-samples", "fewer-samples"],
)
def test_a_length_of_other_requests_counts_with_all_of_its_range(value: Data) -> None:
    """Its spread and roundings are in the cycle, which has no samples: no two belong together."""
    rate = rates("rate", SUBJECT, around(100 / 3), 2.0)
    knowledge = known(rate, length_of(value))
    (estimate,) = cycle_estimates(knowledge)
    figures = {
        name: record.finding.value  # type: ignore[union-attr]
        for name in ("rate", "length")
        for record in [knowledge.record(name)]
    }
    assert estimate.samples is None
    for found, expected in (
        (estimate.stated, ratio(figures["length"].stated(), figures["rate"].stated())),
        (estimate.rounded, ratio(figures["length"].with_rounding(), figures["rate"].stated())),
    ):
        assert (found.low, found.mid, found.high) == pytest.approx(expected)


def test_lengths_and_rates_of_one_case_are_divided_request_by_request() -> None:
    """Of one run and case each rate has its own length; those of another case are of others."""
    lengths_of = [2.0, 1.96, 2.04, 1.97, 2.02]
    rate = measurement(
        "r1.2.decode_rate",
        {"samples": [1000 * one / 30 for one in lengths_of], "unit": "tok/s"},
        subject=SUBJECT,
    )
    own = length_of({"samples": lengths_of}, "r1.2.accept_length")
    other = length_of({"samples": lengths_of[::-1]}, "r1.1.accept_length")
    day = "2026-12-01T10:00:00Z"
    estimate = only(run("r1", day, other, rate, own))
    assert estimate.ids == ("r1.2.decode_rate", "r1.2.accept_length")
    assert estimate.samples == pytest.approx([30] * 5)
    estimate = only(run("r1", day, other, rate))
    assert (estimate.pairing, estimate.samples) == ("run", None)
    assert estimate.stated.low < 30 < estimate.stated.high
    more = length_of({"samples": [*lengths_of, 1.99]}, "r1.2.accept_length")
    estimate = only(run("r1", day, rate, more))
    assert (estimate.pairing, estimate.samples) == ("run", None)


def test_a_rate_that_may_be_nothing_bounds_no_cycle() -> None:
    """Where the interval of a rate or of a length reaches 0, the pair says nothing of the cycle."""
    word, coarse = {"source": published()}, {"value": 2, "rounded_to": 5}
    wide = {"samples": [1, 100], "unit": "tok/s"}
    steady, length = rates("rate", SUBJECT, around(30), 2.0), length_of({"value": 2.0})
    assert cycle_estimates(known(steady, length))
    for parts in (
        (measurement("rate", wide, subject=SUBJECT, **word), length),
        (measurement("rate", {**coarse, "unit": "tok/s"}, subject=SUBJECT), length),
        (steady, length_of(coarse)),
        (steady, length_of({"samples": [1.0, 3.0]}, **word)),
    ):
        assert cycle_estimates(known(*parts)) == []
