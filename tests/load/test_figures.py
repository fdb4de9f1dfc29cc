"""Phases and rates of a load, against loads whose truth is known by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loads import in_step, request

from gamekit.load.figures import (
    Limits,
    chunk_gaps_within,
    is_good,
    load_figures,
    tokens_within,
)
from gamekit.load.percentiles import percentile, percentiles
from gamekit.load.phases import (
    backlog_grew,
    backlogs_grew,
    closed_phases,
    mean_in_flight,
    open_phases,
    share_within,
)
from gamekit.nearest_rank import quantile


def test_slots_in_step_give_exact_rates() -> None:
    """4 slots of 10 tokens a second: 40 tok/s and 4 requests/s, whole turns or not."""
    load = in_step(4, 5)
    phases = closed_phases(load, 4)
    assert phases.steady == (1000, 5000)
    assert phases.too_short is None
    assert (phases.ramp, phases.drain) == ((0, 1000), (5000, 5000))
    figures = load_figures(load, phases.measured)
    assert figures.output_throughput == pytest.approx(40)
    assert figures.request_rate == pytest.approx(4)
    assert figures.failure_share == 0
    assert mean_in_flight(load, phases.measured) == pytest.approx(4)


def test_gaps_are_those_that_ended_within_the_window() -> None:
    """Of requests that did not fail, whatever of the rest of a request lies beyond the edges."""
    one = request(100, [(10, 1), (30, 1), (35, 2), (95, 1)])
    failed = request(100, [(10, 1), (31, 1)], failure="gone")
    assert chunk_gaps_within([one, failed], (0, 1000)) == [20, 5, 60]
    assert chunk_gaps_within([one, failed], (130, 195)) == [5, 60]
    assert chunk_gaps_within([one, failed], (129, 194)) == [20, 5]
    assert chunk_gaps_within([request(0, [(10, 1)])], (0, 1000)) == []


def test_the_first_request_of_each_slot_is_the_ramp() -> None:
    """Steady begins when the slowest first request has ended, and ends with the first idle slot."""
    quick = [request(n * 100, [(50, 1), (100, 9)], slot=0) for n in range(10)]
    slow = [request(0, [(200, 1), (400, 9)], slot=1), request(400, [(200, 1), (400, 9)], slot=1)]
    phases = closed_phases([*quick, *slow], 2)
    assert phases.steady == (400, 800)
    assert phases.drain == (800, 1000)


def test_too_few_requests_have_no_steady_state() -> None:
    """Slots that were never busy, one request a slot, and a steady state shorter than a request."""
    few = closed_phases(in_step(3, 4), 4)
    assert "only 3 of 4 slots" in (few.too_short or "")
    single = closed_phases(in_step(4, 1), 4)
    assert "before there was a steady state" in (single.too_short or "")
    assert single.measured == single.whole == (0, 1000)
    brief = [
        *in_step(1, 3),
        *(request(0, [(100, 1), (2700, 9)], slot=1), request(2700, [(300, 10)], slot=1)),
    ]
    assert "lasted 0.3 s, and a request 1" in (closed_phases(brief, 2).too_short or "")


def test_an_open_loop_is_steady_between_its_first_ends_and_its_last_arrival() -> None:
    """Requests of 1 s at 10 a second: the rates are 10 and 100 from second 1 on."""
    load = [request(at * 100, [(100, 1), (1000, 9)], slot=None) for at in range(51)]
    phases = open_phases(load)
    assert phases.steady == (1000, 5000)
    figures = load_figures(load, phases.measured)
    assert figures.request_rate == pytest.approx(10)
    assert figures.output_throughput == pytest.approx(100)
    assert mean_in_flight(load, phases.measured) == pytest.approx(10)
    assert backlog_grew(load) is None


def test_a_server_that_falls_behind_is_noticed() -> None:
    """Where each request takes longer than the one before, the number in flight grows."""
    load = [request(n * 100, [(50, 1), (100 + 80 * n, 9)], slot=None) for n in range(100)]
    assert backlog_grew(load) == (8, 45)


@pytest.mark.parametrize(("capacity", "grows"), [(100, True), (104, False), (200, False)])
def test_a_server_slightly_too_slow_is_told_by_several_loads(capacity: int, grows: bool) -> None:
    """64 slots for 104 requests a second: by one load the queue is chance, not by five."""
    loads = []
    for phase in range(5):
        free = [0.0] * 64
        load = []
        for number in range(300):
            due = number * 1000 / 104 + phase
            slot = min(range(64), key=free.__getitem__)
            free[slot] = max(due, free[slot]) + 64_000 / capacity
            load.append(request(due, [(free[slot] - due, 10)], slot=None))
        loads.append(load)
    assert all(backlog_grew(load) is None for load in loads)
    assert (backlogs_grew(loads) is not None) == grows
    assert backlogs_grew(loads[:2]) is None


def test_times_of_an_open_loop_count_from_the_arrival() -> None:
    """A request sent 30 ms late has a TTFT of 30 ms more; in a closed loop the sending counts."""
    late = request(130, [(50, 1), (150, 9)], slot=None, scheduled_ms=100)
    assert (late.ttft_ms, late.latency_ms, late.queueing_ms) == (80, 180, 30)
    closed = request(130, [(50, 1), (150, 9)], slot=0, scheduled_ms=100)
    assert (closed.ttft_ms, closed.latency_ms, closed.queueing_ms) == (50, 150, 30)


def test_failed_requests_are_in_no_rate() -> None:
    """Half of the requests fail: half of the tokens, half of the requests, a share of one half."""
    load = [
        request(turn * 1000, [(100, 1), (1000, 9)], slot=slot, failure="gone" if slot else None)
        for turn in range(5)
        for slot in range(2)
    ]
    figures = load_figures(load, closed_phases(load, 2).measured, Limits(ttft_ms=500))
    assert figures.output_throughput == pytest.approx(10)
    assert figures.request_rate == pytest.approx(1)
    assert figures.failure_share == pytest.approx(0.5)
    assert figures.goodput == pytest.approx(1)
    assert figures.goodput_share == pytest.approx(0.5)


def test_goodput_counts_what_keeps_every_limit() -> None:
    """A limit that is met exactly is kept; each limit alone can be what is missed."""
    one = request(0, [(100, 1), (1000, 9)])
    assert is_good(one, Limits(100, 100, 1000))
    assert not is_good(one, Limits(ttft_ms=99))
    assert not is_good(one, Limits(time_per_output_token_ms=99.9))
    assert not is_good(one, Limits(latency_ms=999))
    assert is_good(request(0, [(100, 10)]), Limits(time_per_output_token_ms=1))
    assert load_figures([one], (0, 1000)).goodput is None
    assert not Limits().given


def test_without_a_token_count_there_is_no_throughput() -> None:
    """Nor a goodput with a limit on the time per token; the rate of requests is known."""
    silent = request(0, [(100, 1), (1000, 9)])
    silent = type(silent)(
        0, 0, 0, 0, 1000, type(silent.record)(**{**vars(silent.record), "completion_tokens": None})
    )
    figures = load_figures([silent], (0, 1000), Limits(time_per_output_token_ms=10))
    assert figures.output_throughput is None
    assert figures.goodput is None
    assert figures.request_rate == pytest.approx(1)


CHUNKS = st.lists(st.tuples(st.floats(0, 50), st.integers(0, 5)), min_size=1, max_size=20).map(
    lambda steps: [
        (math.fsum(gap for gap, _ in steps[: n + 1]), tokens) for n, (_, tokens) in enumerate(steps)
    ]
)


@given(CHUNKS, st.floats(0, 100), st.lists(st.floats(0, 1200), max_size=4), st.booleans())
def test_windows_side_by_side_share_the_tokens_without_loss(
    chunks: list[tuple[float, int]], sent_ms: float, cuts: list[float], told: bool
) -> None:
    """However the time is cut, every token is in one window or another, and none in two."""
    one = request(sent_ms, chunks, told=told)
    edges = sorted([-1.0, *cuts, 1e4])
    parts = [tokens_within(one, (a, b)) for a, b in pairwise(edges)]
    assert sum(part or 0.0 for part in parts) == pytest.approx(one.record.completion_tokens)
    shares = [share_within(one.sent_ms, one.ended_ms, (a, b)) for a, b in pairwise(edges)]
    assert sum(shares) == pytest.approx(1)


def test_percentiles_need_samples_enough() -> None:
    """6 for a median, 36 for p90, 72 for p95, 368 for p99: one fewer has none."""
    for percent, enough in ((50, 6), (90, 36), (95, 72), (99, 368)):
        assert percentile(range(enough), percent) is not None
        assert percentile(range(enough - 1), percent) is None
    assert percentiles([]) == {"n": 0}
    assert percentiles([3.0] * 40).keys() == {
        "n",
        "p50",
        "p50_low",
        "p50_high",
        "p90",
        "p90_low",
        "p90_high",
    }


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.sampled_from([50, 90, 95]))
def test_a_percentile_lies_within_its_interval(samples: list[float], percent: int) -> None:
    """And at least so many samples do not exceed it."""
    found = percentile(samples, percent)
    value = quantile(samples, percent / 100)
    assert sum(one <= value for one in samples) >= percent / 100 * len(samples) - 1e-9
    if found is not None:
        assert found.low <= found.value <= found.high
        assert found.value == value


def test_the_interval_of_a_median_is_the_published_one() -> None:
    """For n = 10 the second and the ninth sample enclose the median with 97.9 %."""
    found = percentile([float(n) for n in range(1, 11)], 50)
    assert found is not None
    assert (found.low, found.high) == (2, 9)
