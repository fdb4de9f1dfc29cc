"""The levers, held against the chain simulated cycle by cycle and against figures by hand."""

from __future__ import annotations

import random

import pytest

from gamekit.analysis.levers import Lever, LeverName
from gamekit.analysis.levers import levers as levers_with
from gamekit.analysis.options import options
from gamekit.analysis.target import answer
from gamekit.knowledge import Knowledge

from .decisions import THREE_STEPS, decided, figure


def levers(knowledge: Knowledge) -> list[Lever]:
    return levers_with(knowledge, options(knowledge))


def by_name(found: list[Lever]) -> dict[LeverName, Lever]:
    return {lever.name: lever for lever in found}


def mid(lever: Lever) -> tuple[float, float, float]:
    """Rate, gain and ceiling of a lever, where all are known."""
    known = [lever.rate.known, lever.gain.known, lever.ceiling.known]
    values = [figure.mid for figure in known if figure is not None]
    assert len(values) == 3
    return values[0], values[1], values[2]


def simulated_length(accuracy: float, steps: int, cycles: int = 200_000) -> float:
    """Tokens a cycle of a chain drawn token by token."""
    draws = random.Random(7)  # noqa: S311 - a simulation
    tokens = 0
    for _ in range(cycles):
        tokens += 1
        for _ in range(steps):
            if draws.random() >= accuracy:
                break
            tokens += 1
    return tokens / cycles


def accuracy_of(length: float, steps: int) -> float:
    """The accuracy that gives ``length``, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if sum(middle**i for i in range(steps + 1)) < length:
            low = middle
        else:
            high = middle
    return low


def test_the_accept_length_goes_to_the_best_published_on_the_chain_in_use() -> None:
    """3.5 over 3 steps, carried over to 2 steps of the same accuracy, in the cycle of now."""
    rate, gain, ceiling = mid(by_name(levers(decided()))["accept_length"])
    length = simulated_length(accuracy_of(3.5, 3), 2)
    assert rate == pytest.approx(length / 0.040, rel=0.01)
    assert gain == pytest.approx(rate - 50)
    assert ceiling == pytest.approx(75)


def test_a_shorter_verify_leaves_the_rest_of_the_cycle() -> None:
    """15 in place of 30 ms makes 40 ms 25 ms."""
    assert mid(by_name(levers(decided()))["shorter_verify"]) == pytest.approx((80, 30, 120))


def test_more_steps_keep_the_accuracy_and_name_the_cycle_that_undoes_them() -> None:
    """A third step at an unchanged cycle; where the cycle outgrows it, nothing is gained."""
    lever = by_name(levers(decided()))["more_steps"]
    rate, _, ceiling = mid(lever)
    length = simulated_length(accuracy_of(2.0, 2), 3)
    assert rate == pytest.approx(length / 0.040, rel=0.01)
    assert ceiling == pytest.approx(100)
    # 2.236 tokens at 50 tok/s
    assert "No gain left at a cycle of 44.7 ms" in lever.assumption
    measured = {**figure("now-3", 50, "ms", "cycle_time", steps=3), "series": "cycle-3"}
    lever = by_name(levers(decided(THREE_STEPS, measured)))["more_steps"]
    assert mid(lever)[0] == pytest.approx(length / 0.050, rel=0.01)
    assert "[[cycle-3]]" in lever.best
    assert "No gain" not in lever.assumption


def test_no_overhead_leaves_verify_alone() -> None:
    """A cycle of 30 ms and nothing else."""
    assert mid(by_name(levers(decided()))["less_overhead"]) == pytest.approx(
        (2 / 0.030, 2 / 0.030 - 50, 100)
    )


def test_all_together_take_each_at_its_best() -> None:
    """Three steps of the best drafter in nothing but the shorter verify, and a target in reach."""
    lever = levers(decided())[-1]
    assert lever.name == "all_together"
    assert mid(lever) == pytest.approx((3.5 / 0.015, 3.5 / 0.015 - 50, 4 / 0.015))
    assert lever.ceiling_against_target == "above"


def test_a_lever_without_a_known_best_is_unknown_and_says_why() -> None:
    """Nothing published, no plausible verify: unknown because, never a guess; the rest stays."""
    bare = decided(
        without=("theirs-chat", "theirs-code", "other-chat"), levers={}, verify_time=None
    )
    found = by_name(levers(bare))
    for name in ("accept_length", "shorter_verify", "less_overhead", "all_together"):
        assert found[name].rate.known is None
        assert str(found[name].rate.why_not).startswith("unknown because ")
        assert found[name].as_json()["rate"] is None
        assert found[name].against_baseline == "unknown against"
    assert mid(found["more_steps"])[2] == pytest.approx(100)


def test_unknown_inputs_make_every_lever_unknown_because_of_them() -> None:
    """An accept length that nobody knows is named by whatever rests on it."""
    unknown = figure("length", 1, "tok/cycle", "accept_length", steps=2)
    unknown["value"] = {"unit": "tok/cycle", "unknown": "nobody counted"}
    lever = by_name(levers(decided(unknown, without=("length",))))["less_overhead"]
    assert "unknown because [length]: nobody counted" in str(lever.gain.why_not)


def test_levers_name_the_findings_they_use() -> None:
    """The ids of everything that the gain is computed from."""
    found = by_name(levers(decided()))
    assert set(found["shorter_verify"].uses) == {"length", "cycle", "verify", "verify-once"}
    assert set(found["accept_length"].uses) == {"theirs-code", "cycle", "length"}


def test_a_target_above_the_ceiling_no_drafter_can_give() -> None:
    """3 tokens in 40 ms are 75 tok/s, so 150 needs a cycle of 20 ms, or more steps."""
    found = answer(decided())
    assert found is not None
    assert found.answer == "no drafter can"
    assert found.now.accuracy.words == "impossible"
    longest = [need.longest_cycle.known for need in found.needs]
    assert [one.mid for one in longest if one] == pytest.approx(
        [3 / 0.150, 4 / 0.150, 5 / 0.150, 6 / 0.150]
    )
    # 6 tokens of 150 tok/s in 40 ms: every one of 5 drafts right.
    assert found.needs[-1].accuracy.known is not None
    assert found.needs[-1].accuracy.known.mid == pytest.approx(100)


def test_a_target_below_the_ceiling_asks_for_an_accuracy() -> None:
    """60 tok/s in 40 ms are 2.4 tokens, which 2 steps can give."""
    found = answer(decided(figure("less", 60, "tok/s", "decode_rate"), target_rate="less"))
    assert found is not None
    assert found.answer == "some drafter could"
    assert found.now.accuracy.known is not None
    assert found.now.accuracy.known.mid == pytest.approx(100 * accuracy_of(2.4, 2))
