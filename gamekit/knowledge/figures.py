"""The figure of a measurement, a series or a claim, over stated ranges and with all roundings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gamekit.errors import FormulaError, UsageFault
from gamekit.findings import Claim, Measurement, Series
from gamekit.formula import (
    Expression,
    Impossible,
    Known,
    Ratio,
    Resolved,
    ResolveRatio,
    Result,
    Unknown,
    UnknownResult,
    Verdict,
    evaluate,
    judge,
    parse,
)
from gamekit.knowledge.formulas import Formulas, placed
from gamekit.knowledge.grades import Grades
from gamekit.knowledge.in_turn import ratio_in_turn
from gamekit.knowledge.references import Path
from gamekit.knowledge.series import SeriesViews
from gamekit.quantity import Quantity, RangeKind
from gamekit.ranges import Range
from gamekit.store.load import Record

Instead = Mapping[str, str | None]
NOTHING_INSTEAD: Instead = MappingProxyType({})
RangeOf = Callable[[Quantity], Range]


@dataclass(frozen=True)
class Figure:
    """What a finding comes to, in ``unit``.

    ``stated`` is over the ranges that were stated or measured, ``rounded`` with the roundings of
    all figures besides. ``record`` is the measurement that it is, None for a claim; ``interval`` is
    what the range of ``stated`` is, None where it has none or rests on several kinds.
    """

    id: str
    unit: str
    stated: Result
    rounded: Result
    record: Record | None
    n: int | None
    interval: RangeKind | None

    @property
    def known(self) -> Range | None:
        """The range of ``stated``, None when it is unknown or impossible."""
        return self.stated.range if isinstance(self.stated, Known) else None

    @property
    def why_not(self) -> str | None:
        """Why there is no figure, None when there is one."""
        return None if isinstance(self.stated, Known) else self.stated.reason


class Figures:
    """Figures by id. Leaves go by record id, so that a series and its current member are one."""

    def __init__(
        self,
        records: Mapping[str, Record],
        formulas: Formulas,
        grades: Grades,
        series: SeriesViews,
    ) -> None:
        self._records = records
        self._formulas = formulas
        self._grades = grades
        self._series = series
        self._figures: dict[str, Figure] = {}
        self._evaluated_formulas: dict[
            tuple[Expression, tuple[tuple[str, str | None], ...]], tuple[Result, Result]
        ] = {}

    def of(self, record: Record, instead: Instead = NOTHING_INSTEAD) -> Figure:
        """The figure of ``record``.

        ``instead`` gives, by series, another member to count as current, or None for no figure.
        Raises ``FormulaError`` for a finding that has no figure.
        """
        if instead:
            return self._figure(record, instead)
        if record.id not in self._figures:
            self._figures[record.id] = self._figure(record, instead)
        return self._figures[record.id]

    def _figure(self, record: Record, instead: Instead) -> Figure:
        finding = record.finding
        if isinstance(finding, Measurement):
            stated = self._leaf(record, Quantity.stated)
            rounded = self._leaf(record, Quantity.with_rounding)
            known = isinstance(stated, Known)
            return Figure(
                record.id,
                finding.value.unit,
                stated,
                rounded,
                record,
                finding.value.sample_count if known else None,
                finding.value.interval if known else None,
            )
        if isinstance(finding, Series):
            current = self._current(record.id, instead)
            if isinstance(current, Unknown):
                nothing = UnknownResult(current.reason, (record.id,))
                return Figure(record.id, finding.unit, nothing, nothing, None, None, None)
            figure = self.of(current)
            return Figure(
                record.id,
                figure.unit,
                figure.stated,
                figure.rounded,
                current,
                figure.n,
                figure.interval,
            )
        if isinstance(finding, Claim):
            stated, rounded = self.computed(record, ("formula",), instead)
            interval = self._common_interval(stated)
            return Figure(record.id, finding.unit, stated, rounded, None, None, interval)
        raise FormulaError(
            f"{record.id} is a {finding.kind} and has no figure",
            mend="name a measurement, a series or a claim",
        )

    def computed(
        self, record: Record, path: Path, instead: Instead = NOTHING_INSTEAD
    ) -> tuple[Result, Result]:
        """What the formula of ``record`` at ``path`` comes to, over stated ranges and rounded.

        Raises ``FormulaError`` with its place when it grows out of bounds.
        """
        try:
            return self.of_formula(self._formulas.get(record.id, *path), instead)
        except FormulaError as error:
            raise placed(error, record, path) from None

    def of_formula(
        self, formula: Expression, instead: Instead = NOTHING_INSTEAD
    ) -> tuple[Result, Result]:
        """What a formula that is no finding's comes to, over stated ranges and rounded.

        Raises ``FormulaError`` without a place.
        """
        # Documents ask for the same formula many times, and a range is costly to prove.
        key = (formula, self._relevant(formula, instead))
        if key not in self._evaluated_formulas:
            ratio = self._ratios(instead)
            self._evaluated_formulas[key] = (
                evaluate(formula, self._resolver(Quantity.stated, instead), ratio),
                evaluate(formula, self._resolver(Quantity.with_rounding, instead), ratio),
            )
        return self._evaluated_formulas[key]

    def _relevant(
        self, formula: Expression, instead: Instead
    ) -> tuple[tuple[str, str | None], ...]:
        """The part of ``instead`` that a formula rests on, directly or through claims."""
        if not instead:
            return ()
        found: dict[str, str | None] = {}
        waiting, seen = list(formula.references), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in instead:
                found[name] = instead[name]
            record = self._records.get(name)
            if record is not None and isinstance(record.finding, Claim):
                waiting.extend(self._formulas.get(name, "formula").references)
        return tuple(sorted(found.items()))

    def judged(
        self, record: Record, path: Path, instead: Instead = NOTHING_INSTEAD
    ) -> tuple[Verdict | UnknownResult | Impossible, Verdict | UnknownResult | Impossible]:
        """Whether the comparison of ``record`` at ``path`` holds; otherwise as ``computed``."""
        formula, ratio = self._formulas.get(record.id, *path), self._ratios(instead)
        try:
            return (
                judge(formula, self._resolver(Quantity.stated, instead), ratio),
                judge(formula, self._resolver(Quantity.with_rounding, instead), ratio),
            )
        except FormulaError as error:
            raise placed(error, record, path) from None

    def _leaf(self, record: Record, range_of: RangeOf) -> Result:
        found = self._measured(record, range_of)
        if isinstance(found, Unknown):
            return UnknownResult(found.reason, (record.id,))
        return Known(found, (record.id,))

    def _measured(self, record: Record, range_of: RangeOf) -> Range | Unknown:
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - callers looked
        if finding.value.unknown is not None:
            return Unknown(finding.value.unknown)
        grade = self._grades.of(record)
        if grade is not None and grade.name == "failed":
            return Unknown(str(grade))
        return range_of(finding.value)

    def _usable(self, record: Record, range_of: RangeOf) -> Range | Unknown:
        """What a formula may compute with: a figure that is shown need not be good enough."""
        grade = self._grades.of(record)
        if grade is not None and grade.name in ("simulated", "inadequate"):
            return Unknown(str(grade))
        return self._measured(record, range_of)

    def _current(self, series: str, instead: Instead) -> Record | Unknown:
        if series in instead:
            member = instead[series]
            if member is None:
                return Unknown(f"series {series} has no figure yet")
            if member not in self._records:
                raise UsageFault(f"there is no finding '{member}'")
            return self._records[member]
        view = self._series.view(series)
        if view.current is not None:
            return view.current
        if not view.members:
            return Unknown("nothing has been measured or reported yet")
        return Unknown(self._why_none_counts(view.members))

    def _why_none_counts(self, members: Sequence[Record]) -> str:
        """Of all members, since a reason of one of them is no reason of the others'."""
        first = members[0].finding
        assert isinstance(first, Measurement)  # noqa: S101 - series have measurements only
        if len(members) == 1 and first.value.unknown is not None:
            return first.value.unknown
        states = Counter(self._state(member) for member in members)
        if states.keys() == {"simulated"}:
            return "only the stand-in engine was measured, and what is simulated is no figure"
        told = ", ".join(f"{count} {state}" for state, count in states.items())
        return f"none of its members counts as its figure ({told})"

    def _state(self, member: Record) -> str:
        """What keeps a member of a series from being its figure, in a word."""
        finding = member.finding
        if isinstance(finding, Measurement) and finding.value.unknown is not None:
            return "unknown"
        grade = self._grades.of(member)
        if self._series.judges(member) or grade is None:
            return "refuted"
        return grade.name

    def _resolver(self, range_of: RangeOf, instead: Instead) -> Callable[[str], Resolved]:
        def resolve(name: str) -> Resolved:
            record = self._records[name]
            if isinstance(record.finding, Measurement):
                return self._usable(record, range_of)
            if isinstance(record.finding, Series):
                current = self._current(name, instead)
                return current if isinstance(current, Unknown) else parse(f"[{current.id}]")
            return self._formulas.get(name, "formula")

        return resolve

    def _ratios(self, instead: Instead) -> ResolveRatio:
        def ratio(above: str, below: str) -> Ratio | Unknown:
            return ratio_in_turn(
                self._series, self._counting(above, instead), self._counting(below, instead)
            )

        return ratio

    def _counting(self, name: str, instead: Instead) -> list[Record]:
        """The measurements that count which ``name`` stands for, oldest first.

        ``instead`` of a series is its newest one then.
        """
        record = self._records[name]
        if isinstance(record.finding, Claim):
            raise FormulaError(
                f"{name} is a claim, which nobody measures in turn",
                mend="name two series or measurements in in_turn",
            )
        members: Sequence[Record] = (record,)
        if isinstance(record.finding, Series):
            members = self._series.view(name).members
            if name in instead:
                ids = [member.id for member in members]
                newest = instead[name]
                members = members[: ids.index(newest) + 1] if newest in ids else ()
        return [one for one in members if self._counts(one)]

    def _counts(self, member: Record) -> bool:
        grade = self._grades.of(member)
        return grade is not None and grade.name == "adequate" and not self._series.judges(member)

    def _common_interval(self, result: Result) -> RangeKind | None:
        if not isinstance(result, Known) or result.range.is_exact:
            return None
        kinds = {
            finding.value.interval
            for leaf in result.leaves
            if isinstance(finding := self._records[leaf].finding, Measurement)
        } - {None}
        return kinds.pop() if len(kinds) == 1 else None
