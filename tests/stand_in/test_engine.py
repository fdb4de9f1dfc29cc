"""The stand-in engine: its timing, its counters and its life as a process."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit import event_loop
from gamekit.bench.floor import measure_floor
from gamekit.errors import MachineRefused, UsageFault
from gamekit.stand_in.config import SimulatorConfig, accepted_tokens
from gamekit.stand_in.engine import serve
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import Exchange, StreamClient
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import (
    StreamRequest,
    chat_request,
    completion_request,
    generate_request,
)
from gamekit.streaming.server_identity import identify

T = TypeVar("T")
QUICK = SimulatorConfig(prefill_ms=40, cycle_ms=5, accept_len=2.6, steps=3)
PLAIN = SimulatorConfig(prefill_ms=10, cycle_ms=2)


def run(main: Coroutine[Any, Any, T]) -> T:
    return event_loop.run(lambda _: asyncio.wait_for(main, 60))


def stream(config: SimulatorConfig, request: StreamRequest) -> tuple[StreamRecord, Exchange]:
    with StandInEngine(config) as engine:

        async def main() -> tuple[StreamRecord, Exchange]:
            async with StreamClient(engine.url) as client:
                exchange = await client.exchange(request)
                return exchange.read(), exchange

        return run(main())


@given(st.integers(1, 8), st.data())
def test_tokens_a_cycle_have_exactly_the_accept_length_as_mean(
    steps: int, data: st.DataObject
) -> None:
    """After any number of cycles the sum is right to half a token, and each cycle is possible."""
    accept_len = data.draw(st.integers(100, 100 * (steps + 1))) / 100
    config = SimulatorConfig(accept_len=accept_len, steps=steps)
    total = 0
    for cycle, tokens in enumerate(itertools.islice(accepted_tokens(config), 500), start=1):
        assert 1 <= tokens <= steps + 1
        total += tokens
        assert abs(total - cycle * accept_len) <= 0.5 + 1e-9


def test_without_steps_each_cycle_brings_one_token() -> None:
    """No speculation: the accept length plays no part."""
    assert list(itertools.islice(accepted_tokens(SimulatorConfig()), 5)) == [1] * 5
    assert SimulatorConfig(cycle_ms=20).decode_rate == 50


@pytest.mark.parametrize(
    "config",
    [
        {"accept_len": 0.9, "steps": 2},
        {"accept_len": 3.1, "steps": 2},
        {"accept_len": float("nan"), "steps": 2},
        {"steps": 0},
        {"cycle_ms": 0},
        {"cycle_ms": float("inf")},
        {"prefill_ms": -1},
    ],
)
def test_timing_that_cannot_be_is_refused(config: dict[str, Any]) -> None:
    """An accept length outside [1, steps + 1] and impossible times are usage errors."""
    with pytest.raises(UsageFault):
        SimulatorConfig(**config)


def test_the_client_finds_what_the_stand_in_did() -> None:
    """Counts are exact; every chunk is received after it was sent, and none is sent early.

    The truth is the stand-in's own times, on the same clock; only order is asserted of times, and
    that client and server agree on the span to within a second.
    """
    record, exchange = stream(QUICK, generate_request("hello there", 131))
    assert record.failure is None
    tokens = [1, *itertools.islice(accepted_tokens(QUICK), 50)]
    assert [chunk.tokens for chunk in record.chunks] == tokens
    assert sum(tokens) == record.completion_tokens == 131
    assert record.speculation is not None
    assert record.speculation.verify_count == 50
    assert record.speculation.correct_drafts == 80
    assert record.speculation.proposed_drafts == 150
    figures = stream_figures(record)
    assert figures.accept_length == pytest.approx(2.6)
    assert figures.warnings == ()
    sent = [
        (int(arrived), int(at))
        for arrived, at in re.findall(
            rb'"stand_in_arrived_ns":(\d+),"stand_in_sent_ns":(\d+)', exchange.response.body()
        )
    ]
    assert len(sent) == len(record.chunks)
    for step, (chunk, (arrived, at)) in enumerate(zip(record.chunks, sent, strict=True)):
        assert at - arrived >= (40 + 5 * step) * 1e6 - 1e5
        assert exchange.sent_ns + chunk.at_ms * 1e6 >= at
    assert figures.ttft_ms is not None
    assert figures.ttft_ms >= 40
    assert figures.cycle_ms is not None
    truth_ms = (sent[-1][1] - sent[0][1]) / 1e6
    assert abs(figures.cycle_ms * 50 - truth_ms) < 1000


def test_the_last_cycle_is_cut_and_its_verify_counts_in_full() -> None:
    """5 tokens at 3 a cycle come as 1, 3 and 1, of two verifies with 2 correct drafts each."""
    config = SimulatorConfig(prefill_ms=1, cycle_ms=1, accept_len=3.0, steps=2)
    record, _ = stream(config, generate_request("hello", 5))
    assert [chunk.tokens for chunk in record.chunks] == [1, 3, 1]
    assert record.speculation is not None
    assert record.speculation.histogram == (0, 0, 2)
    assert stream_figures(record).accept_length == 3.0


@pytest.mark.parametrize(
    "request_",
    [chat_request("m", "hello there", 41), completion_request("m", "hello there", 41)],
    ids=["chat", "completions"],
)
def test_the_openai_routes_tell_the_tokens_of_each_chunk(request_: StreamRequest) -> None:
    """With usage on each chunk several tokens a chunk are known, the first chunk's too."""
    record, _ = stream(QUICK, request_)
    assert record.failure is None
    assert (record.completion_tokens, record.count_source) == (41, "usage")
    assert record.prompt_tokens == 2
    assert [chunk.tokens for chunk in record.chunks][:3] == [1, 3, 2]
    assert stream_figures(record).first_chunk_source == "told"


