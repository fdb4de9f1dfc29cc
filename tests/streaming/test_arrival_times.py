"""Times of arrival: the kernel's where it tells, never later than the reading, steps noticed."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import scripted_server
from streams import DONE, END, HEAD, event, framed, generated

from gamekit import event_loop
from gamekit.kernel_clock import CONTROL_BYTES, KernelClock, request_stamps
from gamekit.streaming.client import Exchange, StreamClient
from gamekit.streaming.plain_connection import PlainConnection
from gamekit.streaming.requests import generate_request

STAMPED = sys.platform == "linux" and struct.calcsize("@ll") == 16
needs_stamps = pytest.mark.skipif(not STAMPED, reason="this system gives no time stamps")
SECOND = 1_000_000_000
# So long a client is kept from reading what has come.
_BUSY_NS = 20_000_000


class Clocks:
    """A realtime and a monotonic clock that a test sets."""

    def __init__(self, realtime: int, monotonic: int) -> None:
        self.realtime = realtime
        self.monotonic = monotonic

    def kernel_clock(self) -> KernelClock:
        return KernelClock(lambda: self.realtime, lambda: self.monotonic)

    def advance(self, nanoseconds: int) -> None:
        self.realtime += nanoseconds
        self.monotonic += nanoseconds


def stamp(realtime_ns: int) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, 35, struct.pack("@ll", *divmod(realtime_ns, SECOND)))]


@given(
    realtime=st.integers(0, 2**61),
    monotonic=st.integers(0, 2**61),
    waited=st.integers(0, SECOND),
)
def test_a_stamp_is_mapped_onto_the_monotonic_clock(
    realtime: int, monotonic: int, waited: int
) -> None:
    """What the kernel received some time ago arrived that much before the reading."""
    clocks = Clocks(realtime, monotonic)
    clock = clocks.kernel_clock()
    clocks.advance(SECOND)
    arrived = clock.arrival_ns(stamp(clocks.realtime - waited), clocks.monotonic, 0)
    assert arrived == clocks.monotonic - waited


@given(stamped=st.integers(0, 2**61), read=st.integers(0, 2**61), before=st.integers(0, 2**61))
def test_no_arrival_is_later_than_its_reading_or_before_what_came_first(
    stamped: int, read: int, before: int
) -> None:
    """Whatever a stamp says, it stays between the previous arrival and the reading."""
    before = min(before, read)
    arrived = Clocks(0, 0).kernel_clock().arrival_ns(stamp(stamped), read, before)
    assert arrived is None or before <= arrived <= read


@pytest.mark.parametrize("step_s", [-3600, -1, 1, 3600])
def test_a_step_of_the_system_clock_is_noticed(step_s: int) -> None:
    """Stamps around a step are not believed; those of the next batch are, by the new offset."""
    clocks = Clocks(1_000_000 * SECOND, 5000 * SECOND)
    clock = clocks.kernel_clock()
    before_step = stamp(clocks.realtime)
    clocks.advance(1000)
    clocks.realtime += step_s * SECOND
    clock.refresh()
    assert clock.steps == 1
    assert clock.arrival_ns(before_step, clocks.monotonic, 0) is None
    clocks.advance(1000)
    clock.refresh()
    assert clock.arrival_ns(stamp(clocks.realtime - 700), clocks.monotonic, 0) == (
        clocks.monotonic - 700
    )


def test_an_interrupted_look_at_the_clocks_is_no_step() -> None:
    """A pause between two readings changes neither the offset nor the trust in it."""
    clocks = Clocks(1_000_000 * SECOND, 5000 * SECOND)
    pauses = iter([SECOND])

    def realtime() -> int:
        now = clocks.realtime
        if clock is not None:
            clocks.advance(next(pauses, 0))
        return now

    clock: KernelClock | None = None
    clock = KernelClock(realtime, lambda: clocks.monotonic)
    clock.refresh()
    assert clock.steps == 0
    assert clock.arrival_ns(stamp(clocks.realtime), clocks.monotonic, 0) == clocks.monotonic


@pytest.mark.parametrize(
    "control",
    [[], [(socket.SOL_SOCKET, 29, bytes(16))], [(socket.SOL_SOCKET, 35, bytes(8))]],
    ids=["none", "another message", "another size"],
)
def test_a_read_without_a_stamp_has_no_time_of_arrival(
    control: list[tuple[int, int, bytes]],
) -> None:
    """Nothing is guessed from control messages of another kind."""
    assert Clocks(0, 0).kernel_clock().arrival_ns(control, 10, 0) is None


@needs_stamps
def test_merged_segments_carry_the_time_of_the_last() -> None:
    """Segments that waited in a queue are read as one, dated by the newest of them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    with ours, theirs:
        assert request_stamps(ours)
        clock = KernelClock()
        theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent = []
        for _ in range(5):
            time.sleep(0.002)
            sent.append(time.perf_counter_ns())
            theirs.send(b"x" * 10)
        done = time.perf_counter_ns()
        time.sleep(0.02)
        data, control, _, _ = ours.recvmsg(100, CONTROL_BYTES)
        clock.refresh()
        arrived = clock.arrival_ns(control, time.perf_counter_ns(), 0)
        assert data == b"x" * 50
        # The first segments of a process may be received before the kernel stamps at all.
        if arrived is not None:
            assert sent[-1] - 50_000 <= arrived <= done + 50_000


