"""Grades of measurements, derived from source, samples and run."""

from __future__ import annotations

from typing import Any

import pytest

from gamekit.knowledge import Grade

from .bases import (
    ENGINE,
    STAND_IN,
    Data,
    known,
    measurement,
    published,
    run,
    said,
    series,
    steady,
)

AT = "2026-12-01T00:00:00Z"


def grade(item: Data, *others: Data, **of_run: Any) -> Grade | None:
    return known(run("r1", AT, item, *others, **of_run)).grade(item["id"])


def test_enough_steady_samples_of_a_known_engine_are_adequate() -> None:
    """Five samples with a narrow interval of an identified engine need no excuse."""
    assert grade(steady("m", 80, None)) == Grade("adequate")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({"kind": "investigation", "messages": ["7"]}, "reported"),
        (said("2026-11-30"), "reported"),
        (published(), "published"),
    ],
)
def test_the_grade_of_what_no_run_gave_follows_its_source(source: Data, name: str) -> None:
    """Somebody's figure is reported, and what others published of their subject is published."""
    found = known(measurement("m", 80, source=source)).grade("m")
    assert found is not None
    assert found.name == name


def test_samples_that_somebody_gives_are_held_to_what_they_show() -> None:
    """A figure with its samples is reported while they agree, and inadequate where they scatter."""
    wild = known(series("rate"), measurement("m", [1.0, 1000.0, 5.0, 90000.0], series="rate"))
    assert str(wild.grade("m")).startswith("inadequate: the interval is")
    assert wild.series("rate").current is None
    agreeing = known(series("rate"), measurement("m", [80.0, 81.0, 79.0], series="rate"))
    assert str(agreeing.grade("m")) == "reported"


def test_too_few_samples_are_inadequate_and_counted() -> None:
    """Three of five samples are inadequate, with both numbers."""
    assert grade(measurement("m", [80.0, 80.1, 80.2])) == Grade("inadequate", ("n = 3 of 5",))


def test_a_wide_interval_is_inadequate() -> None:
    """Five samples whose interval is wider than 10 % to either side say so."""
    found = grade(measurement("m", [80.0, 50.0, 110.0, 60.0, 100.0]))
    assert found is not None
    assert found.name == "inadequate"
    assert found.why == ("the interval is ±40% wide, more than ±10%",)


def test_a_figure_without_its_samples_needs_their_number_and_an_interval() -> None:
    """A run's bare figure is inadequate for want of a count and of an interval."""
    assert grade(measurement("m", 80)) == Grade(
        "inadequate", ("the number of samples is unknown", "no interval")
    )


def test_a_flaw_that_the_benchmark_saw_makes_it_inadequate() -> None:
    """What a run says against its own figure is the reason."""
    found = grade(steady("m", 80, None, flaws=["the client could not keep up"]))
    assert found == Grade("inadequate", ("the client could not keep up",))


@pytest.mark.parametrize(
    ("engine", "environment", "why"),
    [
        ({"stand_in": False}, {}, ("the engine is not identified",)),
        ({"stand_in": False, "name": "vllm"}, {}, ("the version of the engine is unknown",)),
        ({"stand_in": False}, {"engine": "vllm", "engine_version": "0.20.0"}, ()),
        (None, {}, ()),
    ],
)
def test_an_engine_has_to_be_identified(engine: Data, environment: Data, why: tuple[str]) -> None:
    """Where there is an engine, it or the environment has to tell its name and version."""
    found = grade(steady("m", 80, None), engine=engine, environment=environment)
    assert found is not None
    assert found.why == why


SPECULATING = {"speculation": "EAGLE3", "steps": 2}
LENGTH = {"samples": [2.0] * 5, "unit": "tok/cycle"}


def test_speculation_without_an_accept_length_is_inadequate() -> None:
    """A speculative rate whose accept length nobody told is inadequate and says so."""
    found = grade(steady("m", 80, None, subject=SPECULATING))
    assert found == Grade("inadequate", ("speculation is on and the accept length is unknown",))


@pytest.mark.parametrize("subject", [{"steps": 2}, {"drafter": "ours"}])
def test_steps_or_a_drafter_mean_speculation(subject: Data) -> None:
    """Speculation counts as on when only its steps or its drafter are known."""
    found = grade(steady("m", 80, None, subject=subject))
    assert found is not None
    assert found.name == "inadequate"


def test_the_accept_length_of_the_same_subject_in_the_run_is_enough() -> None:
    """The rate is adequate when its run measured the accept length of that very subject."""
    item = steady("m", 80, None, subject=SPECULATING)
    length = measurement("l", LENGTH, metric="accept_length", subject=SPECULATING)
    elsewhere = {**length, "subject": {**SPECULATING, "steps": 3}}
    assert grade(item, length) == Grade("adequate")
    assert grade(item, elsewhere) != Grade("adequate")


def test_an_imposed_accept_length_is_known() -> None:
    """An engine that draws accept lengths tells them by its subject."""
    imposed = {**SPECULATING, "acceptance": "imposed", "imposed_accept_length": 2.5}
    assert grade(steady("m", 80, None, subject=imposed)) == Grade("adequate")


def test_what_the_stand_in_gave_is_simulated_whatever_its_samples() -> None:
    """Nothing measured on the stand-in is adequate, and a failed run of it is not real either."""
    for outcome in ({}, {"outcome": "failed", "reason": "it hung"}):
        found = grade(steady("m", 80, None), engine=STAND_IN, **outcome)
        assert found is not None
        assert found.name == "simulated"


