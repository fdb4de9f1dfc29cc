"""The cost of a speculative cycle: the stand-in's truth, and engines that time themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launchable import script, simulate
from workbench import engine, knowledge_base

from gamekit.bench.engine_cycle import new_step_times_ms, tick_cycle_ms
from gamekit.bench.runner import RunOutcome, run_benchmarks
from gamekit.errors import NotApplicable
from gamekit.findings import Case, Measurement
from gamekit.launch.log import EngineLog, Tick
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.engine import LEDGER_ROUTE
from gamekit.stand_in.process import StandInEngine
from gamekit.store.load import load

DATA = Path(__file__).parent.parent / "data" / "recordings"
SPECULATING = {
    "/server_info": {
        "model_path": "lab/tiny",
        "version": "0.5.23",
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
    },
}
PLAIN = {"/server_info": {"model_path": "lab/tiny", "speculative_algorithm": None}}
FEW = ["requests=3", "max_tokens=9", "warmup=0"]
WIRING = "is a wiring fault until shown otherwise"


def cycles(root: Path | None = None, **options: Any) -> list[RunOutcome]:
    return run_benchmarks(root, ["speculation_cycle"], command=["gamekit", "bench"], **options)


def case_of(outcome: RunOutcome) -> Case:
    assert outcome.record is not None
    assert outcome.record.run.outcome == "done", outcome.record.run.reason
    return outcome.record.run.cases[0]


def figures(outcome: RunOutcome) -> dict[str, Measurement]:
    assert outcome.record is not None
    return {one.metric: one for one in outcome.record.findings if isinstance(one, Measurement)}


def speculated(tokens: int, correct: int | None) -> list[dict[str, Any]]:
    """sglang's events of an answer, a verify a token; ``correct`` None hides the counts."""
    counts = {} if correct is None else {"spec_verify_ct": tokens - 1}
    if correct is not None:
        counts["spec_num_correct_drafts"] = correct
    return [
        {
            "text": "x" * n,
            "meta_info": {
                "completion_tokens": n,
                "prompt_tokens": 40,
                "finish_reason": {"type": "length"} if n == tokens else None,
                **(counts if n == tokens else {}),
            },
        }
        for n in range(1, tokens + 1)
    ]


def test_the_cycle_of_the_stand_in_is_found(tmp_path: Path) -> None:
    """Cycle, accept length and rate are the stand-in's own; its clock nobody knows, and why."""
    root = knowledge_base(tmp_path)
    config = SimulatorConfig(prefill_ms=50, cycle_ms=20, accept_len=2.5, steps=3)
    with StandInEngine(config) as stand_in:
        (outcome,) = cycles(
            root, urls=[stand_in.url], settings=["requests=5", "max_tokens=101"], append=True
        )
        with urlopen(f"{stand_in.url}{LEDGER_ROUTE}") as ledger:  # noqa: S310 - our own server
            sent = [one["sent_ns"] for one in json.load(ledger)]
    found = figures(outcome)
    samples = found["cycle_time"].value.samples
    assert samples is not None
    # On a busy machine the stand-in itself may be late: the truth is when it really sent.
    truth = [(times[-1] - times[0]) / 40 / 1e6 for times in sent if len(times) == 41][-5:]
    errors = [abs(sample / true - 1) for sample, true in zip(samples, truth, strict=True)]
    assert median(errors) < 0.02
    assert median(truth) == pytest.approx(20, rel=0.2)
    assert found["accept_length"].value.samples == [2.5] * 5
    assert found["decode_rate"].value.sample_count == 5
    assert "SGLANG_RECORD_STEP_TIME=1" in (found["engine_cycle_time"].value.unknown or "")
    case = load(root).runs[outcome.record.run.id].cases[0]  # type: ignore[union-attr]
    assert case.samples["verify_count"] == [40] * 5
    assert "no split of it" in str(case.facts["identifies"])
    assert "client_floor" in case.facts
    assert (case.subject.steps, case.subject.concurrency, case.subject.output_tokens) == (3, 1, 101)
    assert not any(WIRING in warning for warning in case.warnings)


def test_a_sweep_of_launched_engines_gives_a_cycle_each() -> None:
    """Every start of the stand-in gives the cycle time that it was started with."""
    outcomes = cycles(
        launches=[simulate("--prefill-ms 5 --accept-len 2 --steps 2 --cycle-ms {cycle}")],
        settings=["requests=3", "max_tokens=41", "cycle=10,40"],
    )
    for one in outcomes:
        assert "tells none of its times" in (figures(one)["engine_cycle_time"].value.unknown or "")
    typical = [median(figures(one)["cycle_time"].value.samples or ()) for one in outcomes]
    # Far enough apart that a busy machine makes none the other.
    assert typical == [pytest.approx(10, rel=0.4), pytest.approx(40, rel=0.2)]


