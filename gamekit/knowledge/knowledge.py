"""The knowledge of a base: everything that is derived from its findings, each once and lazily."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from gamekit.errors import KnowledgeErrors, UsageFault
from gamekit.findings import Environment, Measurement, Series
from gamekit.formula import Impossible, Result, UnknownResult, Verdict, parse
from gamekit.knowledge.check import problems
from gamekit.knowledge.dependents import Dependent, Dependents
from gamekit.knowledge.effects import Effects
from gamekit.knowledge.environments import Comparison
from gamekit.knowledge.figures import NOTHING_INSTEAD, Figure, Figures, Instead
from gamekit.knowledge.formulas import Formulas
from gamekit.knowledge.grades import Grade, Grades
from gamekit.knowledge.order import Key, Order
from gamekit.knowledge.query import Search, subject_of
from gamekit.knowledge.references import WITH_FIGURE, Path
from gamekit.knowledge.series import SeriesView, SeriesViews
from gamekit.knowledge.standing import Standing, Standings
from gamekit.stability import Instability
from gamekit.store.load import Base, Record
from gamekit.store.root import Config

_MEANT = 3


def build(base: Base) -> Knowledge:
    """The knowledge of ``base``.

    Raises ``KnowledgeErrors`` with every dangling or unfitting id, circle and malformed formula.
    """
    formulas = Formulas(base.records)
    found = problems(base, formulas)
    if found:
        raise KnowledgeErrors(found)
    return Knowledge(base, formulas)


class Knowledge:
    """What a base says, made by ``build``. Ids are those of findings."""

    def __init__(self, base: Base, formulas: Formulas) -> None:
        self.base = base
        self._effects = Effects(base.records)
        self._order = Order(base.records, base.runs, self._effects)
        self._grades = Grades(base.records, base.runs)
        self._series = SeriesViews(
            base.records, base.runs, self._effects, self._order, self._grades
        )
        self._standings = Standings(self._effects, self._order, self._grades, self._series)
        self._formulas = formulas
        self._figures = Figures(base.records, formulas, self._grades, self._series)
        self._search = Search(base.records, self._standings, self._grades)

    @property
    def config(self) -> Config:
        """What ``gamekit.yaml`` says."""
        return self.base.config

    def record(self, name: str) -> Record:
        """The finding ``name``; raises ``UsageFault`` when there is none."""
        record = self.base.records.get(name)
        if record is None:
            raise self.no_such(name, self.base.records, "finding")
        return record

    def no_such(self, name: str, ids: Iterable[str], what: str) -> UsageFault:
        """That none of ``ids`` is ``name``, to be raised, with those that may have been meant.

        Those are what ``name`` is a part of, else what is spelt alike, else the newest runs.
        """
        known = list(ids)
        meant = [one for one in known if name and name in one]
        meant = meant or difflib.get_close_matches(name, known, n=_MEANT)
        if meant:
            more = f" or one of {len(meant) - _MEANT} more" if len(meant) > _MEANT else ""
            mend = f"did you mean {' or '.join(meant[:_MEANT])}{more}?"
        else:
            runs = self.base.runs
            newest = sorted((one for one in known if one in runs), reverse=True)[:_MEANT]
            mend = "findings are listed by: gamekit query"
            if newest:
                mend += f"; the newest runs are: {', '.join(newest)}"
        return UsageFault(f"there is no {what} '{name}'", mend=mend)

    def of_kind(self, kind: str) -> list[Record]:
        """All findings of a kind, in the order of files and lines."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[Record]]:
        kinds: dict[str, list[Record]] = {}
        for record in self.base.records.values():
            kinds.setdefault(record.finding.kind, []).append(record)
        return kinds

    def order_key(self, name: str) -> Key:
        """What findings are sorted by from oldest to newest."""
        return self._order.key(self.record(name).id)

    def moment(self, name: str) -> tuple[object, int]:
        """When a finding came to be: equal for those of one message or run, told at once."""
        moment, depth, *_ = self.order_key(name)
        return moment, depth

    def oldest_first(self, records: Iterable[Record]) -> list[Record]:
        """``records`` in the order of the investigation, the newest last."""
        return self._order.sorted(records)

    def grade(self, name: str) -> Grade | None:
        """The grade of a measurement, or of the current figure of a series; None for the rest."""
        record = self.record(name)
        if isinstance(record.finding, Series):
            current = self.series(name).current
            return None if current is None else self._grades.of(current)
        return self._grades.of(record)

    def standing(self, name: str) -> Standing:
        """What reviews and newer findings have made of a finding."""
        return self._standings.of(self.record(name))

    def replaces(self, name: str) -> list[str]:
        """What a finding replaces, by its own word or as the evidence of a review in effect."""
        return list(self._effects.replacements.get(self.record(name).id, ()))

    def series(self, name: str) -> SeriesView:
        """A series; raises ``UsageFault`` when ``name`` is no series."""
        record = self.record(name)
        if not isinstance(record.finding, Series):
            raise UsageFault(
                f"{name} is a {record.finding.kind} and no series",
                mend="see: gamekit query --kind series",
            )
        return self._series.view(name)

    def current_at(self, series: str, moment: str) -> str | None:
        """The current figure of a series when finding ``moment`` was the newest of all."""
        current = self._series.current_at(self.series(series).record.id, self.order_key(moment))
        return None if current is None else current.id

    def judges(self, name: str) -> list[Record]:
        """What takes a measurement out of the choice of current figure, in effect today."""
        return self._series.judges(self.record(name))

    def environment(self, name: str) -> Environment:
        """The environment of a measurement: that of its run, or the one stated with it."""
        return self._series.environment(self.record(name))

    def host(self, name: str) -> str | None:
        """The host of a measurement: its subject's, else that of the series that took it."""
        return self._series.host(self.record(name))

    def environments_differ(self, before: str, after: str) -> Comparison:
        """How the environments of two measurements differ, what matters most first."""
        return self._series.environments_differ(self.record(before), self.record(after))

    def replicates(self, before: str, after: str) -> bool:
        """Whether nothing recorded tells two measurements apart but boot, start and host state."""
        return self._series.replicates(self.record(before), self.record(after))

    def instabilities(self, name: str) -> list[Instability]:
        """What the samples of a measurement show of other states, whatever its size."""
        return self._grades.instabilities(self.record(name))

    def figure(self, name: str, instead: Instead = NOTHING_INSTEAD) -> Figure:
        """The figure of a measurement, series or claim.

        ``instead`` gives, by series, another member to count as its current figure, or None for no
        figure at all. Raises ``FormulaError`` for kinds that have no figure.
        """
        return self._figures.of(self.record(name), instead)

    def computed(
        self, name: str, path: Path, instead: Instead = NOTHING_INSTEAD
    ) -> tuple[Result, Result]:
        """What the formula at ``path`` of a claim comes to: over stated ranges, and rounded."""
        return self._figures.computed(self.record(name), path, instead)

    def derived(self, formula: str, instead: Instead = NOTHING_INSTEAD) -> tuple[Result, Result]:
        """What ``formula``, which need not be a finding's, comes to over the findings it names.

        Over stated ranges, and rounded. Raises ``FormulaError`` for one that is malformed,
        ``UsageFault`` for an id that does not exist.
        """
        expression = parse(formula)
        for name in expression.references:
            self.record(name)
        return self._figures.of_formula(expression, instead)

    def ids_of(self, formula: str) -> tuple[str, ...]:
        """The ids that ``formula`` names."""
        return parse(formula).references

    def judged(
        self, name: str, path: Path, instead: Instead = NOTHING_INSTEAD
    ) -> tuple[Verdict | UnknownResult | Impossible, Verdict | UnknownResult | Impossible]:
        """Whether the comparison at ``path`` holds: over stated ranges, and rounded."""
        return self._figures.judged(self.record(name), path, instead)

    def formula_ids(self, name: str, path: Path) -> tuple[str, ...]:
        """The ids that the formula at ``path`` of a finding names."""
        return self._formulas.get(name, *path).references

    def dependents(self, name: str) -> list[Dependent]:
        """What names a finding, then what is computed from it, nearest first."""
        return self._dependents.of(self.record(name).id)

    @cached_property
    def _dependents(self) -> Dependents:
        return Dependents(self.base.records, self._formulas, self._series)

    def query(
        self,
        text: str = "",
        *,
        kind: str | None = None,
        status: str | None = None,
        metric: str | None = None,
        subject: Mapping[str, str] | None = None,
        grade: str | None = None,
    ) -> list[Record]:
        """The findings that meet all that is asked; see ``query.Search.find``."""
        return self._search.find(
            text, kind=kind, status=status, metric=metric, subject=subject, grade=grade
        )

    def as_json(self, name: str) -> dict[str, Any]:
        """A finding in the form of ``query --json``; what does not apply is None."""
        record = self.record(name)
        finding = record.finding
        standing = self.standing(name)
        grade = self.grade(name)
        subject = subject_of(record)
        return {
            "id": record.id,
            "kind": finding.kind,
            "title": finding.title,
            "status": standing.statuses,
            "grade": None if grade is None else grade.name,
            "current": standing.current,
            "why_not": standing.why_not,
            "metric": finding.metric if isinstance(finding, Measurement | Series) else None,
            "value": self._value(record),
            "subject": None if subject is None else subject.known(),
            "series": finding.series if isinstance(finding, Measurement) else None,
            "source": finding.source.model_dump(exclude_none=True),
            "supersedes": self.replaces(name),
            "superseded_by": standing.superseded_by,
            "file": record.file,
            "line": record.line,
        }

    def _value(self, record: Record) -> dict[str, Any] | None:
        if record.finding.kind not in WITH_FIGURE:
            return None
        figure = self.figure(record.id)
        known = figure.known
        if known is None:
            return None
        return {
            "low": known.low,
            "mid": known.mid,
            "high": known.high,
            "unit": figure.unit,
            "n": figure.n,
            "interval": figure.interval,
        }
