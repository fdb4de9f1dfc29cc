"""``gamekit compare``: findings, runs and series, B against A."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gamekit.commands.failures import run
from gamekit.strict_yaml import write_yaml

from .conftest import Command, parsed
from .rates import SUBJECT, around, run_file

DAY = "2026-12-01"
BETTER, WORSE, NO_ANSWER, USAGE = 0, 4, 5, 2


@pytest.fixture
def compared(base: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Compares two ids as JSON: the exit code and what was printed."""

    def command(a: str, b: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run(["compare", a, b, "--json"])
        return code, parsed(capsys.readouterr().out)

    return command


def test_a_better_run_is_exit_0_with_the_keys_of_the_contract(base: Path, compared) -> None:
    """Every shared metric with verdict, ratio and both sides, and how the two differ."""
    run_file(base, "one", around(80), hour=1)
    run_file(base, "two", around(88), hour=3, driver="575")
    code, told = compared("one", "two")
    assert code == BETTER
    assert (told["a"]["id"], told["b"]["id"], told["verdict"]) == ("one", "two", "better")
    (metric,) = told["metrics"]
    assert {"metric", "unit", "better", "verdict", "ratio", "a", "b", "reason"} <= set(metric)
    assert (metric["metric"], metric["unit"], metric["better"]) == (
        "decode_rate",
        "tok/s",
        "higher",
    )
    assert metric["ratio"]["low"] < metric["ratio"]["mid"] < metric["ratio"]["high"]
    assert metric["ratio"]["mid"] == pytest.approx(1.1, abs=0.001)
    assert told["subject_differs"] == []
    (differ,) = told["environment_differs"]
    assert (differ["field"], differ["a"], differ["b"]) == ("driver", "570", "575")


def test_worse_is_exit_4_by_the_direction_of_the_metric(base: Path, compared) -> None:
    """A lower rate is worse; one metric that is better does not change that."""
    quick, slow = (
        {
            "id": f"{name}.ttft",
            "metric": "ttft",
            "value": {"samples": around(value), "unit": "ms"},
        }
        for name, value in (("one", 40), ("two", 30))
    )
    run_file(base, "one", around(88), more=[quick])
    run_file(base, "two", around(80), hour=3, more=[slow])
    code, told = compared("one", "two")
    assert code == WORSE
    assert {one["metric"]: one["verdict"] for one in told["metrics"]} == {
        "decode_rate": "worse",
        "ttft": "better",
    }


def test_no_difference_is_exit_5_with_what_would_have_been_seen(base: Path, compared) -> None:
    """Equal within a margin is inconclusive, and says which difference would have been seen."""
    run_file(base, "one", around(80))
    run_file(base, "two", around(80.05), hour=3)
    code, told = compared("one.decode_rate", "two.decode_rate")
    assert (code, told["verdict"]) == (NO_ANSWER, "inconclusive")
    (metric,) = told["metrics"]
    assert 0 < metric["detectable"] < 0.01
    assert "would be seen in 80 % of such comparisons" in metric["reason"]


def test_a_figure_without_samples_is_insufficient(base: Path, compared) -> None:
    """Somebody's figure has no spread to judge by: exit 5, with the ratio as stated."""
    code, told = compared("rate-old", "rate-new")
    assert (code, told["verdict"]) == (NO_ANSWER, "insufficient")
    assert "its samples were not kept" in told["metrics"][0]["reason"]


def test_other_subjects_are_named_before_the_verdict(base: Path, gamekit) -> None:
    """The text says first that different things are compared, and which field differs."""
    run_file(base, "one", around(80))
    run_file(base, "two", around(88), hour=3, subject={"speculation": "EAGLE3", "steps": 2})
    told = gamekit("compare", "one", "two")
    assert told.index("different things (A against B): speculation none against EAGLE3") < (
        told.index("decode_rate")
    )


def test_another_boot_alone_is_said_in_words(base: Path, gamekit) -> None:
    """Where nothing else that was recorded differs, the comparison says so."""
    run_file(base, "one", around(60))
    run_file(base, "two", around(94), hour=3, boot="b2")
    told = " ".join(gamekit("compare", "one", "two").split())
    assert "nothing recorded differs but the boot (boot b1 → b2)" in told


def test_what_was_set_otherwise_in_the_engines_is_named(base: Path, compared) -> None:
    """What launches set and what engines tell of themselves is told once, without ports."""
    serve = "serve --kv-cache fp8 --port 31001 --steps 2"
    run_file(
        base,
        "one",
        around(60),
        launch=f"MODE=a {serve}",
        engine={"description": {"steps": 2, "simulated": {"cycle_ms": 30.0, "x": None}}},
    )
    run_file(
        base,
        "two",
        around(94),
        hour=3,
        launch="MODE=b serve --kv-cache bf16 --port 31002 --steps 3 --fast",
        engine={"description": {"steps": 3, "simulated": {"cycle_ms": 20.0, "x": None}}},
    )
    _, told = compared("one", "two")
    assert {item["field"]: (item["a"], item["b"]) for item in told["environment_differs"]} == {
        "engine.steps": ("2", "3"),
        "engine.simulated.cycle_ms": ("30.0", "20.0"),
        "launch.MODE": ("a", "b"),
        "launch.--kv-cache": ("fp8", "bf16"),
        "launch.--fast": ("not set", "set"),
    }


def test_members_of_other_engine_settings_are_no_replicates(base: Path, compared) -> None:
    """A start of an engine that was set otherwise does not stand beside the current figure."""
    for hour, (rate, depth) in enumerate(((40, 1), (80, 2), (82, 2)), start=1):
        described = {"description": {"depth": depth}}
        run_file(base, f"run-{hour}", around(rate), start=f"s{hour}", hour=hour, engine=described)
    run_file(base, "other", around(81), hour=9, start="s9", subject={"host": "other"})
    _, told = compared("rate", "other")
    assert told["metrics"][0]["a"]["starts"] == 2


def test_series_of_the_stand_in_are_compared_as_such(base: Path, compared) -> None:
    """What never counts as a figure is compared with its like, by its newest members."""
    declared = {"id": "waits", "kind": "series", "title": "Waits", "metric": "ttft", "unit": "ms"}
    declared |= {"better": "lower", "source": {"kind": "person", "name": "Ada", "said": DAY}}
    data = {"schema": 1, "title": "Waits", "findings": [declared | {"match": {}}]}
    (base / "findings" / "waits.yaml").write_text(write_yaml(data), encoding="utf-8")
    for hour, wait in enumerate((400, 402, 200), start=1):
        name, value = f"run-{hour}", {"samples": around(wait), "unit": "ms"}
        figure = {"id": f"{name}.ttft", "metric": "ttft", "value": value}
        more = [figure | ({"series": "waits"} if hour < 3 else {})]
        engine = {"stand_in": True}
        run_file(base, name, around(80), start=f"s{hour}", hour=hour, more=more, engine=engine)
    code, told = compared("waits", "run-3.ttft")
    assert (code, told["metrics"][0]["a"]["starts"]) == (BETTER, 2)
    assert told["metrics"][0]["notes"] == ["both are of the stand-in engine"]


@pytest.mark.parametrize(("a", "b"), [("one", "two"), ("two", "one")])
def test_the_stand_in_against_a_real_engine_is_no_answer(
    base: Path, compared, refused, a: str, b: str
) -> None:
    """Between a simulated and a measured figure there is no verdict and no ratio."""
    run_file(base, "one", around(80), engine={"stand_in": True})
    run_file(base, "two", around(160), hour=2)
    code, told = compared(a, b)
    assert (code, told["verdict"]) == (NO_ANSWER, "insufficient")
    assert told["metrics"][0]["ratio"] is None
    assert "is of the stand-in engine and" in told["metrics"][0]["reason"]
    assert "compare two of the stand-in engine" in refused(5, "compare", a, b)


def test_a_series_is_compared_by_its_server_starts(base: Path, compared) -> None:
    """Members that differ in start and boot alone are replicates; one of another driver is not."""
    for hour, rate in enumerate((80, 84, 82), start=1):
        run_file(base, f"run-{hour}", around(rate), start=f"s{hour}", hour=hour)
    run_file(base, "older", around(20), start="s0", hour=0, driver="550")
    run_file(base, "single", around(81), hour=9, start="s9", subject={"host": "other"})
    code, told = compared("single.decode_rate", "rate")
    (metric,) = told["metrics"]
    assert (metric["a"]["starts"], metric["b"]["starts"]) == (1, 3)
    assert metric["basis"] == "starts of one side"
    assert code == NO_ANSWER


def test_a_series_is_compared_with_its_own_member_without_it(base: Path, compared) -> None:
    """The newest run is the current figure: against its series it meets the one before."""
    run_file(base, "one", around(80), hour=1, start="s1")
    run_file(base, "two", around(88), hour=3, start="s2")
    code, told = compared("rate", "two.decode_rate")
    assert code == BETTER
    assert told["metrics"][0]["a"]["figure_of"] == "one.decode_rate"
    assert told["metrics"][0]["a"]["starts"] == 1


def test_runs_of_one_command_at_one_time_are_compared_in_pairs(base: Path, compared) -> None:
    """Samples taken in turn are paired, so that a drift of both cancels; others are not."""
    a = [100.0, 95.0, 90.1, 85.0, 80.2]
    run_file(base, "one", a)
    run_file(base, "two", [1.02 * x + step / 50 for step, x in enumerate(a)])
    run_file(base, "later", [1.02 * x + step / 50 for step, x in enumerate(a)], hour=5)
    _, told = compared("one", "two")
    assert told["metrics"][0]["basis"] == "pairs"
    _, told = compared("one", "later")
    assert told["metrics"][0]["basis"] == "samples"
    assert told["verdict"] == "inconclusive"


def test_samples_of_two_states_give_no_verdict(base: Path, compared) -> None:
    """Where a side is unstable the interval does not count, unless no sample overlaps."""
    modes = [80.0, 80.1, 80.2, 79.9, 84.9, 85.1, 85.0, 85.2]
    run_file(base, "one", around(79.95))
    run_file(base, "two", modes, hour=3)
    code, told = compared("one", "two")
    assert code == NO_ANSWER
    assert "B has two modes" in told["metrics"][0]["reason"]
    run_file(base, "slow", around(40), hour=5)
    code, told = compared("slow", "two")
    assert code == BETTER
    assert (
        "every sample of one is beyond every sample of the other" in (told["metrics"][0]["reason"])
    )


def test_cases_of_a_sweep_meet_by_their_subject(base: Path, compared) -> None:
    """What has no counterpart is listed, and what has one meets it and no other."""
    extra = {
        "id": "one.deep",
        "metric": "decode_rate",
        "value": {"samples": around(99), "unit": "tok/s"},
        "subject": SUBJECT | {"input_tokens": 4096},
    }
    run_file(base, "one", around(80), more=[extra])
    run_file(base, "two", around(88), hour=3)
    _, told = compared("one", "two")
    assert [(one["a"]["id"], one["b"]["id"]) for one in told["metrics"]] == [
        ("one.decode_rate", "two.decode_rate")
    ]
    assert told["unmatched"] == ["one.deep"]


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("rate-new", "nothing-there", "no finding and no run 'nothing-there'"),
        ("rate-new", "cost", "is of decode_rate, and cost of cycle_time"),
        ("rate-new", "stated-gain", "is a claim"),
    ],
)
def test_what_cannot_be_compared_is_exit_2(base: Path, refused, a: str, b: str, why: str) -> None:
    """An unknown id, another metric, and what is no figure are usage errors."""
    assert why in refused(USAGE, "compare", a, b)