def test_an_engine_known_not_to_speculate_is_refused_before_any_request() -> None:
    """It has no speculative cycle, by its own word or by the user's."""
    bodies: list[bytes] = []
    with (
        engine(PLAIN, speculated(9, None), bodies=bodies) as url,
        pytest.raises(NotApplicable, match="does not speculate"),
    ):
        cycles(urls=[url], settings=FEW)
    with (
        engine({"/server_info": {"model_path": "m"}}, speculated(9, 8), bodies=bodies) as url,
        pytest.raises(NotApplicable, match="does not speculate"),
    ):
        cycles(urls=[url], settings=FEW, subject=["speculation=none"])
    assert bodies == []


def test_the_route_without_counters_is_refused_before_any_request() -> None:
    """OpenAI's route tells no verifies: the native one is needed, and the error says so."""
    bodies: list[bytes] = []
    with (
        engine(SPECULATING, [], bodies=bodies) as url,
        pytest.raises(NotApplicable, match="native route: --set api=sglang"),
    ):
        cycles(urls=[url], settings=[*FEW, "api=openai"])
    assert bodies == []


def test_where_no_benchmark_is_named_an_engine_without_speculation_skips_this_one() -> None:
    """A call for all benchmarks measures a baseline by the others, and says why not by this."""
    events = speculated(9, None)
    with engine(PLAIN, events, gap_s=0.001) as url:
        outcomes = run_benchmarks(
            None,
            urls=[url],
            settings=["requests=2", "repeats=1", "max_tokens=9", "warmup=0", "chunks=10"],
        )
    by_name = {one.benchmark: one for one in outcomes}
    assert by_name["serving_decode"].measured
    assert "does not speculate" in (by_name["speculation_cycle"].skipped or "")
    assert all(one.fault is None for one in outcomes)


def test_an_engine_that_hides_its_verifies_gives_no_cycle() -> None:
    """Without a count of verifies the run has failed, with that reason, and nothing is made up."""
    with engine(SPECULATING, speculated(9, None), gap_s=0.001) as url:
        (outcome,) = cycles(urls=[url], settings=FEW)
    assert outcome.record is not None
    assert outcome.record.run.outcome == "failed"
    assert "no answer told a count of verifies" in (outcome.record.run.reason or "")


@pytest.mark.parametrize(
    ("correct", "subject", "warned"),
    [(0, [], True), (0, ["acceptance=imposed"], False), (4, [], False)],
)
def test_an_acceptance_of_nothing_is_called_a_wiring_fault(
    correct: int, subject: list[str], warned: bool
) -> None:
    """Below 1.05 tokens a cycle the run warns, unless the acceptance was imposed."""
    with engine(SPECULATING, speculated(9, correct), gap_s=0.001) as url:
        (outcome,) = cycles(urls=[url], settings=FEW, subject=subject)
    case = case_of(outcome)
    assert case.samples["accept_length"] == [1 + correct / 8] * 3
    assert any(WIRING in warning for warning in case.warnings) == warned


def test_the_decode_lines_of_the_log_give_the_engines_cycle(tmp_path: Path) -> None:
    """2.00 tokens at 100 tok/s are 20 ms; the line that spans the idle time plays no part."""
    (outcome,) = cycles(launches=[script(tmp_path) + " --steps 3"], settings=[*FEW[:1], "warmup=1"])
    case = case_of(outcome)
    assert figures(outcome)["engine_cycle_time"].value.samples == [20.0] * 3
    assert case.samples["engine_ticks"] == [1] * 3
    fact = case.facts["engine_cycle"]
    assert isinstance(fact, dict)
    assert (fact["sources"], fact["ticks"]) == (["decode lines"], 3)
    # Its stream comes within a few ms: that the two clocks disagree is said.
    assert any("by the engine's own clock a cycle takes 20 ms" in one for one in case.warnings)


def test_the_times_that_an_engine_records_come_before_its_log(tmp_path: Path) -> None:
    """Of each request the median of what is new, without the first, which has idle time in it."""
    launch = script(tmp_path) + " --steps 3 --step-times 9.5,0.011,0.012,0.019"
    (outcome,) = cycles(launches=[launch], settings=FEW[:1])
    assert figures(outcome)["engine_cycle_time"].value.samples == [12.0] * 3
    fact = case_of(outcome).facts["engine_cycle"]
    assert isinstance(fact, dict)
    assert (fact["sources"], fact["ticks"]) == (["step_time_dict"], 9)


