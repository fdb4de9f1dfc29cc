"""Series: their members in order, the current figure by the rule, and whether it has shifted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gamekit.findings import Environment, Measurement, Run, RunSource, Series
from gamekit.knowledge.effects import Effects
from gamekit.knowledge.engine_settings import settings_differ
from gamekit.knowledge.environments import Comparison, States, compare, environment_of
from gamekit.knowledge.grades import Grade, Grades
from gamekit.knowledge.order import Key, Order
from gamekit.knowledge.shifts import Shift, disagree, relative_change
from gamekit.store.load import Record

REFUSING = ("supersedes", "disputes", "retracts")
SETTLING = (*REFUSING, "reproduces")


@dataclass(frozen=True)
class SeriesView:
    """A series as it stands. ``members`` are all of them, oldest first, whatever their grade.

    ``predecessor`` is what would be current without ``current``, among older members.
    """

    record: Record
    members: tuple[Record, ...]
    current: Record | None
    predecessor: Record | None
    shifted: Shift | None


class _Boot(NamedTuple):
    """A boot, which belongs to a host; the host is None where it is not known."""

    host: str | None
    name: str


class SeriesViews:
    """A view of every series, derived once each."""

    def __init__(
        self,
        records: Mapping[str, Record],
        runs: Mapping[str, Run],
        effects: Effects,
        order: Order,
        grades: Grades,
    ) -> None:
        self._records = records
        self._runs = runs
        self._effects = effects
        self._order = order
        self._grades = grades
        self._views: dict[str, SeriesView] = {}
        self._counting: dict[str, dict[_Boot, list[Record]]] = {}
        self._seen: dict[str, dict[_Boot, Key]] = {}

    @cached_property
    def _members(self) -> dict[str, list[Record]]:
        members: dict[str, list[Record]] = defaultdict(list)
        for record in self._records.values():
            if isinstance(record.finding, Measurement) and record.finding.series is not None:
                members[record.finding.series].append(record)
        return members

    def view(self, name: str) -> SeriesView:
        """The series ``name``."""
        if name not in self._views:
            members = tuple(self._order.sorted(self._members.get(name, ())))
            chain = self.by_precedence(members)
            self._views[name] = SeriesView(
                record=self._records[name],
                members=members,
                current=chain[0] if chain else None,
                predecessor=chain[1] if len(chain) > 1 else None,
                shifted=self._shift(self._records[name], chain),
            )
        return self._views[name]

    def by_precedence(self, members: Sequence[Record], moment: Key | None = None) -> list[Record]:
        """The current figure, its predecessor, what would be current without both, and so on.

        The newest adequate member that is not superseded, disputed or retracted, else the newest
        such reported one (DESIGN, "The current figure"). ``members`` come oldest first; what
        judged them after ``moment`` does not count.
        """
        usable: dict[str, list[Record]] = {"adequate": [], "reported": []}
        for record in reversed(members):
            for name, those in usable.items():
                if _graded(self._grades.of(record), name) and self._stands(record, moment):
                    those.append(record)
        chain = usable["adequate"] + usable["reported"]
        # A predecessor is older: a reported figure after the last adequate one never was current.
        return [
            record
            for record in chain
            if record is chain[0] or self._order.key(record.id) < self._order.key(chain[0].id)
        ]

    def current_at(self, name: str, moment: Key) -> Record | None:
        """The current figure when the findings up to ``moment`` were all there were."""
        known = [
            member for member in self.view(name).members if self._order.key(member.id) <= moment
        ]
        chain = self.by_precedence(known, moment)
        return chain[0] if chain else None

    def judges(self, record: Record) -> list[Record]:
        """What takes ``record`` out of the choice: its superseders, and reviews against it."""
        return [
            *self._effects.superseders(record.id),
            *self._effects.reviews(record.id, *REFUSING),
        ]

    def _stands(self, record: Record, moment: Key | None = None) -> bool:
        return _measurement(record).value.is_known and not any(
            moment is None or self._order.key(judge.id) <= moment for judge in self.judges(record)
        )

    def _shift(self, series: Record, chain: Sequence[Record]) -> Shift | None:
        """The newest disagreement among those in ``chain``, unless a review has settled it.

        What agrees with the current figure does not settle anything: a second run of the same
        kind leaves the mark of the first.
        """
        for place, before in enumerate(chain[1:], start=1):
            if disagree(_measurement(before).value, _measurement(chain[0]).value):
                if self._settled(chain[:place], series.id):
                    return None
                return self._shift_between(series, before, chain[0])
        return None

    def _shift_between(self, series: Record, before: Record, after: Record) -> Shift:
        finding = series.finding
        assert isinstance(finding, Series)  # noqa: S101 - members name series only
        old, new = _measurement(before).value, _measurement(after).value
        return Shift(
            before=before,
            after=after,
            change=relative_change(old, new),
            better=(new.stated().mid > old.stated().mid) == (finding.better == "higher"),
            environments=self.environments_differ(before, after),
        )

    def _settled(self, after: Sequence[Record], series: str) -> bool:
        """Whether somebody has judged one of the figures ``after`` the shift against the series."""
        return any(self._judged(record, series) for record in after)

    def _judged(self, record: Record, series: str) -> bool:
        if self._effects.reviews(record.id, *SETTLING):
            return True
        targets = (
            *self._effects.replacements.get(record.id, ()),
            *self._effects.judged_by(record.id, *SETTLING),
        )
        return any(self._is_member(target, series) for target in targets)

    def _is_member(self, name: str, series: str) -> bool:
        finding = self._records[name].finding
        return isinstance(finding, Measurement) and finding.series == series

    def environment(self, record: Record) -> Environment:
        """The environment of a measurement: that of the run it names, or the one stated with it."""
        run = self._run(record)
        return record.environment if run is None else environment_of(run)

    def host(self, record: Record) -> str | None:
        """The host of a measurement: its subject's, else that of the series that took it."""
        finding = _measurement(record)
        if finding.subject.host is not None or finding.series is None:
            return finding.subject.host
        series = self._records[finding.series].finding
        assert isinstance(series, Series)  # noqa: S101 - measurements name series only
        return series.match.host

    def environments_differ(self, before: Record, after: Record) -> Comparison:
        """How the environments of two measurements differ.

        For two runs, the states of their hosts and the settings of their engines included.
        """
        one, other = self._run(before), self._run(after)
        return compare(
            self.environment(before),
            self.environment(after),
            None if one is None else States.of(one),
            None if other is None else States.of(other),
            () if one is None or other is None else settings_differ(one, other),
        )

    def replicates(self, before: Record, after: Record) -> bool:
        """Whether nothing recorded tells two measurements apart but boot, start and host state."""
        one, other = self._run(before), self._run(after)
        return compare(
            self.environment(before),
            self.environment(after),
            settings=() if one is None or other is None else settings_differ(one, other),
        ).only_identifies

    def _run(self, record: Record) -> Run | None:
        source = record.finding.source
        return self._runs[source.run] if isinstance(source, RunSource) else None

    def contradicted_by_later_boots(self, record: Record) -> bool:
        """Whether later adequate runs of its series, on later boots, disagree and none agrees.

        A later boot is one that its host was not seen on before; another host's is none.
        """
        finding = _measurement(record)
        mine = self._boot(record)
        if finding.series is None or mine is None or not finding.value.is_known:
            return False
        contradicted = False
        first_seen = self._first_seen(finding.series)
        # By boot: a thousand runs on one boot are no reason to look at each for each.
        for boot, runs in self._runs_that_count(finding.series).items():
            if boot.host != mine.host or first_seen[boot] < self._order.key(record.id):
                continue
            for later in runs if boot != mine else ():
                if self._order.key(later.id) <= self._order.key(record.id):
                    break
                if not disagree(finding.value, _measurement(later).value):
                    return False
                contradicted = True
        return contradicted

    def _boot(self, record: Record) -> _Boot | None:
        boot = self.environment(record).boot
        return None if boot is None else _Boot(self.host(record), boot)

    def _first_seen(self, series: str) -> dict[_Boot, Key]:
        """When each boot was first seen, by any member of the series."""
        if series not in self._seen:
            found: dict[_Boot, Key] = {}
            for member in self.view(series).members:  # oldest first
                boot = self._boot(member)
                if boot is not None:
                    found.setdefault(boot, self._order.key(member.id))
            self._seen[series] = found
        return self._seen[series]

    def _runs_that_count(self, series: str) -> dict[_Boot, list[Record]]:
        """The adequate members that stand, by the boot they were measured on, newest first."""
        if series not in self._counting:
            boots: dict[_Boot, list[Record]] = defaultdict(list)
            for member in reversed(self.view(series).members):
                boot = self._boot(member)
                adequate = _graded(self._grades.of(member), "adequate")
                if boot is not None and adequate and self._stands(member):
                    boots[boot].append(member)
            self._counting[series] = boots
        return self._counting[series]


def _measurement(record: Record) -> Measurement:
    assert isinstance(record.finding, Measurement)  # noqa: S101 - members are measurements
    return record.finding


def _graded(grade: Grade | None, name: str) -> bool:
    return grade is not None and grade.name == name
