"""Whether the client was what limited a run, and why in words."""

from __future__ import annotations

from gamekit.bench.floor import RunFloor
from gamekit.event_loop import LoopLag
from gamekit.streaming.receiver import ReceiveLoad

_LEAST_LOAD = 0.99
_MOST_BUSY = 0.8
# Of the time between two chunks. Without the kernel's stamps whatever the loop was busy with is an
# error of the times.
_LONGEST_LAG = 0.1
# Of fewer reads no 99th percentile is known.
_FEWEST = 100


def client_limit(
    lag: LoopLag,
    receiving: ReceiveLoad,
    *,
    chunk_interval_ms: float | None = None,
    achieved_load: float | None = None,
    chunks_per_s: float | None = None,
    floor: RunFloor | None = None,
) -> str | None:
    """Why the client limited a run, or None where it did not.

    ``lag`` and ``receiving`` are of the run itself, ``chunk_interval_ms`` the time between two
    chunks of a stream and ``chunks_per_s`` the rate of all streams in it. ``achieved_load`` is the
    load that was offered over the one that was asked for, ``floor`` what the same client does
    against a scripted server.
    """
    busy = busy_fraction(lag, receiving)
    if achieved_load is not None and achieved_load < _LEAST_LOAD:
        return f"only {achieved_load:.1%} of the load that was asked for was reached"
    if busy > _MOST_BUSY:
        return f"the client was busy {busy:.0%} of the time"
    if chunk_interval_ms is not None:
        waited = _waited(lag, receiving, chunk_interval_ms)
        if waited is not None:
            return waited
    return None if floor is None or chunks_per_s is None else _too_much(floor, chunks_per_s)


def _too_much(floor: RunFloor, chunks_per_s: float) -> str | None:
    """Whether this rate is more than the client can follow, against a scripted server."""
    largest = floor.largest
    # A sweep that failed at its first load says more of the machine's other work than of us.
    followed = largest.ended_by != "client" or chunks_per_s <= largest.chunks_per_s
    if followed or largest.chunks_per_s == 0 or floor.at_load.delay_shows is None:
        return None
    return (
        f"{chunks_per_s:.0f} chunks/s came, and this client can follow"
        f" {largest.chunks_per_s:.0f} ({largest.reason})"
    )


def _waited(lag: LoopLag, receiving: ReceiveLoad, chunk_interval_ms: float) -> str | None:
    """How long chunks waited for the client, where that spoils their times."""
    of = f"of {chunk_interval_ms:.2f} ms between two chunks"
    wait_ms = receiving.wait_p99_ms
    if wait_ms is not None and receiving.stamped >= _FEWEST and wait_ms > chunk_interval_ms:
        # From there on chunks merge: the first of them gets the time of the last.
        return f"1 % of the reads waited over {wait_ms:.2f} ms for the client, {of}"
    unstamped = receiving.reads - receiving.stamped
    if unstamped >= _FEWEST and lag.p99_ms > _LONGEST_LAG * chunk_interval_ms:
        return (
            f"times are of reading, and in 1 % of its turns the client was busy for over"
            f" {lag.p99_ms:.2f} ms, {of}"
        )
    return None


def busy_fraction(lag: LoopLag, receiving: ReceiveLoad) -> float:
    """The part of the run in which the client did what could not wait.

    Parsing while no socket was ready is not in it: it was in nobody's way.
    """
    if lag.wall_s <= 0:
        return 0.0
    return max(0.0, lag.busy_fraction - receiving.idle_s / lag.wall_s)
