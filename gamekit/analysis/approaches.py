"""The order of the approaches: what is part of another, or what another waits for, comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gamekit.findings import Approach, Assumption, Question
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record


@dataclass(frozen=True)
class WorkItem:
    """A named piece of work; ``own_of`` is the approach that brings it in."""

    name: str
    text: str
    own_of: str


@dataclass(frozen=True)
class Placed:
    """An approach at its position (from 1); ``reason`` is a sentence that says why there.

    ``items`` is all its work, what it includes first. ``contains`` are the approaches whose work is
    all part of it, ``waits_for`` those that it depends on, both by id and in their own order.
    """

    record: Record
    position: int
    items: tuple[WorkItem, ...]
    contains: tuple[str, ...]
    waits_for: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class ApproachOrder:
    """Approaches that are open, in the order to take them, and ``apart`` those that are not.

    ``apart`` are done, abandoned, or superseded, disputed or retracted.
    """

    open: tuple[Placed, ...]
    apart: tuple[Record, ...]


def order(knowledge: Knowledge) -> ApproachOrder:
    """The open approaches, cheapest first as far as that is known.

    An approach comes after every other whose work items are all among its own and fewer, and after
    what it includes or depends on; also after one that tests an assumption it depends on. What that
    leaves open goes by fewer work items, then by known effort, then by label; where the effort of
    all that are left to choose from is known, effort goes before the number of items.
    """
    records = knowledge.of_kind("approach")
    is_open = {
        record.id: _approach(record).state in ("proposed", "running")
        and knowledge.standing(record.id).current
        for record in records
    }
    return _Ordering(
        knowledge,
        [record for record in records if is_open[record.id]],
        [record for record in records if not is_open[record.id]],
    ).run()


class _Ordering:
    def __init__(self, knowledge: Knowledge, records: list[Record], apart: list[Record]) -> None:
        self._knowledge = knowledge
        self._records = {record.id: record for record in records}
        self._apart = apart
        self._items = {record.id: _items(knowledge, record) for record in records}
        names = {
            name: frozenset(item.name for item in items) for name, items in self._items.items()
        }
        self._contains = {
            name: {other for other in names if names[other] < names[name]} for name in names
        }
        self._waits = {name: self._direct(name) for name in names}
        self._tested = {name: self._testers(name) for name in names}

    def run(self) -> ApproachOrder:
        placed: list[Placed] = []
        done: list[str] = []
        while len(done) < len(self._records):
            choice = self._choice(done)
            name = min(choice, key=lambda one: self._preference(one, choice))
            placed.append(self._placed(name, choice, done))
            done.append(name)
        return ApproachOrder(tuple(placed), tuple(self._apart))

    def _choice(self, done: list[str]) -> list[str]:
        """Those that nothing left has to come before.

        What is included or depended on always does, and runs in no circle. Where the rest would
        (B depends on A, whose items are all of B's and more), the statement of the findings wins.
        """
        left = [name for name in self._records if name not in done]
        ready = [name for name in left if self._waits[name] <= set(done)]
        free = [name for name in ready if self._contains[name] | self._tested[name] <= set(done)]
        return free or ready

    def _preference(self, name: str, choice: Iterable[str]) -> tuple[float, float, str, str]:
        approach = _approach(self._records[name])
        items = float(len(self._items[name]))
        efforts = [_approach(self._records[other]).effort_hours for other in choice]
        effort = approach.effort_hours
        if effort is not None and None not in efforts:
            return (effort, items, approach.label, name)
        return (items, float("inf") if effort is None else effort, approach.label, name)

    def _direct(self, name: str) -> set[str]:
        approach = _approach(self._records[name])
        return {*approach.includes, *approach.depends_on} & set(self._records)

    def _testers(self, name: str) -> set[str]:
        """Open approaches that test an assumption, or settle a question, that it depends on."""
        testers: set[str] = set()
        for target in _approach(self._records[name]).depends_on:
            finding = self._knowledge.record(target).finding
            if isinstance(finding, Assumption):
                testers.update(finding.tested_by)
            elif isinstance(finding, Question):
                testers.update(finding.settled_by)
        return testers & set(self._records) - {name}

    def _placed(self, name: str, choice: list[str], done: list[str]) -> Placed:
        contains = tuple(other for other in done if other in self._contains[name])
        waits = self._waits[name] | self._tested[name]
        waits_for = tuple(other for other in done if other in waits)
        return Placed(
            record=self._records[name],
            position=len(done) + 1,
            items=self._items[name],
            contains=contains,
            waits_for=waits_for,
            reason=self._reason(name, choice, contains, waits_for),
        )

    def _reason(
        self, name: str, choice: list[str], contains: tuple[str, ...], waits_for: tuple[str, ...]
    ) -> str:
        parts = []
        if contains:
            inside = {item.name for other in contains for item in self._items[other]}
            more = [item.name for item in self._items[name] if item.name not in inside]
            beside = f" and adds {', '.join(more)}" if more else " together"
            # Those that are part of another that is named need no naming.
            widest = [
                one
                for one in contains
                if not any(one in self._contains[other] for other in contains)
            ]
            verb = "does" if len(widest) == 1 else "do"
            parts.append(f"it consists of all that {self._labels(widest)} {verb}{beside}")
        others = [
            other for other in waits_for if other not in contains and other in self._waits[name]
        ]
        if others:
            parts.append(f"it depends on {self._labels(others)}")
        tested = [
            other for other in waits_for if other not in contains and other not in self._waits[name]
        ]
        if tested:
            parts.append(f"{self._labels(tested)} tests what it rests on")
        if len(choice) > 1 or not parts:
            parts.append(self._preferred(name, [other for other in choice if other != name]))
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    def _preferred(self, name: str, others: list[str]) -> str:
        count = len(self._items[name])
        own = f"{count} work item{'s' * (count != 1)}"
        if not others:
            return f"nothing has to come before it ({own})"
        efforts = [_approach(self._records[other]).effort_hours for other in (name, *others)]
        against = self._labels(sorted(others, key=lambda other: self._preference(other, others)))
        if None not in efforts and efforts[0] != min(e for e in efforts[1:] if e is not None):
            return f"of what is possible now it takes the least effort, before {against}"
        if all(count < len(self._items[other]) for other in others):
            return f"it takes the least work ({own}), before {against}"
        return f"as far as is known {against} could as well come first"

    def _labels(self, names: Iterable[str]) -> str:
        labels = [_approach(self._records[name]).label for name in names]
        return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _items(knowledge: Knowledge, record: Record) -> tuple[WorkItem, ...]:
    """All work of an approach: that of those it includes, then its own; each name once."""
    items: dict[str, WorkItem] = {}
    seen: set[str] = set()

    def collect(one: Record) -> None:
        if one.id in seen:
            return
        seen.add(one.id)
        approach = _approach(one)
        for name in approach.includes:
            collect(knowledge.record(name))
        for name, text in approach.work.items():
            items.setdefault(name, WorkItem(name, text, one.id))

    collect(record)
    return tuple(items.values())


def _approach(record: Record) -> Approach:
    assert isinstance(record.finding, Approach)  # noqa: S101 - asked for by kind
    return record.finding
