"""A prediction on a knowledge base: the findings behind it, and where they do not fit together."""

from __future__ import annotations

from knowledge.bases import claim

from gamekit.analysis.prediction import predict
from gamekit.analysis.prediction_of_base import given_by
from gamekit.analysis.prediction_words import assumptions

from .decisions import decided, figure


def test_roles_that_fit_together_are_taken_without_a_word() -> None:
    """Rate, cycle and accept length of two steps each, and a break-even that is their product."""
    even = claim("even", formula="[base] * [cycle] / 1000", unit="tok/cycle")
    assert given_by(decided(even, break_even="even")).remarks == ()


def test_parts_of_other_steps_are_named() -> None:
    """An accept length of 2 steps over a cycle of 3 is no figure of either, and that is said."""
    longer = figure("cycle-of-3", 50, "ms", "cycle_time", steps=3)
    given = given_by(decided(longer, cycle_time="cycle-of-3"))
    remark, _ = given.remarks
    assert "length is of 2 steps" in remark
    assert "cycle-of-3, as cycle time, of 3 steps" in remark
    assert remark in assumptions(predict(given))


def test_a_break_even_that_says_something_else_is_named() -> None:
    """The product of baseline and cycle is taken, and what the finding says stands beside it."""
    other = claim("even", formula="[base] * [verify] / 1000", unit="tok/cycle")
    given = given_by(decided(other, break_even="even"))
    (remark,) = given.remarks
    # 75 tok/s in 30 ms and in 40 ms.
    assert "even says 2.25 tok/cycle" in remark
    assert "give 3" in remark
    assert predict(given).figures["break_even_accept_len"].mid == 3


def test_a_cycle_shorter_than_its_verify_is_named() -> None:
    """A part is never longer than the whole: one of the two figures is wrong."""
    short = claim("short", formula="[cycle] / 2", unit="ms")
    remarks = given_by(decided(short, cycle_time="short")).remarks
    assert any("short is 20 ms, less than the 30 ms of verify" in one for one in remarks)


def test_a_cycle_that_was_measured_as_another_is_named() -> None:
    """A timed cycle of the same chain stands beside the one that is used, and who chooses."""
    other = claim("other", formula="[cycle] * 1.5", unit="ms")
    (remark,) = given_by(decided(other, cycle_time="other")).remarks
    assert "cycle measured a cycle of 40 ms, and other gives 60" in remark
    assert "model.cycle_time in gamekit.yaml" in remark