def test_a_flaw_of_a_figure_is_told_with_the_verdict(base: Path, compared) -> None:
    """What a run saw against its own figure does not change the verdict, and is not left out."""
    slow = {
        "id": "two.ttft",
        "metric": "ttft",
        "value": {"samples": around(30), "unit": "ms"},
        "flaws": ["the client could not keep up"],
    }
    run_file(base, "one", around(80), more=[slow | {"id": "one.ttft", "flaws": []}])
    run_file(base, "two", around(88), hour=3, more=[slow])
    _, told = compared("one", "two")
    assert {one["metric"]: one["notes"] for one in told["metrics"]} == {
        "decode_rate": [],
        "ttft": ["B: the client could not keep up"],
    }
    ttft = next(one for one in told["metrics"] if one["metric"] == "ttft")
    assert (ttft["verdict"], ttft["ratio"]["mid"]) == ("inconclusive", 1.0)


def test_figures_of_different_benchmarks_are_told_as_such(base: Path, compared) -> None:
    """What two benchmarks measure under one name is compared, and the reader is told."""
    run_file(base, "one", around(80))
    run_file(base, "two", around(88), hour=3, benchmark="serving_load")
    _, told = compared("one", "two")
    assert told["metrics"][0]["notes"] == [
        "different benchmarks: A is of serving_decode, B of serving_load"
    ]


