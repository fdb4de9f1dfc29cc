"""The load benchmark against the stand-in engine, whose truth is known, and a metered server."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from metered import Metered, metered
from workbench import engine, knowledge_base

from gamekit.bench.runner import RunOutcome, run_benchmarks
from gamekit.errors import UsageFault
from gamekit.findings import Case, Measurement
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.store.load import load

CONFIG = SimulatorConfig(prefill_ms=60, cycle_ms=10, accept_len=2.0, steps=2)
# 1 token of the prefill, then 16 cycles of 2.
TOKENS = 33
LATENCY_MS = 60 + 16 * 10


def loading(url: str, *settings: str, root: Path | None = None, **options: Any) -> RunOutcome:
    (outcome,) = run_benchmarks(
        root,
        ["serving_load"],
        urls=[url],
        settings=settings,
        command=["gamekit", "bench"],
        **options,
    )
    assert outcome.record is not None
    return outcome


def case_of(outcome: RunOutcome) -> Case:
    assert outcome.record is not None
    return outcome.record.run.cases[0]


def figures(outcome: RunOutcome) -> dict[str, Measurement]:
    assert outcome.record is not None
    return {one.metric: one for one in outcome.record.findings if isinstance(one, Measurement)}


def table(case: Case) -> list[dict[str, Any]]:
    """The rows of the raw samples."""
    return [
        dict(zip(case.samples, row, strict=True))
        for row in zip(*case.samples.values(), strict=True)
    ]


def samples(outcome: RunOutcome, metric: str) -> list[float]:
    found = figures(outcome)[metric].value.samples
    assert found is not None
    return [float(one) for one in found]


def test_the_truth_of_the_stand_in_is_found_in_a_closed_loop(tmp_path: Path) -> None:
    """4 slots: throughput 4 answers a latency, TTFT, time per token and accept length as given.

    A repetition is a sample: of what belongs to a request, the mean over its steady state.
    """
    root = knowledge_base(tmp_path)
    with StandInEngine(CONFIG) as stand_in:
        outcome = loading(
            stand_in.url,
            "concurrency=4",
            "requests=20",
            "repeats=3",
            f"max_tokens={TOKENS}",
            root=root,
            append=True,
        )
    # A busy machine can only make things slower: the best replicate is the one to judge.
    throughput = 4 * TOKENS / LATENCY_MS * 1000
    assert max(samples(outcome, "output_throughput")) == pytest.approx(throughput, rel=0.05)
    assert max(samples(outcome, "request_rate")) == pytest.approx(4000 / LATENCY_MS, rel=0.05)
    assert min(samples(outcome, "ttft")) == pytest.approx(60, rel=0.05)
    assert min(samples(outcome, "request_latency")) == pytest.approx(LATENCY_MS, rel=0.05)
    # Not the time per token: a first token that came late makes what follows faster.
    assert median(samples(outcome, "time_per_output_token")) == pytest.approx(5, rel=0.05)
    assert set(samples(outcome, "accept_length")) == {2.0}
    assert len(samples(outcome, "output_throughput")) == 3
    case = case_of(outcome)
    rows = table(case)
    assert [row["part"] for row in rows] == [None, *["request"] * 20] * 3
    # The first request of each slot is the ramp, and in no mean of a figure.
    assert [row["phase"] for row in rows].count("ramp") == 12
    for repetition, ttft in enumerate(samples(outcome, "ttft"), start=1):
        steady = [
            float(row["ttft"])
            for row in rows
            if row["repetition"] == repetition and row["phase"] == "steady"
        ]
        assert len(steady) > 10
        assert ttft == pytest.approx(fmean(steady))
    known = load(root).runs[outcome.record.run.id] if outcome.record else None
    assert known is not None
    facts: Any = known.cases[0].facts
    assert facts["failed_requests"] == {"failed": 0, "share": 0}
    assert facts["client_floor"]["concurrency"] == 4
    assert facts["concurrency_reached"]["server_source"] == "/server_info"
    assert len(facts["repetitions"]) == 3
    assert facts["percentiles"]["ttft"]["n"] == [row["phase"] for row in rows].count("steady")
    assert "p50" in facts["percentiles"]["ttft"]
    assert "p99" not in facts["percentiles"]["ttft"]
    subject = figures(outcome)["output_throughput"].subject
    assert (subject.concurrency, subject.output_tokens, subject.parameters) == (4, TOKENS, {})
    assert "goodput" not in figures(outcome)


def test_an_arrival_rate_is_served_and_times_count_from_the_arrival() -> None:
    """At 30 a second the rates are 30 and 30 answers' tokens; the subject names the rate."""
    with StandInEngine(CONFIG) as stand_in:
        outcome = loading(
            stand_in.url,
            "rate=30",
            "arrivals=uniform",
            "requests=40",
            "repeats=1",
            f"max_tokens={TOKENS}",
        )
    assert samples(outcome, "request_rate")[0] == pytest.approx(30, rel=0.1)
    assert samples(outcome, "output_throughput")[0] == pytest.approx(30 * TOKENS, rel=0.1)
    case = case_of(outcome)
    subject = figures(outcome)["ttft"].subject
    assert subject.concurrency is None
    assert subject.parameters == {"rate": 30.0, "arrivals": "uniform"}
    for row in table(case):
        if row["part"] is not None and row["ttft"] is not None:
            waited = float(row["sent_ms"] or 0) - float(row["scheduled_ms"] or 0)
            assert row["ttft"] == pytest.approx(
                waited + float(row["first_token_ms"] or 0), abs=0.01
            )


