"""Many streams at one moment: none lost, read before parsed, memory bounded."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import scripted_server
from streams import DONE, END, HEAD, event, framed, generated

from gamekit import event_loop
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.engine import LEDGER_ROUTE
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import StreamClient, Timeouts
from gamekit.streaming.receiver import Receiver
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import generate_request

T = TypeVar("T")
ANSWER = (
    HEAD
    + framed(event(generated(1)))
    + framed(event({**generated(3), "text": "täxt"}))
    + framed(event(generated(4, "length")))
    + framed(DONE)
    + END
)


def run(main: Coroutine[Any, Any, T]) -> T:
    return event_loop.run(lambda _: asyncio.wait_for(main, 60))


@pytest.mark.parametrize("concurrency", [1, 64, 200])
def test_no_request_of_a_burst_is_lost(concurrency: int) -> None:
    """All are in flight at once, all come back whole, and the server's ledger says the same."""
    config = SimulatorConfig(prefill_ms=300, cycle_ms=10, accept_len=2.5, steps=3)
    with StandInEngine(config) as engine:

        async def main() -> tuple[list[StreamRecord], list[dict[str, Any]], int]:
            async with StreamClient(engine.url) as client:
                requests = [generate_request(f"prompt {n}", 41) for n in range(concurrency)]
                records = await client.streams(requests)
                ledger = await client.request_json("GET", LEDGER_ROUTE)
                info = await client.request_json("GET", "/server_info")
                return records, ledger.body, info.body["internal_states"][0]["peak_in_flight"]

        records, ledger, peak = run(main())
    assert [record.failure for record in records] == [None] * concurrency
    assert {record.completion_tokens for record in records} == {41}
    assert {len(record.chunks) for record in records} == {17}
    assert [answer["tokens"] for answer in ledger] == [41] * concurrency
    assert {len(answer["sent_ns"]) for answer in ledger} == {17}
    assert peak == concurrency


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, len(ANSWER) - 1), max_size=6))
def test_every_cut_of_a_stream_gives_the_same_record(cuts: list[int]) -> None:
    """Wherever the bytes are cut into segments, also inside a character, nothing else is read."""
    edges = [0, *sorted(set(cuts)), len(ANSWER)]

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        for start, end in itertools.pairwise(edges):
            writer.write(ANSWER[start:end])
            await writer.drain()
            await asyncio.sleep(0)

    async def main() -> StreamRecord:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            return await client.stream(generate_request("hello", 4))

    record = run(main())
    assert record.failure is None
    assert [chunk.tokens for chunk in record.chunks] == [1, 2, 1]
    assert record.finish_reason == "length"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, len(ANSWER) - 1), max_size=6)
    | st.just([len(ANSWER) - len(END)])
    | st.just([])
)
def test_requests_over_one_connection_are_kept_apart_before_they_are_read(cuts: list[int]) -> None:
    """Two answers of one connection, both read only afterwards, are whole however they are cut."""
    edges = [0, *sorted(set(cuts)), len(ANSWER)]
    peers = set()

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        peers.add(writer.get_extra_info("peername"))
        for start, end in itertools.pairwise(edges):
            writer.write(ANSWER[start:end])
            await writer.drain()
            await asyncio.sleep(0)

    async def main() -> list[StreamRecord]:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            prepared = [client.prepare(generate_request("hello", 4)) for _ in range(2)]
            unread = [await client.unread_stream(one) for one in prepared]
            assert unread[0].sent_ns < unread[0].ended_ns <= unread[1].sent_ns
            return [one.record() for one in unread]

    records = run(main())
    assert len(peers) == 1
    assert [record.failure for record in records] == [None, None]
    for record in records:
        assert [chunk.tokens for chunk in record.chunks] == [1, 2, 1]
        assert 0 < record.chunks[0].at_ms < 10_000


def test_a_connection_that_the_server_closes_carries_no_second_request() -> None:
    """An answer that says so is over at sight as well, and the next one takes a new connection."""
    peers = []

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        peers.append(writer.get_extra_info("peername"))
        writer.write(ANSWER.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))

    async def main() -> list[StreamRecord]:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            prepared = [client.prepare(generate_request("hello", 4)) for _ in range(2)]
            unread = [await client.unread_stream(one) for one in prepared]
            return [one.record() for one in unread]

    assert [record.failure for record in run(main())] == [None, None]
    assert len(set(peers)) == 2


def test_a_streamed_body_is_not_kept() -> None:
    """A stream that is read live leaves no body behind; one that is no stream keeps its words."""

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER)

    async def main() -> tuple[int, int]:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            await client.stream(generate_request("hello", 4))
            live = len(client._idle[-1].incoming.response.pieces)
            collected = await client.exchange(generate_request("hello", 4))
            return live, len(collected.response.pieces)

    live, collected = run(main())
    assert live == 0
    assert collected > 0


class Reader:
    """Stands for a connection that has read ``left`` bytes."""

    def __init__(self, receiver: Receiver, left: int) -> None:
        self.receiver = receiver
        self.left = left

    def parse(self, limit: int) -> int:
        size = min(limit, self.left)
        self.left -= size
        self.receiver.parsed(size)
        return size

    @property
    def unparsed(self) -> bool:
        return self.left > 0


def test_what_may_end_an_answer_is_parsed_before_what_may_wait() -> None:
    """An urgent reader is served first, though it came last; in the end all is parsed."""

    async def main() -> tuple[bool, bool]:
        receiver = Receiver()
        patient, urgent = Reader(receiver, 200_000), Reader(receiver, 10)
        receiver.took(patient, 200_000, None, urgent=False)
        receiver.took(urgent, 10, None, urgent=True)
        while urgent.unparsed:
            await asyncio.sleep(0)
        first = patient.unparsed
        while patient.unparsed:
            await asyncio.sleep(0)
        receiver.close()
        return first, patient.unparsed

    assert run(main()) == (True, False)


def test_a_large_request_is_sent_whole() -> None:
    """A body beyond what the system takes at once follows as there is room."""
    tokens = list(range(300_000))
    received: list[bytes] = []

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        received.append(request.partition(b"\r\n\r\n")[2])
        writer.write(ANSWER)

    async def main() -> StreamRecord:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            return await client.stream(generate_request(tokens, 4))

    assert run(main()).failure is None
    assert json.loads(received[0])["input_ids"] == tokens


def test_an_answer_cut_short_keeps_what_had_come() -> None:
    """Chunks that waited to be parsed when the time was up are in the record."""

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER[: -len(framed(DONE) + END)])

    async def main() -> StreamRecord:
        timeouts = Timeouts(idle_s=0.3)
        async with scripted_server(handler) as url, StreamClient(url, timeouts) as client:
            return await client.stream(generate_request("hello", 4))

    record = run(main())
    assert record.failure is not None
    assert record.failure.kind == "timeout"
    assert len(record.chunks) == 3