def test_usage_is_told_only_when_asked_for() -> None:
    """Without stream_options the stream has chunks and no count, as OpenAI's has."""
    body = {"model": "m", "prompt": "hello", "max_tokens": 4, "stream": True}
    request = StreamRequest("/v1/completions", json.dumps(body).encode(), 4)
    record, _ = stream(PLAIN, request)
    assert record.failure is None
    assert record.completion_tokens is None
    assert len(record.chunks) == 4


async def with_server(config: SimulatorConfig, use: Any) -> Any:
    """Serve on this loop and call ``use(client)``."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve(config, "127.0.0.1", 0, port.set_result))
    try:
        async with StreamClient(f"http://127.0.0.1:{await port}") as client:
            return await use(client)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_the_stand_in_says_what_it_is() -> None:
    """Both names of its routes answer, and nobody can take it for an engine."""

    async def use(client: StreamClient) -> None:
        identity = await identify(client)
        assert identity.api == "sglang"
        assert identity.is_stand_in
        assert identity.server_info is not None
        assert identity.server_info["simulated"]["cycle_ms"] == 5
        assert identity.server_info["speculative_num_draft_tokens"] == 4
        assert (await client.request_json("GET", "/get_server_info")).status == 200
        assert (await client.request_json("GET", "/health")).status == 200
        assert (await client.request_json("POST", "/flush_cache")).status == 200
        assert (await client.request_json("GET", "/nowhere")).status == 404

    run(with_server(QUICK, use))


def test_a_request_without_streaming_is_answered_whole() -> None:
    """All three routes give one JSON object with text and counts."""
    bodies: dict[str, dict[str, Any]] = {
        "/generate": {"text": "hello", "sampling_params": {"max_new_tokens": 7}},
        "/v1/chat/completions": {
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 7,
        },
        "/v1/completions": {"prompt": "hello", "max_tokens": 7},
    }

    async def use(client: StreamClient) -> list[Any]:
        return [(await client.request_json("POST", *item)).body for item in bodies.items()]

    generate, chat, completion = run(with_server(PLAIN, use))
    text = " these words stand where model would speak"
    assert generate["text"] == chat["choices"][0]["message"]["content"] == text
    assert completion["choices"][0]["text"] == text
    assert generate["meta_info"]["completion_tokens"] == 7
    assert completion["usage"]["completion_tokens"] == 7


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"text": ""},
        {"text": "a", "sampling_params": {"max_new_tokens": 0}},
        {"text": "a", "sampling_params": 3},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(body: Any) -> None:
    """Status 400 with an error object."""

    async def use(client: StreamClient) -> Any:
        return await client.request_json("POST", "/generate", body)

    answer = run(with_server(PLAIN, use))
    assert answer.status == 400
    assert answer.body["error"]["type"] == "BadRequest"


def test_two_hundred_streams_are_counted_in_flight_by_the_stand_in() -> None:
    """Case 7: the stand-in itself counts 200 at one moment, and all of them succeed."""
    with StandInEngine(SimulatorConfig(prefill_ms=2500, cycle_ms=20)) as engine:

        async def main() -> tuple[list[StreamRecord], dict[str, Any]]:
            async with StreamClient(engine.url) as client:
                await client.open(200)
                request = generate_request("hello", 5)
                records = await asyncio.gather(*(client.stream(request) for _ in range(200)))
                info = await client.request_json("GET", "/server_info")
                return list(records), info.body["internal_states"][0]

        records, state = run(main())
    assert state["peak_in_flight"] == 200
    assert state["in_flight"] == 0
    assert all(record.failure is None for record in records)


def test_a_client_that_leaves_is_no_longer_in_flight() -> None:
    """A cancelled stream closes its connection, and the stand-in forgets it."""

    async def use(client: StreamClient) -> dict[str, Any]:
        streaming = asyncio.ensure_future(client.stream(generate_request("hello", 100)))
        while (await state_of(client))["in_flight"] == 0:
            await asyncio.sleep(0.01)
        streaming.cancel()
        await asyncio.gather(streaming, return_exceptions=True)
        while (await state_of(client))["in_flight"] == 1:
            await asyncio.sleep(0.01)
        return await state_of(client)

    async def state_of(client: StreamClient) -> dict[str, Any]:
        info = await client.request_json("GET", "/server_info")
        state: dict[str, Any] = info.body["internal_states"][0]
        return state

    state = run(with_server(SimulatorConfig(prefill_ms=30_000), use))
    assert (state["requests"], state["in_flight"]) == (1, 0)


def test_a_port_that_is_taken_is_refused() -> None:
    """The machine says no: one line, exit code 7."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(MachineRefused, match=f"cannot listen on 127.0.0.1:{port}") as caught:
            run(serve(PLAIN, "127.0.0.1", port))
    assert caught.value.exit_code == 7


