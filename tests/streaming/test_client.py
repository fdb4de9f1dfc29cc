"""The client, over real sockets, against servers that behave and servers that do not."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from scripted import plain, scripted_server
from streams import DONE, END, HEAD, event, framed, generated

from gamekit import event_loop
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.streaming.client import API_KEY_VARIABLE, StreamClient, Timeouts
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import chat_request, completion_request, generate_request
from gamekit.streaming.server_identity import identify

T = TypeVar("T")
ANSWER = HEAD + framed(event(generated(1))) + framed(event(generated(3, "length")))
REQUEST = generate_request("hello", 3)


def run(main: Coroutine[Any, Any, T]) -> T:
    return event_loop.run(lambda _: asyncio.wait_for(main, 60))


def stream_against(answer: bytes, *, close: bool, timeouts: Timeouts | None = None) -> StreamRecord:
    """The record of one stream against a server that sends ``answer`` and may then close."""

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        if close:
            writer.close()

    async def main() -> StreamRecord:
        async with scripted_server(handler) as url, StreamClient(url, timeouts) as client:
            return await client.stream(REQUEST)

    return run(main())


def test_a_whole_stream_is_read_over_a_socket() -> None:
    """Chunks, counts and the terminator arrive as they were sent."""
    record = stream_against(ANSWER + framed(DONE) + END, close=False)
    assert record.failure is None
    assert [chunk.tokens for chunk in record.chunks] == [1, 2]
    assert record.requested_tokens == 3
    assert record.first_token_ms is not None
    assert record.first_token_ms > 0


def test_a_stream_whose_end_is_the_end_of_the_connection_is_complete() -> None:
    """A server that sends neither length nor chunks ends its answer by closing."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    record = stream_against(head + event(generated(2, "length")) + DONE, close=True)
    assert record.failure is None


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (ANSWER, "connection", "closed"),
        (b"", "connection", "closed"),
        (ANSWER + framed(event({"error": "lost GPU"})) + END, "error_event", "lost GPU"),
        (ANSWER + END, "incomplete", "[DONE]"),
        (plain(503, b"overloaded", b"text/plain"), "http_status", "503: overloaded"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "malformed", "not an HTTP response"),
    ],
    ids=["cut in mid-stream", "closed at once", "error event", "no end", "status", "not HTTP"],
)
def test_what_goes_wrong_on_the_way_is_the_records_failure(
    answer: bytes, kind: str, said: str
) -> None:
    """Each fault of a server is kept with its name and its words; nothing is raised."""
    record = stream_against(answer, close=True)
    assert record.failure is not None
    assert record.failure.kind == kind
    assert said in record.failure.message


def test_a_server_that_falls_silent_is_given_up() -> None:
    """A stream that stops without an end is a timeout, not a hang."""
    record = stream_against(ANSWER, close=False, timeouts=Timeouts(idle_s=0.2))
    assert record.failure is not None
    assert record.failure.kind == "timeout"
    assert len(record.chunks) == 2


def test_a_stream_that_never_ends_is_given_up() -> None:
    """The bound on the whole request holds while bytes keep coming."""

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(framed(b": ping\n\n"))
            await writer.drain()
            await asyncio.sleep(0.01)

    async def main() -> StreamRecord:
        timeouts = Timeouts(idle_s=30, total_s=0.3)
        async with scripted_server(handler) as url, StreamClient(url, timeouts) as client:
            return await client.stream(REQUEST)

    record = run(main())
    assert record.failure is not None
    assert record.failure.message == "not finished within 0.3 s"


