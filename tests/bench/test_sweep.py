"""Settings: pairs become cases, in order, and nothing unknown is taken silently."""

from __future__ import annotations

import pytest

from gamekit.bench.discovery import discover
from gamekit.bench.sweep import cases_of, parse_settings
from gamekit.errors import UsageFault

SERVING = discover(None).benchmarks["serving_decode"]


def test_lists_make_every_combination_the_last_key_fastest() -> None:
    """Two lists of two are four cases in the order given; all other parameters have defaults."""
    settings = parse_settings(["max_tokens=64,128", "concurrency=2,1"], [SERVING])
    cases = cases_of(SERVING, settings)
    pairs = [(one["max_tokens"], one["concurrency"]) for one in cases]
    assert pairs == [(64, 2), (64, 1), (128, 2), (128, 1)]
    assert {one["requests"] for one in cases} == {7}


def test_without_settings_there_is_one_case() -> None:
    """The defaults are one case."""
    (case,) = cases_of(SERVING, {})
    assert case.keys() == {one.name for one in SERVING.parameters}


def test_settings_of_other_benchmarks_are_left_out() -> None:
    """A key of one selected benchmark does not reach another that has no such parameter."""
    floor = discover(None).benchmarks["client_floor"]
    settings = parse_settings(["max_tokens=64"], [SERVING, floor])
    assert len(cases_of(floor, settings)) == 1
    assert "max_tokens" not in cases_of(floor, settings)[0]


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["requests"], "no pair"),
        (["=3"], "no pair"),
        (["requests="], "no pair"),
        (["request=3"], "did you mean requests"),
        (["zzz=3"], "there are: api"),
        (["requests=3", "requests=4"], "given twice"),
    ],
)
def test_what_is_no_setting_is_refused(pairs: list[str], says: str) -> None:
    """Each kind of mistake is a usage error with its remedy."""
    with pytest.raises(UsageFault, match=says):
        parse_settings(pairs, [SERVING])


@pytest.mark.parametrize("values", ["3,3", "3,x", "0", "3,", "1_7", "\u0661\u0667"])
def test_values_that_are_not_allowed_are_refused(values: str) -> None:
    """A repeated value, one of another type and one out of range are usage errors."""
    with pytest.raises(UsageFault, match="requests="):
        cases_of(SERVING, parse_settings([f"requests={values}"], [SERVING]))


@pytest.mark.parametrize("pairs", [("concurrency=4", "rate=3"), ("requests=4", "duration=3")])
def test_parameters_that_do_not_fit_together_are_refused_with_the_cases(
    pairs: tuple[str, str],
) -> None:
    """Two loads or two ends are told before an engine is started for them."""
    load = discover(None).benchmarks["serving_load"]
    with pytest.raises(UsageFault, match="give one"):
        cases_of(load, parse_settings(pairs, [load]))
