"""The engine's own time of a cycle: from the decode lines of its log, or the times it records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from gamekit import event_loop
from gamekit.bench.engine_facts import EngineFacts
from gamekit.launch.log import Tick
from gamekit.streaming.client import StreamClient

Source = Literal["step_time_dict", "decode lines"]
StepTimes = Sequence[Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class EngineCycle:
    """The time of a cycle by the engine's own clock, in ms: the median of so many ticks."""

    cycle_ms: float
    ticks: int
    source: Source


class EngineCycleWatch:
    """What the engine tells of its cycles while requests are sent: ``begin``, send them, ``end``.

    sglang notes a tick every 40 decode forwards (``decode_log_interval``), whichever request they
    are of. There are two accounts of the same ticks, and the more exact one that is there is taken:

    - ``step_time_dict`` of ``/server_info``, where the engine runs with SGLANG_RECORD_STEP_TIME=1:
      by the number of running requests a list of (time between two ticks)/(forwards between them).
      Under speculation a forward of it is a whole cycle, draft, verify and what is between them; it
      is no split. The first after an idle time has that time in it, and is left out.
    - the decode lines of the log, where this process started the engine: accept len x running
      requests/gen throughput. They are rounded to 0.01, which is up to 0.5 % of an accept length.
      ``EngineLog`` leaves the first line after an idle time out.

    Only ticks count in which all requests ran that were sent. sglang's ``report_decode_stats`` of
    0.5.15 and 0.5.23 is where this was read.
    """

    def __init__(self, engine: EngineFacts, running: int) -> None:
        self._engine = engine
        self._running = running
        self._before = _step_times(engine.url)
        self._position = 0

    @property
    def tells(self) -> bool:
        """Whether the engine has told anything of its cycles, or would if requests were longer."""
        log = self._engine.log
        return self._before is not None or (log is not None and log.has_decode_lines())

    def begin(self) -> None:
        """Look at what is there before the requests are sent.

        Raises ``BenchmarkFailed``, as ``end``, where the engine does not answer any more.
        """
        if self._before is not None:
            self._before = _step_times(self._engine.url) or ()
        if self._engine.log is not None:
            self._position = self._engine.log.position()

    def end(self) -> EngineCycle | None:
        """The engine's cycle since ``begin``; None where it gave no tick that counts."""
        if self._before is not None:
            new = new_step_times_ms(
                self._before, _step_times(self._engine.url) or (), self._running
            )
            if new:
                return EngineCycle(median(new), len(new), "step_time_dict")
        if self._engine.log is not None:
            ticks = self._engine.log.ticks(self._position)
            times = [tick_cycle_ms(tick) for tick in ticks if _all_ran(tick, self._running)]
            told = [one for one in times if one is not None]
            if told:
                return EngineCycle(median(told), len(told), "decode lines")
        return None


def tick_cycle_ms(tick: Tick) -> float | None:
    """The time of a cycle by one decode line, ms: accept len x requests/gen throughput.

    Each request gets ``accept len`` tokens of a cycle, and ``gen throughput`` is of all of them.
    None where a field is missing or makes no sense, as without speculation.
    """
    length, rate = tick.number("accept len"), tick.number("gen throughput")
    running = tick.number("#running-req")
    if length is None or rate is None or running is None:
        return None
    if not (length >= 1 and 0 < rate < math.inf and running >= 1):
        return None
    return 1000 * length * running / rate


def new_step_times_ms(before: StepTimes, after: StepTimes, running: int) -> list[float]:
    """The times, ms, that came to the lists of ``running`` requests but for the first of each.

    There is a list for each state (sglang: each data-parallel rank). One that is not the list
    before with something behind it was begun anew in between: nothing is known then.
    """
    if len(before) != len(after):
        return []
    new: list[float] = []
    for old, now in zip(before, after, strict=True):
        known, seen = list(old.get(str(running), ())), list(now.get(str(running), ()))
        if seen[: len(known)] != known:
            return []
        new += [1000 * one for one in seen[len(known) + 1 :]]
    return new


def _all_ran(tick: Tick, running: int) -> bool:
    return tick.number("#running-req") == running


def _step_times(url: str) -> StepTimes | None:
    """``step_time_dict`` of every state of the engine, None where it records none."""

    async def ask(_: object) -> Any:
        async with StreamClient(url) as client:
            return (await client.request_json("GET", "/server_info")).body

    body = event_loop.run(ask)
    states = body.get("internal_states") if isinstance(body, dict) else None
    told = [
        state["step_time_dict"]
        for state in (states if isinstance(states, list) else ())
        if isinstance(state, dict) and isinstance(state.get("step_time_dict"), dict)
    ]
    return [_readable(one) for one in told] or None


def _readable(told: Mapping[str, Any]) -> dict[str, list[float]]:
    """The lists that hold times and nothing else."""
    return {
        str(key): [float(one) for one in times]
        for key, times in told.items()
        if isinstance(times, list) and all(_is_time(one) for one in times)
    }


def _is_time(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < math.inf
