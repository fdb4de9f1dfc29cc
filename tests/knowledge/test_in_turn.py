"""Claims over figures that were measured in turn: the ratio of the pairs, and nothing wider."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import Any

import pytest

from gamekit.errors import FormulaError
from gamekit.formula import Known, UnknownResult
from gamekit.knowledge import Knowledge

from .bases import Data, claim, known, measurement, review, run, series

# Both scatter by 5 % and together; each pair differs by about 2 %.
BEFORE = [100.0, 104.0, 98.0, 103.0, 99.0]
AFTER = [102.1, 106.0, 100.0, 105.1, 101.0]
SERIES = (series("before"), series("after"))
GAIN = claim("gain", "100 * (in_turn([after], [before]) - 1)", "%")
NARROWER = claim("wider", "100 * ([after] / [before] - 1)", "%")


def taken(call: str, name: str, samples: list[float], hour: int, **environment: Any) -> Data:
    """A run of one case that lasted from the hour on for half of it."""
    return run(
        f"2026120{call}-{hour:02}0000-serving-decode-{name}",
        f"2026-12-0{call}T{hour:02}:00:00Z",
        measurement(
            f"2026120{call}-{hour:02}0000-serving-decode-{name}.decode_rate", samples, series=name
        ),
        finished=f"2026-12-0{call}T{hour:02}:30:00Z",
        environment=environment,
        cases=[{"samples": {"decode_rate": samples}}],
    )


def call_of(day: str, before: list[float], after: list[float], **environment: Any) -> list[Data]:
    """Two runs of one call, at the same time."""
    return [
        taken(day, "before", before, 10, **environment),
        taken(day, "after", after, 10, **environment),
    ]


def gain(knowledge: Knowledge) -> tuple[float, float, float]:
    figure = knowledge.figure("gain")
    assert figure.known is not None, figure.why_not
    return figure.known.low, figure.known.mid, figure.known.high


def student(logs: list[float], quantile: float) -> tuple[float, float, float]:
    """By hand: the interval of the mean of logarithms, as percent of a change."""
    half = quantile * stdev(logs) / math.sqrt(len(logs))
    return tuple(100 * (math.exp(fmean(logs) + step) - 1) for step in (-half, 0, half))  # type: ignore[return-value]


LOGS = [math.log(y / x) for x, y in zip(BEFORE, AFTER, strict=True)]


def test_what_both_share_cancels() -> None:
    """Of one call Student's interval over its pairs; the figures by themselves are far wider."""
    knowledge = known(*SERIES, GAIN, NARROWER, *call_of("1", BEFORE, AFTER))
    assert gain(knowledge) == pytest.approx(student(LOGS, 2.776445))
    low, _, high = gain(knowledge)
    apart = knowledge.figure("wider").known
    assert apart is not None
    assert high - low < (apart.high - apart.low) / 20
    stated = knowledge.figure("gain").stated
    assert isinstance(stated, Known)
    assert stated.leaves == (
        "20261201-100000-serving-decode-after.decode_rate",
        "20261201-100000-serving-decode-before.decode_rate",
    )


def test_several_calls_count_by_their_means() -> None:
    """Three calls have three independent ratios, however many pairs there are."""
    faster = [1.01 * x for x in AFTER]
    slower = [0.995 * x for x in AFTER]
    knowledge = known(
        *SERIES,
        GAIN,
        *call_of("1", BEFORE, AFTER),
        *call_of("2", BEFORE, faster),
        *call_of("3", BEFORE, slower),
    )
    means = [fmean(LOGS) + math.log(factor) for factor in (1, 1.01, 0.995)]
    assert gain(knowledge) == pytest.approx(student(means, 4.302653))


def test_calls_of_another_environment_are_left_out() -> None:
    """The newest call says which: an older one with another driver is something else."""
    knowledge = known(
        *SERIES,
        GAIN,
        *call_of("1", BEFORE, [1.5 * x for x in AFTER], driver="570.1"),
        *call_of("2", BEFORE, AFTER, driver="580.2"),
    )
    assert gain(knowledge) == pytest.approx(student(LOGS, 2.776445))


def test_what_was_not_measured_in_turn_is_unknown() -> None:
    """Runs one behind the other have no pairs, though each has a figure."""
    knowledge = known(
        *SERIES, GAIN, NARROWER, taken("1", "before", BEFORE, 10), taken("1", "after", AFTER, 11)
    )
    assert knowledge.figure("wider").known is not None
    stated = knowledge.figure("gain").stated
    assert isinstance(stated, UnknownResult)
    assert "no call of gamekit bench measured both in turn" in stated.reason
    assert stated.ids == ("after",)


def test_a_figure_that_does_not_count_has_no_ratio() -> None:
    """Disputed, it is no part of a conclusion."""
    name = "20261201-100000-serving-decode-after.decode_rate"
    knowledge = known(*SERIES, GAIN, *call_of("1", BEFORE, AFTER), review("r", "disputes", [name]))
    assert isinstance(knowledge.figure("gain").stated, UnknownResult)


def test_an_earlier_member_in_place_of_the_current_one_leaves_later_calls_out() -> None:
    """As a reader at that time would have had it; without any there is no ratio."""
    later = call_of("2", BEFORE, [1.2 * x for x in AFTER])
    knowledge = known(*SERIES, GAIN, *call_of("1", BEFORE, AFTER), *later)
    instead = {"after": "20261201-100000-serving-decode-after.decode_rate"}
    then = knowledge.figure("gain", instead).known
    assert then is not None
    assert (then.low, then.mid, then.high) == pytest.approx(student(LOGS, 2.776445))
    assert isinstance(knowledge.figure("gain", {"before": None}).stated, UnknownResult)


def test_a_claim_is_not_measured() -> None:
    """Two computed figures have no pairs: an error that says what to name."""
    knowledge = known(*SERIES, GAIN, claim("c", "in_turn([gain], [before])"))
    with pytest.raises(FormulaError, match="gain is a claim, which nobody measures in turn"):
        knowledge.figure("c")
