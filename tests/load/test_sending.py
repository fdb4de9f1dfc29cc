"""Loads as they are sent: against the stand-in engine, whose timing and ledger are the truth."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from gamekit import event_loop
from gamekit.errors import BenchmarkFailed
from gamekit.load.phases import in_flight_at
from gamekit.load.sending import _OpenLoop, closed_loop, generated_by, open_loop
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.engine import LEDGER_ROUTE
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import StreamClient, Timeouts
from gamekit.streaming.requests import StreamRequest, generate_request

CONFIG = SimulatorConfig(prefill_ms=40, cycle_ms=10)


def make(number: int) -> StreamRequest:
    """Answers of different lengths, so that slots do not run in step."""
    return generate_request(f"request {number}", 5 + 3 * (number % 4))


def described(url: str) -> dict[str, int]:
    """What the stand-in says of its requests."""

    async def ask(_: object) -> dict[str, int]:
        async with StreamClient(url) as client:
            answer = await client.request_json("GET", "/server_info")
            state: dict[str, int] = answer.body["internal_states"][0]
            return state

    return event_loop.run(ask)


def test_a_closed_loop_keeps_its_slots_busy_and_sends_no_more() -> None:
    """6 slots: 6 at once at the server, never more; each ending request is followed by the next."""
    with StandInEngine(CONFIG) as engine:
        run = closed_loop(engine.url, make, 6, requests=30)
        state = described(engine.url)
    assert state["requests"] == 30
    assert state["peak_in_flight"] == 6
    assert sorted(one.number for one in run.requests) == list(range(30))
    # Up to the last sending every slot is in flight, or is about to be: there are no waves.
    assert {in_flight_at(run.requests, one.sent_ms) for one in run.requests} == {6}
    for slot in range(6):
        own = [one for one in run.requests if one.slot == slot]
        assert len(own) > 3
        for before, after in pairwise(own):
            assert after.scheduled_ms == before.ended_ms
            assert after.sent_ms > before.ended_ms
    assert generated_by(run.requests) == sum(5 + 3 * (n % 4) for n in range(30))
    assert run.server.running_source == "/server_info"
    assert max(number for _, number in run.server.running) <= 6


def test_a_closed_loop_ends_after_its_duration() -> None:
    """Nothing is sent after it, and what is in flight then is read to its end."""
    with StandInEngine(CONFIG) as engine:
        run = closed_loop(engine.url, make, 2, duration_s=0.4)
        assert described(engine.url)["requests"] == len(run.requests)
    assert len(run.requests) >= 4
    assert all(one.sent_ms < 500 for one in run.requests[:-2])
    assert not any(one.failed for one in run.requests)


def test_an_open_loop_sends_at_its_times_whatever_is_in_flight() -> None:
    """Arrivals that are closer than an answer takes overlap; none is sent before it is due."""
    times = [0.0, 0.01, 0.02, 0.3, 0.31]
    with StandInEngine(CONFIG) as engine:
        run = open_loop(engine.url, make, times)
        assert described(engine.url)["peak_in_flight"] >= 3
    assert [one.scheduled_ms for one in run.requests] == [1000 * at for at in times]
    assert all(one.queueing_ms >= 0 for one in run.requests)
    assert all(one.slot is None for one in run.requests)
    first = run.requests[0]
    assert first.ttft_ms == pytest.approx(first.queueing_ms + (first.record.first_token_ms or 0))
    # A busy machine makes things later only: the best of five is the one to judge.
    assert min(one.ttft_ms or 0 for one in run.requests) == pytest.approx(40, abs=8)


def test_requests_that_are_due_at_once_are_made_before_the_load() -> None:
    """Making, which takes a while, is over before the first of them has reached the server."""
    made_ns: list[int] = []

    def slowly(number: int) -> StreamRequest:
        time.sleep(0.01)
        made_ns.append(time.perf_counter_ns())
        return make(number)

    with StandInEngine(CONFIG) as engine:
        run = open_loop(engine.url, slowly, [0.001 * n for n in range(20)])
        ledger = event_loop.run(lambda _: answers(engine.url))
    assert [one.number for one in run.requests] == list(range(20))
    assert len(made_ns) == len(ledger) == 20
    assert max(made_ns) < min(one["arrived_ns"] for one in ledger)


async def answers(url: str) -> list[dict[str, int]]:
    """The ledger of the stand-in."""
    async with StreamClient(url) as client:
        told: list[dict[str, int]] = (await client.request_json("GET", LEDGER_ROUTE)).body
        return told


def test_making_more_waits_for_what_is_due() -> None:
    """64 are made ahead and no more; what they leave to make is made when all of them are sent."""
    began_ns: list[int] = []

    def timed(number: int) -> StreamRequest:
        began_ns.append(time.perf_counter_ns())
        time.sleep(0.002)
        return generate_request(f"request {number}", 2)

    async def load(_: object) -> tuple[int, _OpenLoop]:
        async with StreamClient(engine.url) as client:
            loop = _OpenLoop(client, timed, [0.0] * 64 + [0.2] * 6)
            loop.make_first()
            made_first = len(began_ns)
            await loop.open_ahead(0.0)
            await loop.run()
            return made_first, loop

    with StandInEngine(CONFIG) as engine:
        made_first, loop = event_loop.run(load)
    sent = loop.read()
    assert made_first == 64
    assert sorted(one.number for one in sent) == list(range(70))
    last_ns = loop.began_ns + 1e6 * max(one.sent_ms for one in sent if one.number < 64)
    assert last_ns < began_ns[64]


def test_a_fault_of_opening_connections_ahead_is_not_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What goes wrong beside the requests ends the load, and is raised by itself."""
    opened = StreamClient.open

    async def once(client: StreamClient, connections: int) -> None:
        monkeypatch.setattr(StreamClient, "open", broken)
        await opened(client, connections)

    async def broken(client: StreamClient, connections: int) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(StreamClient, "open", once)
    with StandInEngine(CONFIG) as engine, pytest.raises(ZeroDivisionError):
        open_loop(engine.url, make, [0.0, 0.3])