def test_goodput_is_given_where_limits_were() -> None:
    """Limits that all keep give the rate of requests; one that none keeps gives 0, and is told."""
    with StandInEngine(CONFIG) as stand_in:
        fast = ("concurrency=2", "requests=8", "repeats=1", f"max_tokens={TOKENS}")
        kept = loading(stand_in.url, *fast, "latency_limit=100000", "ttft_limit=100000")
        missed = loading(stand_in.url, *fast, "ttft_limit=10")
    assert samples(kept, "goodput") == samples(kept, "request_rate")
    assert samples(kept, "goodput_share") == [1.0]
    assert samples(missed, "goodput") == [0.0]
    assert samples(missed, "goodput_share") == [0.0]
    assert figures(missed)["goodput"].subject.parameters == {"ttft_limit": 10.0}
    # A limit judges: what it is held against is what it is without it.
    assert figures(missed)["output_throughput"].subject.parameters == {}
    assert figures(missed)["output_throughput"].series == figures(kept)["output_throughput"].series
    assert figures(missed)["goodput"].series != figures(kept)["goodput"].series
    sent = case_of(missed).facts["missed_limits"]["requests"]
    assert case_of(missed).facts["missed_limits"] == {"ttft_limit": sent, "requests": sent}
    assert f"{sent} of {sent} requests missed ttft_limit=10 (ms)" in case_of(missed).warnings
    assert not any("missed" in warning for warning in case_of(kept).warnings)


def test_a_load_too_short_for_a_steady_state_says_so() -> None:
    """One request a slot: every figure is flawed with that reason, and still there."""
    with StandInEngine(CONFIG) as stand_in:
        outcome = loading(stand_in.url, "concurrency=3", "requests=3", "repeats=1", "max_tokens=5")
    found = figures(outcome)
    assert found["output_throughput"].value.sample_count == 1
    for one in found.values():
        assert any("no steady state" in flaw for flaw in one.flaws)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["concurrency=2", "rate=3"], "two different loads"),
        (["requests=2", "duration=3"], "when to end"),
        (["arrivals=uniform"], "a closed loop has no arrivals"),
        (["rate=0.01", "duration=0.1"], "nothing arrives"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: list[str], said: str) -> None:
    """Before anything is sent."""
    bodies: list[bytes] = []
    with (
        engine({"/server_info": {"model_path": "lab/tiny"}}, bodies=bodies) as url,
        pytest.raises(UsageFault, match=said),
    ):
        loading(url, *settings)
    assert bodies == []


def test_the_servers_own_counter_is_compared_with_what_came() -> None:
    """Equal counts say nothing; two engines in one exposition, with `_created`, are no trouble."""
    with metered(Metered()) as url:
        outcome = loading(url, "concurrency=3", "requests=9", "repeats=2", "max_tokens=6")
    case = case_of(outcome)
    facts: Any = case.facts
    assert [one["server_generated_tokens"] for one in facts["repetitions"]] == [54, 54]
    assert not any("tokens" in warning for warning in case.warnings)
    assert not any("tokens" in flaw for flaw in figures(outcome)["output_throughput"].flaws)


