"""Whether the client limited a run: each sign alone is enough, and is told in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.floor import LargestLoad, RunFloor, floor_for, largest_load, measure_floor
from gamekit.event_loop import LoopLag
from gamekit.streaming.receiver import ReceiveLoad

CALM = LoopLag(turns=1000, max_ms=0.5, p99_ms=0.1, busy_fraction=0.05, wall_s=10.0)
PROMPT = ReceiveLoad(reads=1000, stamped=1000, wait_p99_ms=0.1, wait_max_ms=0.4, idle_s=0.1)


def test_a_client_with_time_to_spare_limits_nothing() -> None:
    """Short waits, an idle loop and a load that was reached: no reason."""
    assert client_limit(CALM, PROMPT, chunk_interval_ms=10, achieved_load=1.0) is None


@pytest.mark.parametrize(
    ("lag", "receiving", "achieved", "said"),
    [
        (CALM, PROMPT, 0.9, "only 90.0% of the load"),
        (replace(CALM, busy_fraction=0.95), PROMPT, 1.0, "busy 94% of the time"),
        (CALM, replace(PROMPT, wait_p99_ms=11.0), 1.0, "waited over 11.00 ms"),
        (replace(CALM, p99_ms=2.0), replace(PROMPT, stamped=0), 1.0, "times are of reading"),
    ],
    ids=["load", "busy", "waiting", "lag without stamps"],
)
def test_each_sign_of_a_slow_client_is_named(
    lag: LoopLag, receiving: ReceiveLoad, achieved: float, said: str
) -> None:
    """The reason says what was too slow, with its figure."""
    why = client_limit(lag, receiving, chunk_interval_ms=10, achieved_load=achieved)
    assert why is not None
    assert said in why


def test_parsing_while_nothing_came_is_not_counted_as_busy() -> None:
    """Work that waited for an idle moment was in nobody's way."""
    lag = replace(CALM, busy_fraction=0.95)
    assert busy_fraction(lag, replace(PROMPT, idle_s=9.0)) == pytest.approx(0.05)
    assert client_limit(lag, replace(PROMPT, idle_s=9.0)) is None


def test_a_lag_that_the_kernel_stamps_made_up_for_is_no_limit() -> None:
    """With stamps, a busy loop within the time between two chunks changes no time."""
    lag = replace(CALM, p99_ms=5.0, max_ms=9.0)
    assert client_limit(lag, PROMPT, chunk_interval_ms=10) is None


def test_the_floor_of_a_run_is_measured_at_its_own_load() -> None:
    """Concurrency, chunk rate and tokens a chunk are the run's; every figure is in the fact."""
    floor = floor_for(4, 20.0, tokens_per_chunk=2.5)
    assert floor.at_load.concurrency == 4
    assert floor.at_load.scheduled_chunks_per_s == 200
    assert floor.at_load.chunks_lost == 0
    fact = floor.describe()
    assert fact["concurrency"] == 4
    assert fact["chunk_interval_ms"] == 20.0
    assert fact["median_us"] > 0
    assert fact["largest_ended_by"] in ("client", "server", "sweep")


def test_a_rate_beyond_what_the_client_can_follow_is_a_limit() -> None:
    """Beyond the sweep's largest load only where the delay shows at the run's own load too."""
    calm = measure_floor(concurrency=2, chunk_interval_ms=20, chunks=10)
    late = replace(calm, chunks_lost=3)
    slow = LargestLoad(5000.0, "client", "the p99 gap was 9.00 ms, 5.00 ms were sent")
    assert late.delay_shows == "3 chunks were lost"

    def limit(floor: RunFloor, rate: float) -> str | None:
        return client_limit(CALM, PROMPT, chunks_per_s=rate, floor=floor)

    why = limit(RunFloor(late, slow), 9000)
    assert why is not None
    assert "9000 chunks/s came, and this client can follow 5000" in why
    assert limit(RunFloor(late, slow), 4000) is None
    assert limit(RunFloor(late, replace(slow, ended_by="server")), 9000) is None
    assert limit(RunFloor(replace(calm, chunks_lost=0), replace(slow, chunks_per_s=0)), 9) is None


def test_a_sweep_says_what_ended_it() -> None:
    """The largest load comes with whose limit it was."""
    largest = largest_load(streams=(1, 2))
    assert largest.ended_by in ("client", "server", "sweep")
    assert largest.reason
    assert largest.chunks_per_s in (0, 200, 400)
