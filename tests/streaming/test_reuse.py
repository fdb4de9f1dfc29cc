"""Connections used again: no answer is taken for another one's, and no request is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from scripted import plain, scripted_server
from streams import DONE, END, HEAD, event, framed, generated

from gamekit import event_loop
from gamekit.load.sending import closed_loop
from gamekit.load.sent import LoadRun
from gamekit.streaming.client import StreamClient, Timeouts
from gamekit.streaming.figures import warnings
from gamekit.streaming.http_response import HttpResponse
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import generate_request

T = TypeVar("T")
REQUEST = generate_request("hello", 3)
TOKENS = framed(event(generated(1))) + framed(event(generated(3, "length")))
ANSWER = HEAD + TOKENS + framed(DONE) + END
OTHER = HEAD + framed(event(generated(2))) + framed(DONE) + END


def run(main: Coroutine[Any, Any, T]) -> T:
    return event_loop.run(lambda _: asyncio.wait_for(main, 60))


class Server:
    """Sends its answers one after another, the last one for ever, and counts connections."""

    def __init__(self, *answers: bytes, closes: bool = False) -> None:
        self.answers = list(answers)
        self.closes = closes
        self.connections: list[Any] = []
        self.requests = 0

    async def __call__(self, _route: str, _request: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        self.connections.append(writer.get_extra_info("peername"))
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        await writer.drain()
        if self.closes:
            writer.close()


def two_at_sight(server: Server, *, pause_s: float = 0.0) -> list[StreamRecord]:
    """Two requests one after another, as a load sends them: read when both are over."""

    async def main() -> list[StreamRecord]:
        async with scripted_server(server) as url, StreamClient(url) as client:
            unread = []
            for _ in range(2):
                unread.append(await client.unread_stream(client.prepare(REQUEST)))
                await asyncio.sleep(pause_s)
            return [one.record() for one in unread]

    return run(main())


@pytest.mark.parametrize("surplus", [OTHER, b"x", END])
def test_what_follows_the_end_of_an_answer_is_no_answer(surplus: bytes) -> None:
    """The next request goes over another connection, and neither answer has any of it."""
    server = Server(ANSWER + surplus, ANSWER)
    first, second = two_at_sight(server, pause_s=0.05)
    assert len(set(server.connections)) == 2
    for record in (first, second):
        assert record.failure is None
        assert [chunk.total for chunk in record.chunks] == [1, 3]


def test_a_response_is_not_changed_by_what_follows_it() -> None:
    """Status, headers and body stay those of the answer that ended, whatever comes in its read."""
    response = HttpResponse()
    response.feed(1.0, plain(200, b"mine") + plain(503, b"another", b"text/other"))
    assert (response.status, response.body()) == (200, b"mine")
    assert response.headers["content-type"] == "application/json"
    assert response.complete
    assert not response.keep_alive


def test_an_answer_that_only_looked_over_is_no_answer_to_the_next_request() -> None:
    """Where an HTTP chunk goes on behind what looks like the end, nobody knows whose bytes come."""
    looks_over = framed(DONE) + END
    unended = HEAD + TOKENS + b"%x\r\n" % (len(looks_over) + 1000) + b": " + looks_over
    first, second = two_at_sight(Server(unended, ANSWER))
    assert first.failure is None
    assert second.failure is not None
    assert second.chunks == ()
    assert "the answer before it on this connection had not ended" in second.failure.message


def closing_late(requests_a_connection: int) -> tuple[LoadRun, int]:
    """A load on a server that reads a request too many of a connection, and closes it unanswered.

    As one does that has closed it already when the request comes in.
    """
    served: dict[Any, int] = {}
    unanswered = 0

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal unanswered
        peer = writer.get_extra_info("peername")
        served[peer] = served.get(peer, 0) + 1
        if route != REQUEST.route:
            writer.write(plain(404, b"{}"))
            served[peer] = 0
        elif served[peer] > requests_a_connection:
            unanswered += 1
            writer.close()
        else:
            writer.write(ANSWER)

    async def main() -> LoadRun:
        async with scripted_server(handler) as url:
            load = asyncio.get_running_loop().run_in_executor(
                None, lambda: closed_loop(url, lambda _: REQUEST, 2, requests=12)
            )
            return await load

    return run(main()), unanswered


def test_a_request_that_met_a_closed_connection_is_sent_again_and_told() -> None:
    """None of a load is lost, each is counted once, and its record says that it went twice."""
    load, unanswered = closing_late(1)
    assert len(load.requests) == 12
    assert [one.record.failure for one in load.requests] == [None] * 12
    resent = [one.record for one in load.requests if one.record.resent]
    assert len(resent) == unanswered > 0
    assert all(any("sent again" in said for said in warnings(record)) for record in resent)


def test_a_request_is_sent_again_once_only_and_timed_from_the_first_sending() -> None:
    """A server that closes the second connection as well has failed it; its clock began before."""
    requests = 0

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        if requests == 1:
            writer.write(ANSWER)
        else:
            await asyncio.sleep(0.05)
            writer.close()

    async def main() -> StreamRecord:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            await client.stream(REQUEST)
            prepared = client.prepare(REQUEST)
            unread = await client.unread_stream(prepared)
            assert unread.ended_ns - unread.sent_ns > 90e6
            return unread.record()

    record = run(main())
    assert requests == 3
    assert record.resent
    assert record.failure is not None
    assert record.failure.kind == "connection"


def test_a_new_connection_that_is_closed_unanswered_is_the_servers_fault() -> None:
    """What was never kept open was not closed for its age: nothing is sent again."""
    server = Server(b"", closes=True)

    async def main() -> StreamRecord:
        async with scripted_server(server) as url, StreamClient(url) as client:
            return await client.stream(REQUEST)

    record = run(main())
    assert server.requests == 1
    assert not record.resent
    assert record.failure is not None


@pytest.mark.parametrize("at_sight", [True, False])
def test_a_response_without_end_behind_done_is_over_and_its_connection_not_used(
    at_sight: bool,
) -> None:
    """``[DONE]`` ends the stream, long before the connection would be given up, and it is told."""
    server = Server(HEAD + TOKENS + framed(DONE))
    timeouts = Timeouts(idle_s=50)

    async def main() -> list[StreamRecord]:
        async with scripted_server(server) as url, StreamClient(url, timeouts) as client:
            if not at_sight:
                return [await client.stream(REQUEST) for _ in range(2)]
            unread = [await client.unread_stream(client.prepare(REQUEST)) for _ in range(2)]
            return [one.record() for one in unread]

    records = run(asyncio.wait_for(main(), 20))
    assert len(set(server.connections)) == 2
    for record in records:
        assert record.failure is None
        assert record.unended
        assert any("did not end after data: [DONE]" in said for said in warnings(record))
