"""The history of conclusions: the findings replayed in their order, the oldest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from gamekit.analysis.conclusions import Conclusions, between
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record


@dataclass(frozen=True)
class Move:
    """A series that came to another current figure, by the measurement or review ``cause``."""

    cause: Record
    series: Record
    before: Record | None
    after: Record | None


@dataclass(frozen=True)
class Step:
    """A moment at which series came to other current figures.

    What one message or run told came at once, so that no conclusion rests on a part of it.
    ``conclusions`` is what changed, under the figures that all series had before and after.
    """

    moves: tuple[Move, ...]
    conclusions: Conclusions


def replay(knowledge: Knowledge) -> Iterator[Step]:
    """The steps by which today's figures came about, the oldest first.

    Each finding is taken with its place in the order; what judges a member takes effect at its own
    place. Reviews of reviews take effect from the start: only what still stands is replayed.
    """
    then: dict[str, str | None] = {record.id: None for record in knowledge.of_kind("series")}
    for _, told in groupby(_events(knowledge), lambda event: knowledge.moment(event[0].id)):
        events = list(told)
        newest = events[-1][0].id
        earlier, moves = dict(then), []
        for cause, series in events:
            before, after = then[series], knowledge.current_at(series, newest)
            if after == before:
                continue
            then[series] = after
            moves.append(
                Move(
                    cause,
                    knowledge.record(series),
                    None if before is None else knowledge.record(before),
                    None if after is None else knowledge.record(after),
                )
            )
        if moves:
            moved = [move.series.id for move in moves]
            yield Step(tuple(moves), between(knowledge, moved, earlier, dict(then)))


def _events(knowledge: Knowledge) -> list[tuple[Record, str]]:
    """Members and what judges them, each with the series it may move, the oldest first."""
    series_of: dict[str, set[str]] = defaultdict(set)
    records: dict[str, Record] = {}
    for series in knowledge.of_kind("series"):
        for member in knowledge.series(series.id).members:
            for cause in (member, *knowledge.judges(member.id)):
                records[cause.id] = cause
                series_of[cause.id].add(series.id)
    return [
        (cause, series)
        for cause in knowledge.oldest_first(records.values())
        for series in sorted(series_of[cause.id])
    ]