def gone(process_id: int) -> bool:
    """Whether a process has ended (a zombie that nobody waits for has)."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except FileNotFoundError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def wait_until_gone(process_id: int) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if gone(process_id):
            return True
        time.sleep(0.02)
    return False


def test_the_child_ends_with_its_block_even_on_an_error() -> None:
    """No stand-in outlives the benchmark that started it."""
    started: list[int | None] = []

    def interrupted() -> None:
        with StandInEngine(PLAIN) as engine:
            started.append(engine.process_id)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0] is not None
    assert gone(started[0])


PARENT = """
import time
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
with StandInEngine(SimulatorConfig()) as engine:
    print(engine.process_id, flush=True)
    time.sleep(600)
"""


def test_the_child_ends_when_its_parent_is_killed() -> None:
    """A benchmark that is killed outright leaves no stand-in behind."""
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PARENT,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not gone(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_until_gone(child)


def test_the_floor_loses_no_chunk_and_sees_none_before_it_was_sent() -> None:
    """Every chunk of every stream is timed, on one clock, after its sending."""
    floor = measure_floor(concurrency=8, chunk_interval_ms=5, chunks=40)
    assert floor.chunks_lost == 0
    assert len(floor.added_us) == 320
    assert len(floor.ttft_error_ms) == 8
    assert min(floor.added_us) > 0
    assert floor.median_us <= floor.p95_us <= floor.max_us
    assert floor.scheduled_chunks_per_s == 1600
    assert floor.achieved_load > 0
    assert floor.lag.turns > 0