def test_show_of_a_member_says_that_its_series_shifted_and_why(
    base: Path, gamekit: Command
) -> None:
    """A figure's own page explains the shift: ranked fields, or that only the boot differs."""
    run_file(base, "r1", around(90), hour=1, nccl="2.27.3")
    run_file(base, "r2", around(60), hour=2, nccl="2.28.9", driver="575", boot="b2")
    told = parsed(gamekit("show", "r1.decode_rate", "--json"))["shifted"]
    assert (told["series"], told["after"]) == ("rate", "r2.decode_rate")
    assert [item["field"] for item in told["environment_differs"]] == ["driver", "nccl", "boot"]
    shown = " ".join(gamekit("show", "r2.decode_rate").split())
    assert "rate shifted by -33.3% (worse): r1.decode_rate → r2.decode_rate" in shown
    assert "environments: driver 570 → 575; nccl 2.27.3 → 2.28.9; boot b1 → b2" in shown


def test_show_says_where_only_the_boot_differs_and_that_it_is_gone(
    base: Path, gamekit: Command
) -> None:
    """The case of the source: nothing else recorded differs, and the rate did not come back."""
    run_file(base, "r1", around(90), hour=1)
    run_file(base, "r2", around(60), hour=2, boot="b2")
    first = " ".join(gamekit("show", "r1.decode_rate").split())
    assert "nothing recorded differs but the boot (boot b1 → b2)" in first
    assert "unreproduced" in first
    assert (
        "boot: of an earlier boot of box than the newest known, on which r2.decode_rate was"
        " measured" in first
    )
    second = " ".join(gamekit("show", "r2.decode_rate").split())
    assert "boot: of the newest boot known of box" in second


