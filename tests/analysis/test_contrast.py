"""The verdict of samples against samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.analysis.contrast import judge, spread_within

starts = st.lists(st.lists(st.floats(1, 1000), min_size=1, max_size=8), min_size=1, max_size=4)
INVERSE = {"better": "worse", "worse": "better"}


@given(starts, starts, st.sampled_from(["higher", "lower"]), st.booleans())
def test_the_other_way_round_ratio_and_verdict_are_inverse(a, b, better, in_turn) -> None:
    """Swapping A and B turns the ratio upside down, and better into worse."""
    there, back = judge(a, b, better, in_turn=in_turn), judge(b, a, better, in_turn=in_turn)
    assert back.verdict == INVERSE.get(there.verdict, there.verdict)
    assert (there.ratio is None) == (back.ratio is None)
    if there.ratio is not None and back.ratio is not None:
        ends = (1 / there.ratio.high, 1 / there.ratio.mid, 1 / there.ratio.low)
        assert (back.ratio.low, back.ratio.mid, back.ratio.high) == pytest.approx(ends, rel=1e-6)


@given(starts, st.sampled_from(["higher", "lower"]), st.booleans())
def test_identical_samples_are_never_better_or_worse(samples, better, in_turn) -> None:
    """What is compared with itself is inconclusive, or insufficient."""
    assert judge(samples, samples, better, in_turn=in_turn).verdict not in INVERSE


@given(starts, starts, st.sampled_from([0.001, 8.0, 1e6]))
def test_the_unit_leaves_ratio_and_verdict(a, b, factor) -> None:
    """Both in another unit, the ratio is the same."""
    scaled = [[[x * factor for x in start] for start in side] for side in (a, b)]
    one, other = judge(a, b, "higher"), judge(*scaled, "higher")
    if one.ratio is not None and other.ratio is not None:
        assert other.ratio.mid == pytest.approx(one.ratio.mid, rel=1e-6)
        assert other.ratio.high == pytest.approx(one.ratio.high, rel=1e-4)
    assert (one.ratio is None) == (other.ratio is None)


@given(starts, starts)
def test_lower_is_better_is_the_opposite_of_higher(a, b) -> None:
    """The direction of the metric alone decides between better and worse."""
    higher, lower = judge(a, b, "higher"), judge(a, b, "lower")
    assert lower.verdict == INVERSE.get(higher.verdict, higher.verdict)


def test_equal_truth_is_rarely_called_different() -> None:
    """Of 1000 comparisons of one distribution with itself about 5 % differ, whatever the basis.

    Starts differ by 3 %, samples within a start by 1 %: taking samples for replicates would err in
    more than half of all cases.
    """
    random = np.random.default_rng(2)

    def side(count: int) -> list[list[float]]:
        return [
            (80 * np.exp(random.normal(0, 0.03) + random.normal(0, 0.01, 8))).tolist()
            for _ in range(count)
        ]

    def wrong(count_a: int, count_b: int) -> float:
        verdicts = [judge(side(count_a), side(count_b), "higher").verdict for _ in range(1000)]
        return sum(verdict in INVERSE for verdict in verdicts) / 1000

    assert wrong(4, 4) <= 0.08
    assert wrong(4, 1) <= 0.08
    assert wrong(1, 1) > 0.5  # and so a single start each says that this is not known


def test_several_starts_are_the_replicates_and_their_inside_is_told_apart() -> None:
    """Two starts that lie 10 % apart give a wide interval, however alike their samples are."""
    a = [[80.0, 80.1, 79.9], [88.0, 88.1, 87.9]]
    b = [[82.0, 82.1, 81.9], [90.0, 90.1, 89.9]]
    found = judge(a, b, "higher")
    assert (found.verdict, found.basis) == ("inconclusive", "starts")
    assert "means of 2 and 2 server starts; within one, samples differ by 0.12 %" in found.reason
    assert found.detectable is not None
    assert found.detectable > 0.1


def test_a_single_start_each_says_what_is_unknown() -> None:
    """Within one start each there is a verdict, and it is said that starts may differ."""
    found = judge([[80.0, 80.1, 79.9]], [[82.0, 82.1, 81.9]], "higher")
    assert (found.verdict, found.basis) == ("better", "samples")
    assert "how far server starts differ is unknown" in found.reason
    same = judge([[80.0, 80.1, 79.9]], [[82.0, 82.1, 81.9]], "higher", same_start=True)
    assert "both of one server start" in same.reason


def test_one_side_with_several_starts_lends_their_spread_to_the_other() -> None:
    """Three starts against one: the one is taken to vary as the three do."""
    found = judge([[80.0], [84.0], [88.0]], [[82.5, 82.6, 82.4]], "higher")
    assert (found.verdict, found.basis) == ("inconclusive", "starts of one side")


def test_pairs_taken_in_turn_cancel_a_common_drift() -> None:
    """Both fall by a quarter, B stays 2 % above A: in pairs that is seen, otherwise not."""
    a = [100.0, 95.0, 90.1, 85.0, 80.2, 75.0]
    b = [x * y for x, y in zip(a, (1.02, 1.021, 1.019, 1.02, 1.022, 1.018), strict=True)]
    in_turn, apart = judge([a], [b], "higher", in_turn=True), judge([a], [b], "higher")
    assert (in_turn.verdict, in_turn.basis) == ("better", "pairs")
    assert in_turn.ratio is not None
    assert in_turn.ratio.mid == pytest.approx(1.02, abs=1e-3)
    assert apart.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ([], [[80.0, 81.0]], "no samples of one"),
        ([[80.0]], [[80.0, 81.0]], "n = 1 and 2"),
        ([[80.0, 0.0]], [[80.0, 81.0]], "above 0"),
    ],
)
def test_too_little_is_insufficient(a, b, why: str) -> None:
    """Without an interval there is no verdict and no ratio."""
    found = judge(a, b, "higher")
    assert (found.verdict, found.ratio) == ("insufficient", None)
    assert why in found.reason


def test_the_spread_within_a_start_leaves_out_that_between_starts() -> None:
    """Two starts far apart, each with samples 1 % to either side."""
    assert spread_within([[99.0, 101.0], [198.0, 202.0]]) == pytest.approx(
        math.exp(math.sqrt(2) * math.atanh(0.01)) - 1
    )
    assert spread_within([[99.0]]) is None