def test_without_a_time_that_counts_the_log_is_asked(tmp_path: Path) -> None:
    """A request that saw one recorded time alone has idle time in it: the log's line counts."""
    launch = script(tmp_path) + " --steps 3 --step-times 9.5"
    (outcome,) = cycles(launches=[launch], settings=FEW[:1])
    assert figures(outcome)["engine_cycle_time"].value.samples == [20.0] * 3


def test_times_of_fewer_requests_than_were_sent_do_not_count(tmp_path: Path) -> None:
    """Two are sent at one moment and the engine never ran both: its time is unknown, and why."""
    launch = script(tmp_path) + " --steps 3 --step-times 9.5,0.011,0.012"
    (outcome,) = cycles(launches=[launch], settings=["requests=4", "concurrency=2"])
    assert "not all requests ran" in (figures(outcome)["engine_cycle_time"].value.unknown or "")


@given(st.floats(1, 10), st.floats(1e-3, 1e3), st.integers(1, 100))
def test_a_decode_line_gives_the_time_of_a_cycle(length: float, cycle: float, running: int) -> None:
    """What all requests get in a cycle, over the rate of them all, is its time again."""
    rate = 1000 * length * running / cycle
    fields = {"accept len": length, "gen throughput": rate, "#running-req": float(running)}
    assert tick_cycle_ms(Tick(1, dict(fields))) == pytest.approx(cycle)


def test_the_log_of_a_real_engine_gives_plausible_cycles() -> None:
    """Every decode line of a recorded sglang that counts gives a time within its client's range."""
    with (DATA / "eagle3-sim2.6" / "server.log").open("rb") as file:
        ticks = EngineLog(file.fileno()).ticks()
    times = [tick_cycle_ms(tick) for tick in ticks]
    assert len(times) == 48
    assert times[0] == pytest.approx(1000 * 2.55 / 612.43)
    assert all(one is not None and 3 < one < 10 for one in times)


@pytest.mark.parametrize(
    "fields",
    [
        {"gen throughput": 100.0, "#running-req": 1.0},
        {"accept len": 2.0, "gen throughput": 0.0, "#running-req": 1.0},
        {"accept len": 2.0, "gen throughput": float("nan"), "#running-req": 1.0},
        {"accept len": 0.0, "gen throughput": 100.0, "#running-req": 1.0},
        {"accept len": 2.0, "gen throughput": 100.0, "#running-req": "many"},
    ],
)
def test_a_decode_line_that_makes_no_sense_gives_nothing(fields: dict[str, Any]) -> None:
    """Without speculation, without a rate or with a word for a number there is no cycle."""
    assert tick_cycle_ms(Tick(1, fields)) is None


TIMES = st.lists(st.floats(1e-6, 1e3), max_size=6)


@given(TIMES, TIMES, TIMES)
def test_what_is_new_counts_but_for_the_first(
    before: Sequence[float], new: Sequence[float], other: Sequence[float]
) -> None:
    """Only the list of as many requests counts, and only what came behind its first new entry."""
    after = [{"1": [*before, *new], "2": other}]
    found = new_step_times_ms([{"1": before}], after, 1)
    assert found == [1000 * one for one in new[1:]]


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=6, unique=True), st.data())
def test_a_list_that_shrank_says_nothing(before: Sequence[float], data: st.DataObject) -> None:
    """A list that was begun anew, also one that has grown again since, invalidates."""
    kept = data.draw(st.integers(0, len(before) - 1))
    grown = [2e3 + number for number in range(data.draw(st.integers(0, 9)))]
    assert new_step_times_ms([{"1": before}], [{"1": [*before[:kept], *grown]}], 1) == []
    assert new_step_times_ms([{"1": before}], [], 1) == []


def test_the_prompts_are_unique_and_those_asked_for() -> None:
    """Requests are made as serving_decode makes them: input_ids=N sends so many ids."""
    bodies: list[bytes] = []
    with engine(SPECULATING, speculated(9, 4), gap_s=0.001, bodies=bodies) as url:
        (outcome,) = cycles(urls=[url], settings=[*FEW, "input_ids=40"])
    assert {len(json.loads(body)["input_ids"]) for body in bodies} == {40}
    assert len(set(bodies)) == 3
    assert case_of(outcome).subject.workload == "random-token-ids"