@pytest.mark.parametrize(
    ("item", "of_run", "why"),
    [
        (steady("m", 80, None), {"outcome": "failed", "reason": "no answer"}, "the run failed: no"),
        (
            measurement("m", {"unknown": "killed", "unit": "tok/s"}),
            {"outcome": "interrupted", "reason": "killed"},
            "the run was interrupted: killed",
        ),
        (measurement("m", {"unknown": "no chunk came", "unit": "tok/s"}), {}, "no chunk came"),
    ],
)
def test_a_run_that_gave_nothing_failed(item: Data, of_run: Data, why: str) -> None:
    """A run that failed, or a value that is unknown, is failed with the reason."""
    found = grade(item, engine=ENGINE, **of_run)
    assert found is not None
    assert found.name == "failed"
    assert found.why[0].startswith(why)


def test_what_was_finished_before_an_interruption_is_graded_by_its_samples() -> None:
    """A figure of an interrupted run is one that was measured to its end."""
    of_run = {"outcome": "interrupted", "reason": "interrupted by Ctrl-C"}
    found = grade(steady("m", 80, None), engine=ENGINE, **of_run)
    assert found is not None
    assert found.name == "adequate"


def test_a_run_that_tells_of_no_engine_measured_no_target() -> None:
    """A figure of a served model without a word of the engine is not adequate."""
    served = grade(steady("m", 80, None, subject={"target": "K"}), engine=None)
    assert served == Grade("inadequate", ("the engine is not identified",))
    assert grade(steady("m", 80, None), engine=None) == Grade("adequate")


def test_samples_of_two_states_are_inadequate_with_their_figures() -> None:
    """A rate that falls from one level to another within a run is the mean of no state."""
    modes = "80.05 (n = 4) and 90.05 tok/s (n = 4)"
    found = grade(measurement("m", [80.0, 80.2, 79.9, 80.1, 90.0, 90.1, 90.2, 89.9]))
    assert found == Grade(
        "inadequate",
        (f"unstable: has two modes, {modes}, and changes over at sample 5",),
    )


def test_a_small_drift_is_no_reason_against_a_figure() -> None:
    """A trend of half a percent, however certain, leaves the figure adequate."""
    assert grade(measurement("m", [79.8, 79.9, 80.0, 80.1, 80.2])) == Grade("adequate")


SPECULATION = {"speculation": "EAGLE3", "steps": 3, "acceptance": "natural"}
EASY_AND_HARD = [2.0, 2.01, 1.99, 2.0, 2.3, 2.31, 2.29, 2.3]


def test_a_rate_that_follows_the_accept_length_is_steady() -> None:
    """Prompts of two kinds give two rates under speculation: at equal accept length there is one.

    Without the accept lengths of the same requests nothing can be said, and nothing is.
    """
    rates = [40 * length for length in EASY_AND_HARD]
    lengths = measurement(
        "lengths",
        {"samples": EASY_AND_HARD, "unit": "tok/cycle"},
        metric="accept_length",
        subject=SPECULATION,
    )
    assert grade(measurement("m", rates, subject=SPECULATION), lengths) == Grade("adequate")
    short = {**lengths, "value": {"samples": EASY_AND_HARD[:-1], "unit": "tok/cycle"}}
    assert grade(measurement("m", rates, subject=SPECULATION), short) == Grade("adequate")
    unmoved = measurement("m", [80.0] * 4 + [92.0] * 4, subject=SPECULATION)
    steady_lengths = {**lengths, "value": {"samples": [2.0] * 8, "unit": "tok/cycle"}}
    found = grade(unmoved, steady_lengths)
    assert found is not None
    assert found.name == "inadequate"


def test_accept_lengths_are_those_of_the_same_case() -> None:
    """Of two cases of an equal subject each rate goes with the lengths of its own requests."""
    rates = [40 * length for length in EASY_AND_HARD]
    steady_lengths, own = (
        measurement(
            f"r.{number}.accept_length",
            {"samples": samples, "unit": "tok/cycle"},
            metric="accept_length",
            subject=SPECULATION,
        )
        for number, samples in ((1, [2.0] * 8), (2, EASY_AND_HARD))
    )
    found = grade(measurement("r.2.decode_rate", rates, subject=SPECULATION), steady_lengths, own)
    assert found == Grade("adequate")
    found = grade(measurement("r.1.decode_rate", rates, subject=SPECULATION), steady_lengths, own)
    assert found is not None
    assert found.name == "inadequate"


@pytest.mark.parametrize(
    ("metric", "unit", "subject", "name"),
    [
        ("ttft", "ms", {}, "adequate"),
        ("ttft", "ms", {"input_tokens": 64}, "inadequate"),
        ("ttft", "ms", {"input_tokens": 64, "concurrency": 16}, "adequate"),
        ("ttft", "ms", {"input_tokens": 64, "parameters": {"rate": 4.0}}, "adequate"),
        ("accept_length", "tok/cycle", {}, "adequate"),
    ],
)
def test_what_differs_by_nature_is_not_held_against_a_figure(
    metric: str, unit: str, subject: Data, name: str
) -> None:
    """Prompts of several lengths, requests that wait for each other, and texts differ by nature."""
    value = {"samples": [80.0, 90.0] * 4, "unit": unit}
    found = grade(measurement("m", value, metric=metric, subject=subject))
    assert found is not None
    assert found.name == name