def sweep_file(base: Path, name: str, factor: float, hour: int = 1) -> None:
    """Put a run without a server into the base: four cases of a sweep, each with two metrics."""
    cases = [
        {"parameters": {"bytes": size, "setting": setting, "repeats": 5, "python": None}}
        for size in (8192, 57344)
        for setting in ("none", "NCCL_PROTO=LL")
    ]
    findings = [
        {
            "id": f"{name}.{number}.{metric}",
            "kind": "measurement",
            "title": "A figure",
            "source": {"kind": "run", "run": name},
            "subject": {
                "host": "box",
                "parameters": {
                    key: case["parameters"][key]
                    for key in ("bytes", "setting")
                    if case["parameters"][key] != "none"
                },
            },
            "metric": metric,
            "value": {"samples": around(factor * rate), "unit": unit},
        }
        for number, case in enumerate(cases, start=1)
        for metric, rate, unit in (("allreduce_latency", 20, "us"), ("bus_bandwidth", 3, "GB/s"))
    ]
    head = {
        "id": name,
        "benchmark": "nccl_allreduce",
        "command": ["gamekit", "bench", "nccl_allreduce"],
        "gamekit_version": "0.1.0",
        "started": f"2026-12-01T{hour:02}:00:00Z",
        "finished": f"2026-12-01T{hour:02}:30:00Z",
        "outcome": "done",
        "environment": {"driver": "570", "boot": "b1"},
        "cases": cases,
    }
    folder = base / "findings" / "measured" / "2026-12"
    folder.mkdir(parents=True, exist_ok=True)
    text = write_yaml({"schema": 1, "run": head, "findings": findings})
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_cases_of_a_sweep_are_named_by_what_differs_among_them(
    base: Path, compared, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row has the swept parameters, also those left at default, and none that is constant."""
    sweep_file(base, "one", 1)
    sweep_file(base, "two", 1.0001, hour=3)
    _, told = compared("one", "two")
    cases = [one["case"] for one in told["metrics"] if one["metric"] == "allreduce_latency"]
    assert cases == [
        {"bytes": size, "setting": setting}
        for size in (8192, 57344)
        for setting in ("none", "NCCL_PROTO=LL")
    ]
    run(["compare", "one", "two"])
    shown = capsys.readouterr().out
    assert "allreduce_latency (bytes 57344, setting NCCL_PROTO=LL)  " in shown
    assert "one.4." not in shown


def test_what_is_said_of_many_rows_is_said_once(
    base: Path, compared, capsys: pytest.CaptureFixture[str], refused: Callable[..., str]
) -> None:
    """With the count of rows; and without a server the hint asks for repeats, not requests."""
    sweep_file(base, "one", 1)
    sweep_file(base, "two", 1.0001, hour=3)
    hint = refused(NO_ANSWER, "compare", "one", "two")
    assert "--set repeats=N" in hint
    assert "--url" not in hint
    capsys.readouterr()
    run(["compare", "one", "two"])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("samples within one run each") == 1
    assert "8 of 8 rows: a difference of" in shown


def test_of_a_server_the_hint_asks_for_requests(base: Path, refused: Callable[..., str]) -> None:
    """Where requests were sent, more of them, or two servers in turn, tell more."""
    run_file(base, "one", around(80))
    run_file(base, "two", around(80.05), hour=3)
    assert "more requests, or in turn" in refused(NO_ANSWER, "compare", "one", "two")


def test_an_inadequate_figure_is_marked_in_its_row(base: Path, gamekit: Command) -> None:
    """Samples that spread too widely may tell two sides apart: the row says what they are."""
    run_file(base, "one", around(100.0))
    run_file(base, "two", [150.0, 250.0, 190.0, 300.0, 220.0])
    (row,) = [line for line in gamekit("compare", "one", "two").splitlines() if "tok/s" in line]
    assert "100.0 tok/s (n = 5)  " in row
    assert "222 tok/s (n = 5, inadequate)" in row


def test_of_two_in_turn_the_hint_asks_for_more_requests_alone(
    base: Path, refused: Callable[..., str]
) -> None:
    """What was measured in turn already is not to be measured in turn."""
    run_file(base, "one", around(100.0))
    run_file(base, "two", [100.0, 99.9, 100.3, 100.0, 99.8])
    assert "--set requests=N" in refused(NO_ANSWER, "compare", "one", "two")