def test_a_server_that_others_use_too_is_noticed() -> None:
    """More tokens generated than received is a warning and a flaw of every figure."""
    with metered(Metered(unasked=2)) as url:
        outcome = loading(url, "concurrency=3", "requests=9", "repeats=1", "max_tokens=6")
    said = "the server counted 72 generated tokens and the client 54 (+33.3%): others use"
    assert any(said in warning for warning in case_of(outcome).warnings)
    assert all(any(said in flaw for flaw in one.flaws) for one in figures(outcome).values())


def test_a_counter_that_restarts_is_unknown_and_never_negative() -> None:
    """An engine that began anew in mid-load has no count of it."""
    with metered(Metered(tokens=500, reset_after=5)) as url:
        outcome = loading(url, "concurrency=2", "requests=8", "repeats=1", "max_tokens=6")
    case = case_of(outcome)
    facts: Any = case.facts
    assert facts["repetitions"][0]["server_generated_tokens"] is None
    assert any("began anew" in warning for warning in case.warnings)


def test_failed_requests_count_as_failed_and_in_no_rate() -> None:
    """Every third stream breaks off: its tokens are in no figure, its share is told."""
    with metered(Metered(fails_each=3, gap_s=0.01)) as url:
        outcome = loading(
            url, "concurrency=2", "requests=12", "repeats=1", "warmup=0", "max_tokens=8"
        )
    case = case_of(outcome)
    facts: Any = case.facts
    assert facts["failed_requests"] == {"failed": 4, "share": pytest.approx(1 / 3, abs=1e-4)}
    assert facts["repetitions"][0]["failures"] == {"error_event": 4}
    errors = [error for error in case.samples["error"] if error]
    assert len(errors) == 4
    assert "out of memory" in str(errors[0])
    for one in figures(outcome).values():
        assert any("4 of 12 requests failed (33.33%)" in flaw for flaw in one.flaws)
    # What the failed ones may have generated is no mismatch.
    assert not any("server counted" in warning for warning in case.warnings)
    assert all(tokens == 8 for tokens in case.samples["output_tokens"] if tokens is not None)


def test_a_server_that_queues_is_told_by_its_own_figure() -> None:
    """It runs 2 of 6 at once, by its `/metrics`: a warning says that the others waited."""
    with metered(Metered(at_once=2, gap_s=0.02)) as url:
        outcome = loading(url, "concurrency=6", "requests=24", "repeats=1", "max_tokens=20")
    case = case_of(outcome)
    facts: Any = case.facts
    reached = facts["concurrency_reached"]
    assert reached["server_source"] == "sglang:num_running_reqs"
    assert reached["server"] == pytest.approx(2, abs=0.3)
    assert reached["client"] > 5
    assert any("waited in its queue" in warning for warning in case.warnings)


def test_a_gauge_that_lags_tells_of_no_queue() -> None:
    """Its running requests are told as 0 and its queue as empty: nobody waited."""
    with metered(Metered(stale=True, gap_s=0.02)) as url:
        outcome = loading(url, "concurrency=6", "requests=24", "repeats=1", "max_tokens=40")
    facts: Any = case_of(outcome).facts
    assert facts["concurrency_reached"]["server"] == 0
    assert facts["repetitions"][0]["server_in_flight"]["waiting"] == 0
    assert case_of(outcome).warnings == []


def test_nothing_but_failures_is_a_failed_run() -> None:
    """No figure is made up: the run has failed, with the first error as its reason."""
    with metered(Metered(fails_each=1)) as url:
        outcome = loading(url, "concurrency=2", "requests=4", "repeats=1", "max_tokens=8")
    assert outcome.record is not None
    assert outcome.record.run.outcome == "failed"
    assert "out of memory" in (outcome.record.run.reason or "")
    assert not any(
        math.isfinite(one.value.stated().mid)
        for one in figures(outcome).values()
        if one.value.is_known
    )
