"""Connections made ahead: none is lost, whatever ages, fails or is cancelled meanwhile."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from scripted import plain, scripted_server

from gamekit import event_loop
from gamekit.errors import BenchmarkFailed
from gamekit.streaming.client import StreamClient
from gamekit.streaming.connection import Connection
from gamekit.streaming.plain_connection import PlainConnection

T = TypeVar("T")
# No kernel has such a family of addresses, as some have no IPv6.
UNKNOWN_FAMILY = 250


def run(main: Coroutine[Any, Any, T]) -> T:
    return event_loop.run(lambda _: asyncio.wait_for(main, 60))


async def answer(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(plain(200, b"{}"))


def test_an_address_of_a_family_without_sockets_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where ``localhost`` is first an address that the kernel cannot use, the next one serves."""
    told = socket.getaddrinfo

    def both(*asked: Any, **more: Any) -> list[Any]:
        found = told(*asked, **more)
        return [(UNKNOWN_FAMILY, *one[1:]) for one in found] + found

    async def main() -> int:
        async with scripted_server(answer) as url, StreamClient(url) as client:
            monkeypatch.setattr(socket, "getaddrinfo", both)
            return (await client.request_json("GET", "/")).status

    assert run(main()) == 200


def test_addresses_of_families_without_sockets_alone_are_a_failure_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no address can be used it is said as for any server that does not answer."""
    told = socket.getaddrinfo

    def unusable(*asked: Any, **more: Any) -> list[Any]:
        return [(UNKNOWN_FAMILY, *one[1:]) for one in told(*asked, **more)]

    async def main() -> None:
        async with scripted_server(answer) as url, StreamClient(url) as client:
            monkeypatch.setattr(socket, "getaddrinfo", unusable)
            await client.open(1)

    with pytest.raises(BenchmarkFailed, match="does not answer"):
        run(main())


def test_a_connection_that_ages_while_it_is_looked_at_is_kept_or_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whenever its time is up, each connection is still idle or was closed: none is in neither."""

    async def main(fresh_looks: int) -> bool:
        async with scripted_server(answer) as url, StreamClient(url) as client:
            await client.open(1)
            (made,) = client._idle
            looks = iter([True] * fresh_looks)
            with monkeypatch.context() as patch:
                patch.setattr(Connection, "reusable", property(lambda _: next(looks, False)))
                await client.open(1)
                return made in client._idle or made.lost is not None

    assert [run(main(looks)) for looks in range(4)] == [True] * 4


def test_opening_that_is_cancelled_keeps_what_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that stood when others were still connecting are used, or closed at the end."""
    connect = PlainConnection.open
    made: list[PlainConnection] = []
    begun = 0

    async def three_of_five(*where: Any) -> PlainConnection:
        nonlocal begun
        begun += 1
        if begun > 3:
            await asyncio.Event().wait()
        made.append(one := await connect(*where))
        return one

    async def main() -> None:
        async with scripted_server(answer) as url, StreamClient(url) as client:
            with monkeypatch.context() as patch:
                patch.setattr(PlainConnection, "open", three_of_five)
                opening = asyncio.ensure_future(client.open(5))
                while len(made) < 3:
                    await asyncio.sleep(0.001)
                opening.cancel()
                await asyncio.wait([opening])
            assert opening.cancelled()
            assert sorted(map(id, client._idle)) == sorted(map(id, made))

    run(main())
    assert len(made) == 3
    assert all(one.lost is not None for one in made)