async def paced(kernel_stamps: bool) -> Exchange:
    """One exchange whose chunks come one by one."""

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for total in range(1, 6):
            await asyncio.sleep(0.01)
            writer.write(framed(event(generated(total, "length" if total == 5 else None))))
        writer.write(framed(DONE) + END)

    async with scripted_server(handler) as url, StreamClient(url) as client:
        connection = await PlainConnection.open(
            client.address.host,
            client.address.port,
            client._receiving,
            kernel_stamps=kernel_stamps,
        )
        client._idle.append(connection)
        return await client.exchange(generate_request("hello", 5))


@pytest.mark.parametrize("kernel_stamps", [True, False])
def test_a_client_without_kernel_stamps_says_so(kernel_stamps: bool) -> None:
    """The same stream is read either way; the record names the source of its times."""
    exchange = event_loop.run(lambda _: paced(kernel_stamps))
    assert exchange.response.complete
    if not kernel_stamps:
        assert exchange.time_source == "reading"
    elif STAMPED:
        assert exchange.time_source in ("kernel", "mixed")


async def paced_when_stamped() -> tuple[Exchange, list[tuple[int, int]]]:
    """One exchange whose chunks come while the client is busy, and the spans of their writing."""
    written: list[tuple[int, int]] = []

    async def handler(route: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        if b"warm up" in request:
            writer.write(HEAD + framed(DONE) + END)
            return
        writer.write(HEAD)
        for total in range(1, 6):
            await asyncio.sleep(0.01)
            before = time.perf_counter_ns()
            writer.write(framed(event(generated(total, "length" if total == 5 else None))))
            written.append((before, time.perf_counter_ns()))
            # The client lives in this thread too: it cannot read meanwhile.
            time.sleep(_BUSY_NS / 1e9)
        # It reads the last one first: what is read at once has the time of what came last.
        await asyncio.sleep(0.01)
        writer.write(framed(DONE) + END)

    async with scripted_server(handler) as url, StreamClient(url) as client:
        # A kernel begins to stamp some time after it was first asked to.
        for _ in range(500):
            warm = await client.exchange(generate_request("warm up", 1))
            if warm.time_source == "kernel":
                break
            await asyncio.sleep(0.01)
        return await client.exchange(generate_request("hello", 5)), written


@needs_stamps
def test_a_busy_client_does_not_delay_the_times_of_arrival() -> None:
    """Each chunk, read 20 ms after it came, carries the time at which it was written."""
    exchange, written = event_loop.run(lambda _: paced_when_stamped())
    assert exchange.time_source == "kernel"
    arrived = [at for at, piece in exchange.response.pieces if b"completion_tokens" in piece]
    # The kernel stamps within the writing, whatever the machine is busy with; the time of reading
    # would be later by all of the pause. A quarter of it is for the mapping of its clock.
    for at, (before, after) in zip(arrived, written, strict=True):
        assert before - _BUSY_NS / 4 <= at <= after + _BUSY_NS / 4