def test_what_ends_an_answer_is_read_afterwards_and_not_lost() -> None:
    """The last tokens, the counters of speculation and the reason of the end are in the record."""
    speculating = SimulatorConfig(prefill_ms=10, cycle_ms=5, accept_len=2.0, steps=2)
    with StandInEngine(speculating) as engine:
        run = closed_loop(engine.url, lambda _: generate_request("text", 9), 2, requests=4)
    for one in run.requests:
        record = one.record
        assert record.failure is None
        assert (record.completion_tokens, len(record.chunks)) == (9, 5)
        assert record.finish_reason == "length"
        assert record.speculation is not None
        assert record.speculation.verify_count == 4
        assert one.ended_ms == pytest.approx(one.sent_ms + (record.end_ms or 0))


def test_a_server_that_is_gone_is_told_by_itself() -> None:
    """Where nothing listens the fault is that one, in no group of others."""
    with pytest.raises(BenchmarkFailed, match="does not answer"):
        closed_loop("http://127.0.0.1:9", make, 3, requests=5)
    with pytest.raises(BenchmarkFailed, match="does not answer"):
        open_loop("http://127.0.0.1:9", make, [0.0, 0.1])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads whose client waits for no byte longer than this."""
    client = partial(StreamClient, timeouts=Timeouts(idle_s=0.3))
    monkeypatch.setattr("gamekit.load.sending.StreamClient", client)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_falls_silent_ends_the_load() -> None:
    """As where the network is gone: 3000 requests do not wait one after another."""
    with StandInEngine(CONFIG) as engine:
        assert engine.process_id is not None
        stopping = threading.Timer(0.3, os.kill, [engine.process_id, signal.SIGSTOP])
        stopping.start()
        try:
            with pytest.raises(BenchmarkFailed, match="fell silent: a stream timed out, and then"):
                closed_loop(engine.url, make, 3, requests=3000)
        finally:
            stopping.join()
            os.kill(engine.process_id, signal.SIGCONT)


@pytest.mark.usefixtures("impatient")
def test_a_request_that_hangs_is_its_own_failure() -> None:
    """The server answers others: the load goes on."""
    with StandInEngine(replace(CONFIG, prefill_ms=900)) as engine:
        run = closed_loop(engine.url, make, 2, requests=4)
    assert [one.record.failure.kind for one in run.requests if one.record.failure] == [
        "timeout"
    ] * 4
