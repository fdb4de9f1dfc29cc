"""The fewest steps at an accuracy, against simulated chains and by trying every length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.ranges import Range
from gamekit.speculation import accept_length

from .test_prediction import predicted, simulated_accept_length, three_ways

KEY = "steps_needed_at_accuracy"


@given(
    accuracy=st.floats(0.05, 0.99),
    target=st.floats(5, 400),
    verify=st.floats(5, 40),
    draft=st.just(0.0) | st.floats(0.01, 5),
)
def test_it_is_the_first_chain_that_reaches_the_target(
    accuracy: float, target: float, verify: float, draft: float
) -> None:
    """Every shorter chain stays below the target, and this one does not."""
    told = predicted(accuracies=(Range.exact(accuracy),), steps=2, target=target,
                     verify_ms=verify, draft_ms=draft)  # fmt: skip

    def excess(steps: int) -> float:
        cycle = verify + steps * draft
        return 1000 * accept_length(accuracy, steps) / cycle - target

    found = told.figures.get(KEY)
    if found is None:
        assert all(excess(steps) < 1e-6 for steps in range(33))
        return
    fewest = int(found.mid)
    assert excess(fewest) > -1e-6
    assert all(excess(steps) < 1e-6 for steps in range(fewest))


def test_a_simulated_chain_of_so_many_steps_reaches_it_and_a_shorter_one_does_not() -> None:
    """At 90 % and an unchanged 26 ms, 150 tok/s is 3.9 tokens: four steps draw more, three less."""
    told = predicted(accuracies=(Range.exact(0.9),), steps=2, target=150, cycle_ms=26)
    assert told.figures[KEY] == Range.exact(4)
    reached, error = simulated_accept_length(0.9, 4)
    missed, _ = simulated_accept_length(0.9, 3)
    assert reached - 5 * error > 3.9 > missed + 5 * error


def test_ranges_give_a_range_of_steps() -> None:
    """Fewer steps at the better ends of all ranges, more at the worse ones."""
    told = predicted(accuracies=(Range(0.85, 0.9, 0.95),), steps=2, target=150, cycle_ms=(25, 27))
    assert three_ways(told.figures[KEY]) == (4, 4, 5)
    assert accept_length(0.95, 4) * 1000 / 25 >= 150 > accept_length(0.95, 3) * 1000 / 25
    assert accept_length(0.85, 5) * 1000 / 27 >= 150 > accept_length(0.85, 4) * 1000 / 27


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({"accuracies": (Range.exact(0.64),), "cycle_ms": 33.3}, "no chain of up to 32 steps"),
        ({"accept_len": 2.0, "cycle_ms": 33.3}, "no chain of up to 32 steps"),
        ({"accuracies": (Range.exact(0.9), Range.exact(0.8)), "cycle_ms": 33.3}, "further steps"),
        ({"accuracies": (Range.exact(0.9),)}, "no cycle time was given"),
    ],
)
def test_where_no_number_of_steps_has_it_the_reason_is_told(
    numbers: dict[str, object], reason: str
) -> None:
    """An accuracy whose endless chain stays below, unknown later accuracies, and no cycle."""
    told = predicted(steps=2, target=150, **numbers)
    assert KEY not in told.figures
    assert reason in told.reasons[KEY]
