"""Samples of all-reduce latency under a setting and under the control, taken in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from gamekit.collective.arithmetic import LEAD, SMALLEST_EXPONENT
from gamekit.collective.group import RankGroup, Told


@dataclass(frozen=True)
class Job:
    """What one sample is: a row of ``iterations`` all-reduces of one message."""

    message_bytes: int
    dtype: str
    mode: str
    iterations: int
    warmup: int
    lead: int = LEAD
    smallest_exponent: int = SMALLEST_EXPONENT


@dataclass(frozen=True)
class Round:
    """One sample, us an all-reduce, and that of the control beside it, where there is one."""

    latency_us: float
    control_us: float | None = None


class WrongValues(Exception):
    """The ranks summed, and what came back is not the sum."""


def take_rounds(
    group: RankGroup,
    control: RankGroup | None,
    job: Job,
    repeats: int,
    tell: Callable[[int], None] = lambda _: None,
) -> list[Round]:
    """``repeats`` rounds; who is first alternates, so that no drift favours either (ABBA).

    ``tell`` is told the number of each. Raises ``WrongValues`` where a value that came back, also
    while warming up, is not the sum, and ``GroupFailed``.
    """
    groups = [group] if control is None else [group, control]
    for one in groups:
        _check(one.prepare(asdict(job)), one, group)
    rounds = []
    for number in range(repeats):
        tell(number)
        told: dict[int, Told] = {}
        for one in groups if number % 2 == 0 else reversed(groups):
            told[id(one)] = one.sample()
            _check(told[id(one)].wrong, one, group)
        rounds.append(
            Round(
                told[id(group)].latency_us,
                None if control is None else told[id(control)].latency_us,
            )
        )
    return rounds


def _check(wrong: int, one: RankGroup, group: RankGroup) -> None:
    if wrong:
        whose = "" if one is group else " of the control"
        raise WrongValues(f"{wrong} values{whose} came back wrong, over all ranks")
