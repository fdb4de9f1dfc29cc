"""The event loop that client and stand-in engine run on."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import time

import pytest

from gamekit import event_loop
from gamekit.event_loop import LoopLag, PreciseSelector


@pytest.mark.parametrize("punctual", [False, True])
def test_no_timer_fires_early(punctual: bool) -> None:
    """Precision never comes from firing before the deadline."""

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        early = []
        for pause in (0.0005, 0.003, 0.02) * 5:
            due = loop.time() + pause
            fired: asyncio.Future[float] = loop.create_future()
            loop.call_at(due, lambda fired=fired: fired.set_result(loop.time()))
            early.append(due - await fired)
        return early

    # asyncio itself runs timers up to one clock tick (1 ns) ahead.
    assert max(event_loop.run(lambda _: main(), punctual=punctual)) < 1e-6


@pytest.mark.parametrize("punctual", [False, True])
def test_data_is_seen_while_a_timer_is_far_away(punctual: bool) -> None:
    """Waiting for a distant deadline does not hide a readable socket."""

    async def main() -> bytes:
        loop = asyncio.get_running_loop()
        here, there = socket.socketpair()
        with here, there:
            here.setblocking(False)
            loop.call_later(0.01, there.send, b"x")
            return await asyncio.wait_for(loop.sock_recv(here, 1), 60)

    assert event_loop.run(lambda _: main(), punctual=punctual) == b"x"


def test_a_busy_loop_knows_its_lag() -> None:
    """A callback that hogs the loop for 50 ms shows as at least that much lag."""

    async def main(selector: PreciseSelector) -> LoopLag:
        await asyncio.sleep(0)
        selector.restart()
        await asyncio.sleep(0)
        time.sleep(0.05)
        await asyncio.sleep(0)
        return selector.lag()

    lag = event_loop.run(main)
    assert lag.max_ms >= 50
    assert 0 < lag.busy_fraction <= 1
    assert lag.turns >= 1


def test_the_collector_rests_during_a_run_and_returns_after_it() -> None:
    """Garbage collection is off inside and on again outside, also after an error."""

    async def main() -> bool:
        return gc.isenabled()

    async def fail() -> None:
        raise RuntimeError("as planned")

    assert event_loop.run(lambda _: main()) is False
    with pytest.raises(RuntimeError, match="as planned"):
        event_loop.run(lambda _: fail())
    assert gc.isenabled()


def test_a_signal_that_comes_while_garbage_is_collected_is_not_lost() -> None:
    """Python drops what a finalizer raises; Ctrl-C in one still ends the run."""

    class Interrupts:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        pass

    gc.disable()
    try:
        Interrupts()
        with pytest.raises(KeyboardInterrupt):
            event_loop.run(lambda _: main())
    finally:
        gc.enable()
