"""One cycle time predicts the rates at other accept lengths, and the error says how well."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge.bases import Data, known

from gamekit.analysis.calibration import calibrate
from gamekit.analysis.model_error import ModelError, judge

from .cycles import SUBJECT, imposed, served, timed

NOISE = (0.985, 0.99, 1.0, 1.01, 1.015)


def requests(cycle: float) -> list[float]:
    return [cycle * factor for factor in NOISE]


def judged(*parts: Data) -> ModelError | None:
    (cycle,) = calibrate(known(*parts)).cycles
    return judge(cycle)


def sweep(cycles: dict[float, list[float]]) -> ModelError:
    """Starts by imposed accept length, each with the mean cycle time in ms that is given."""
    parts, number = [], 0
    for length, starts in cycles.items():
        for cycle in starts:
            parts.append(served(f"r{number}", imposed(length), requests(cycle), length))
            number += 1
    found = judged(*parts)
    assert found is not None
    return found


@settings(max_examples=25, deadline=None)
@given(st.floats(1, 100), st.lists(st.sampled_from([1.0, 1.5, 2.0, 2.5, 3.0]), min_size=2,
                                   max_size=4, unique=True))  # fmt: skip
def test_one_cycle_time_for_all_lengths_is_predicted_without_error(
    cycle: float, lengths: list[float]
) -> None:
    """Data made by the model itself: every rate is hit, and nothing is beyond the noise."""
    found = sweep({length: [cycle] for length in lengths})
    assert [one.accept_length for one in found.held_out] == sorted(lengths)
    assert found.noise == "within starts"
    assert found.within_noise is True
    for one in found.held_out:
        assert one.error.mid == pytest.approx(0, abs=1e-9)
        assert one.error.low < 0 < one.error.high
        assert one.predicted == pytest.approx(one.measured, rel=1e-9)
        assert one.measured == pytest.approx(1000 * one.accept_length / cycle, rel=1e-3)


def test_the_error_of_each_length_is_that_of_the_others_mean() -> None:
    """Cycles of 10, 10 and 12 ms: by hand, with the noise of the requests around each error."""
    found = sweep({1.0: [10], 2.0: [10], 3.0: [12]})
    errors = [one.error.mid for one in found.held_out]
    middle = math.sqrt(120)
    assert errors == pytest.approx([10 / middle - 1, 10 / middle - 1, 0.2])
    assert found.worst.accept_length == 3.0
    assert (found.range.low, found.range.high) == pytest.approx((10 / middle - 1, 0.2))
    assert found.within_noise is False
    last = found.held_out[2]
    assert last.predicted == pytest.approx(last.measured * 1.2)


def test_several_starts_a_length_make_the_start_the_replicate() -> None:
    """Starts that differ widen the noise as no number of requests in one start could."""
    apart = sweep({1.0: [10, 11], 2.0: [10.2, 11.2]})
    assert apart.noise == "between starts"
    assert apart.within_noise is True
    together = sweep({1.0: [10.5], 2.0: [10.7]})
    assert together.noise == "within starts"
    wide, narrow = apart.held_out[0].error, together.held_out[0].error
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)


def test_starts_of_one_length_lend_their_spread_to_the_others() -> None:
    """Three starts of one length tell what starts differ by, and one start of another takes it."""
    found = sweep({1.0: [10, 10.5, 11], 2.0: [10.6]})
    assert found.noise == "between starts"
    first, second = found.held_out
    # By Student's two samples on logarithms: three starts and one, two degrees of freedom.
    logs = [math.log(10), math.log(10.5), math.log(11)]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((one - mean) ** 2 for one in logs) / 2)
    half = 4.302652729911275 * deviation * math.sqrt(1 + 1 / 3)
    assert math.log1p(second.error.high) - math.log1p(second.error.mid) == pytest.approx(
        half, rel=1e-3
    )
    assert first.error.low < 0 < first.error.high
    # One difference between starts is no spread yet.
    assert sweep({1.0: [10, 10.5], 2.0: [10.6]}).noise == "within starts"


def test_single_requests_have_an_error_and_no_noise() -> None:
    """What one request differs by nobody knows, so the error stands without an interval."""
    singles = [timed(f"cycle_{i}", imposed(1.0 + i), [10.0 + i]) for i in (0, 1)]
    for number, finding in enumerate(singles):
        finding["source"] = {"kind": "publication", "title": "Data", "read": "2026-12-01"}
        finding["environment"] = {"start": f"start {number}"}
    found = judged(*singles)
    assert found is not None
    assert found.noise is None
    assert found.within_noise is None
    assert [one.error.mid for one in found.held_out] == pytest.approx([10 / 11 - 1, 0.1])
    assert all(one.error.is_exact for one in found.held_out)


def test_natural_lengths_of_one_drafter_are_one_condition() -> None:
    """Starts whose lengths differ by chance alone are not predicted from each other."""
    parts = [served(f"r{i}", SUBJECT, requests(10), 2.0 + i / 10) for i in range(3)]
    assert judged(*parts) is None
