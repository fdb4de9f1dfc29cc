"""The order of findings from oldest to newest: supersession, then message number, then run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from graphlib import TopologicalSorter

from gamekit.findings import ImportSource, Investigation, Person, Publication, Run, RunSource
from gamekit.knowledge.effects import Effects
from gamekit.store.load import Record

Moment = tuple[int, int, str]
Key = tuple[Moment, int, Moment, str]


class Order:
    """A total order of the records, the same however they were read.

    What replaces a record comes after it, and after all else of the same moment. Otherwise an
    investigation's findings go by their newest message number, and come before everything dated:
    runs by the time they started, imports by the time they tell or were read at, publications and
    persons by their day. What is equal in all of that goes by id.
    """

    def __init__(
        self, records: Mapping[str, Record], runs: Mapping[str, Run], effects: Effects
    ) -> None:
        self._records = records
        self._runs = runs
        self._effects = effects

    @cached_property
    def _keys(self) -> dict[str, Key]:
        older = {
            name: [target for target in targets if target in self._records]
            for name, targets in self._effects.replacements.items()
            if name in self._records
        }
        keys: dict[str, Key] = {}
        graph = {name: older.get(name, []) for name in self._records}
        for name in TopologicalSorter(graph).static_order():
            own = _moment(self._records[name], self._runs)
            base, depth = own, 0
            for target in graph[name]:
                # Just after the newest that it replaces, where its own moment lies before.
                base, depth = max((base, depth), (keys[target][0], keys[target][1] + 1))
            keys[name] = (base, depth, own, name)
        return keys

    def key(self, name: str) -> Key:
        """What ``name`` is sorted by; the newest has the greatest."""
        return self._keys[name]

    def sorted(self, records: Iterable[Record]) -> list[Record]:
        """``records`` from oldest to newest."""
        return sorted(records, key=lambda record: self._keys[record.id])


def _moment(record: Record, runs: Mapping[str, Run]) -> Moment:
    source = record.finding.source
    if isinstance(source, Investigation):
        return (0, source.newest, "")
    if isinstance(source, RunSource):
        return (1, 0, _microseconds(runs[source.run].started))
    if isinstance(source, ImportSource):
        return (1, 0, _microseconds(source.moment))
    if isinstance(source, Publication):
        return (1, 0, source.read)
    assert isinstance(source, Person)  # noqa: S101 - the last of the union
    return (1, 0, source.said)


def _microseconds(time: str) -> str:
    # Times are written with or without a fraction; as text they sort only when all have one.
    return datetime.fromisoformat(time).isoformat(timespec="microseconds")