def test_a_url_that_nobody_answers_is_a_failed_benchmark() -> None:
    """A closed port: exit code 6, and how to mend it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        async def main() -> None:
            async with StreamClient(url) as client:
                await client.open(2)

        with pytest.raises(BenchmarkFailed, match="does not answer: Connection refused") as caught:
            run(main())
    assert caught.value.exit_code == 6
    assert "--url" in str(caught.value)


def test_two_hundred_streams_are_in_flight_at_once() -> None:
    """Case 7: the server answers nobody until it has 200 requests, and then all succeed."""
    here: list[str] = []
    all_here = asyncio.Event()

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        here.append(route)
        if len(here) == 200:
            all_here.set()
        await all_here.wait()
        writer.write(ANSWER + framed(DONE) + END)

    async def main() -> list[StreamRecord]:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            await client.open(200)
            return await asyncio.gather(*(client.stream(REQUEST) for _ in range(200)))

    records = run(main())
    assert len(here) == 200
    assert all(record.failure is None for record in records)


def test_a_connection_is_open_before_the_clock_starts_and_is_used_again() -> None:
    """Requests one after another share the connection that was opened ahead."""
    ports: set[int] = set()

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        ports.add(writer.get_extra_info("peername")[1])
        writer.write(ANSWER + framed(DONE) + END)

    async def main() -> list[StreamRecord]:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            await client.open(1)
            return [await client.stream(REQUEST) for _ in range(3)]

    assert all(record.failure is None for record in run(main()))
    assert len(ports) == 1


def test_the_key_is_sent_and_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Bearer key comes from the environment; an echo of it is taken out of the record."""
    monkeypatch.setenv(API_KEY_VARIABLE, "sk-very-secret")
    seen: list[bytes] = []

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        seen.append(request)
        writer.write(plain(401, b'{"detail":"sk-very-secret is not valid"}'))

    async def main() -> StreamRecord:
        async with scripted_server(handler) as url, StreamClient(url) as client:
            return await client.stream(REQUEST)

    record = run(main())
    assert b"\r\nAuthorization: Bearer sk-very-secret\r\n" in seen[0]
    assert "sk-very-secret" not in repr(record)
    assert "[key] is not valid" in repr(record)


def test_a_key_that_would_break_the_header_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with a line end in it never reaches the wire."""
    monkeypatch.setenv(API_KEY_VARIABLE, "sk\r\nX-Evil: 1")
    with pytest.raises(UsageFault, match=API_KEY_VARIABLE):
        StreamClient("http://127.0.0.1:1")


def test_a_prefix_and_v1_in_the_url_lead_to_the_same_routes() -> None:
    """``/prefix/v1`` and ``/prefix`` are one server behind a proxy."""
    routes: list[str] = []

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        routes.append(route)
        writer.write(plain(200, b"{}"))

    async def main() -> None:
        async with scripted_server(handler) as url:
            for ending in ("/pre/fix", "/pre/fix/", "/pre/fix/v1"):
                async with StreamClient(url + ending) as client:
                    await client.request_json("GET", "/v1/models")

    run(main())
    assert routes == ["/pre/fix/v1/models"] * 3


def answering(routes: dict[str, Any]) -> Any:
    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        status, body = (200, routes[route]) if route in routes else (404, {"detail": "Not Found"})
        writer.write(plain(status, json.dumps(body).encode()))

    return handler


MODELS = {"object": "list", "data": [{"id": "some-model"}]}


@pytest.mark.parametrize(
    ("routes", "api"),
    [
        ({"/server_info": {"model_path": "m"}, "/v1/models": MODELS}, "sglang"),
        ({"/get_server_info": {"model_path": "m"}, "/v1/models": MODELS}, "sglang"),
        ({"/model_info": {"model_path": "m"}, "/v1/models": MODELS}, "sglang"),
        ({"/server_info": {"vllm_config": "..."}, "/v1/models": MODELS}, "openai"),
        ({"/v1/models": MODELS}, "openai"),
    ],
)
def test_the_api_of_a_server_is_found_out(routes: dict[str, Any], api: str) -> None:
    """sglang is known by routes that tell a model path; others by their list of models."""

    async def main() -> tuple[str, tuple[str, ...], bool]:
        async with scripted_server(answering(routes)) as url, StreamClient(url) as client:
            found = await identify(client)
            return found.api, found.models, found.is_stand_in

    assert run(main()) == (api, ("some-model",), False)


def test_a_server_that_is_no_engine_is_a_failed_benchmark() -> None:
    """A web server without any of the routes is named as such."""

    async def main() -> None:
        async with scripted_server(answering({})) as url, StreamClient(url) as client:
            await identify(client)

    with pytest.raises(BenchmarkFailed, match=r"neither sglang's /server_info nor OpenAI's"):
        run(main())


def test_a_stream_of_any_request_keeps_what_was_asked_for() -> None:
    """The bodies ask for a stream of so many tokens, past the end of text, with counts."""
    bodies = {
        request.route: json.loads(request.body)
        for request in (
            generate_request([1, 2, 3], 9),
            chat_request("m", "hi", 9),
            completion_request("m", "hi", 9),
        )
    }
    assert bodies["/generate"]["input_ids"] == [1, 2, 3]
    assert bodies["/generate"]["sampling_params"] == {
        "temperature": 0.0,
        "max_new_tokens": 9,
        "ignore_eos": True,
    }
    for route in ("/v1/chat/completions", "/v1/completions"):
        assert bodies[route]["max_tokens"] == 9
        assert bodies[route]["stream_options"]["include_usage"] is True
    assert all(body["stream"] is True for body in bodies.values())
