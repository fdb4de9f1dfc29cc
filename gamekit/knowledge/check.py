"""What is wrong between findings: ids that name nothing or do not fit, circles, bad formulas."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gamekit.errors import FindingError, FormulaError, GamekitError, ReferenceFault
from gamekit.findings import Approach, Measurement, Review, RunSource, Series
from gamekit.findings.possible import why_impossible
from gamekit.knowledge.cycles import cycles
from gamekit.knowledge.effects import Effects
from gamekit.knowledge.formulas import Formulas, placed
from gamekit.knowledge.grades import Grades
from gamekit.knowledge.named_in_config import config_faults
from gamekit.knowledge.references import WITH_FIGURE, Path, Reference, references_of
from gamekit.knowledge.standing_in import (
    judged_series,
    misplaced,
    outside_its_run,
    unfit_superseder,
)
from gamekit.store.load import Base, Record
from gamekit.strict_yaml import field_name

# Looking for a close name takes a while in a large base; a list of faults is read from its top.
_MOST_LOOKED_UP = 20


def problems(base: Base, formulas: Formulas) -> list[GamekitError]:
    """Every fault between the findings of ``base``: those of the configuration, then by file."""
    return _Check(base, formulas).run()


class _Check:
    def __init__(self, base: Base, formulas: Formulas) -> None:
        self._base = base
        self._records = base.records
        self._formulas = formulas
        self._looked_up = 0

    def run(self) -> list[GamekitError]:
        found: list[GamekitError] = [*self._formulas.faults]
        for record in self._records.values():
            found += self._references(record)
            found += self._formula_references(record)
            found += self._run(record)
            found += judged_series(record, self._records)
            if isinstance(record.finding, Measurement):
                found += self._series(record, record.finding)
                found += self._possible(record, record.finding)
        grades = None
        circles = list(self._circles())
        if not found and not circles:
            # What can be graded has a run; and reviews are judged where all they name exists.
            grades = Grades(self._records, self._base.runs)
            found += self._superseders(grades)
            # Which supersessions are in effect can be told only where reviews run in no circle.
            circles = list(self._effective_circles())
        places = {topic.file: place for place, topic in enumerate(self._base.topics)}
        found.extend(circles)
        found.sort(key=lambda error: (places.get(error.file or "", -1), error.line or 0))
        return [*config_faults(self._base, None if found else grades, self._close_to), *found]

    # ids

    def _references(self, record: Record) -> Iterator[GamekitError]:
        for reference in references_of(record.finding):
            target = self._records.get(reference.target)
            if target is None:
                yield self._dangling(record, reference)
            elif reference.kinds is not None and target.finding.kind not in reference.kinds:
                yield _fault(
                    record,
                    reference.path,
                    f"{field_name(reference.path)}: {target.id} is a {target.finding.kind}",
                    f"name a finding of kind {' or '.join(sorted(reference.kinds))}",
                )

    def _dangling(self, record: Record, reference: Reference) -> ReferenceFault:
        return _fault(
            record,
            reference.path,
            f"{field_name(reference.path)}: there is no finding '{reference.target}'",
            self._close_to(reference.target, self._records),
        )

    def _close_to(self, name: str, names: Iterable[str]) -> str:
        close: list[str] = []
        if self._looked_up < _MOST_LOOKED_UP:
            self._looked_up += 1
            close = difflib.get_close_matches(name, names, n=3)
        if close:
            return f"did you mean {' or '.join(close)}?"
        return "add a finding with this id, or take the reference out"

    def _superseders(self, grades: Grades) -> Iterator[ReferenceFault]:
        for record in self._records.values():
            for place, name in enumerate(record.finding.supersedes):
                target = self._records[name]
                yield from unfit_superseder(record, target, ("supersedes", place), grades)

    def _formula_references(self, record: Record) -> Iterator[GamekitError]:
        for path, name in self._formulas.named_by(record.id):
            target = self._records.get(name)
            if target is None:
                yield placed(
                    FormulaError(
                        f"{field_name(path)}: there is no finding '{name}'",
                        mend=self._close_to(name, self._records),
                    ),
                    record,
                    path,
                )
            elif target.finding.kind not in WITH_FIGURE:
                yield placed(
                    FormulaError(
                        f"{field_name(path)}: {name} is a {target.finding.kind} and has no figure",
                        mend="name a measurement, a series or a claim",
                    ),
                    record,
                    path,
                )

    # runs

    def _run(self, record: Record) -> Iterator[GamekitError]:
        source = record.finding.source
        if record.id in self._base.runs:
            yield _fault(record, ("id",), "a run has this id", "give the finding another id")
        if isinstance(source, RunSource) and source.run not in self._base.runs:
            yield _fault(
                record,
                ("source", "run"),
                f"source.run: there is no run '{source.run}'",
                self._close_to(source.run, self._base.runs).replace("finding with", "run file of"),
            )
        elif record.run is None:
            yield from outside_its_run(record, self._base.runs)
        elif isinstance(record.finding, Measurement):
            named = source.run if isinstance(source, RunSource) else source.kind
            if named != record.run.id:
                yield _fault(
                    record,
                    ("source",),
                    f"source: is {named}, in the file of run {record.run.id}",
                    "name that run, or move the finding to a curated file",
                )

    # series

    def _series(self, record: Record, finding: Measurement) -> Iterator[ReferenceFault]:
        target = self._records.get(finding.series or "")
        series = target.finding if target is not None else None
        if not isinstance(series, Series):
            return
        for field, own, wanted in (
            ("metric", finding.metric, series.metric),
            ("value.unit", finding.value.unit, series.unit),
        ):
            if own != wanted:
                yield _fault(
                    record,
                    tuple(field.split(".")),
                    f"{field}: is {own}, and series {series.id} has {wanted}",
                    "name a series that fits",
                )
        yield from misplaced(record, series)
        known = finding.subject.named()
        for field, value in series.match.named().items():
            if field in known and known[field] != value:
                yield _fault(
                    record,
                    ("subject", field),
                    f"subject.{field}: is {known[field]}, and series {series.id} has {value}",
                    "name a series that fits, or correct the subject",
                )

        given, matched = finding.subject.parameters, series.match.parameters
        if given != matched:
            # One that is left out has its default, which is another value.
            differing = min(
                name for name in {*given, *matched} if given.get(name) != matched.get(name)
            )
            yield _fault(
                record,
                ("subject", "parameters", differing),
                f"subject.parameters.{differing}: is {given.get(differing, 'left out')}, and series"
                f" {series.id} has {matched.get(differing, 'it left out')}",
                "name a series that fits, or correct the subject",
            )

    # figures

    def _possible(self, record: Record, finding: Measurement) -> Iterator[FindingError]:
        """The first figure of a measurement that its metric cannot have, if there is one."""
        target = self._records.get(finding.series or "")
        subject = finding.subject
        if target is not None and isinstance(target.finding, Series):
            # What the measurement leaves out, its series may say.
            match = target.finding.match
            subject = match.model_copy(update=subject.named())
        value = finding.value
        figures: list[tuple[Path, float | None]] = [
            (("value", name), getattr(value, name)) for name in ("value", "low", "high")
        ]
        figures += [
            (("value", "samples", place), sample)
            for place, sample in enumerate(value.samples or ())
        ]
        for path, figure in figures:
            why = None if figure is None else why_impossible(finding.metric, figure, subject)
            if why is not None:
                yield FindingError(
                    f"{field_name(path)}: {finding.metric} is {figure:g}, and {why}",
                    file=record.file,
                    line=record.line_of(*path),
                    finding=record.id,
                    mend="correct the figure, its metric or its subject",
                )
                return

    # circles

    def _circles(self) -> Iterator[GamekitError]:
        records = self._records.values()
        speaking = {
            record.id: [
                *record.finding.supersedes,
                *(record.finding.of if isinstance(record.finding, Review) else ()),
            ]
            for record in records
        }
        plans = {
            record.id: [*record.finding.includes, *record.finding.depends_on]
            for record in records
            if isinstance(record.finding, Approach)
        }
        for edges, what in (
            (speaking, "findings supersede or review each other"),
            (plans, "approaches include or depend on each other"),
        ):
            for circle in cycles(edges):
                yield self._circle(circle, what)
        for circle in cycles(self._formulas.claims_named()):
            drawn = _from_smallest(circle)
            yield placed(
                FormulaError(
                    f"claims are computed from each other in a circle: {' → '.join(drawn)}",
                    mend="take one of these references out",
                ),
                self._records[drawn[0]],
                ("formula",),
            )

    def _effective_circles(self) -> Iterator[ReferenceFault]:
        for circle in cycles(Effects(self._records).replacements):
            yield self._circle(circle, "findings replace each other")

    def _circle(self, circle: list[str], what: str) -> ReferenceFault:
        drawn = _from_smallest(circle)
        record = self._records[drawn[0]]
        # The field that leads to the next; a review's evidence is led to by another finding.
        path = next(
            (item.path for item in references_of(record.finding) if item.target == drawn[1]), ()
        )
        return _fault(
            record,
            path,
            f"{what} in a circle: {' → '.join(drawn)}",
            "take one of these references out",
        )


def _fault(record: Record, path: Path, what: str, mend: str) -> ReferenceFault:
    return ReferenceFault(
        what, file=record.file, line=record.line_of(*path), finding=record.id, mend=mend
    )


def _from_smallest(circle: list[str]) -> list[str]:
    """The circle from its smallest id around to that id again, the same wherever it was entered."""
    start = circle.index(min(circle))
    return [*circle[start:], *circle[:start], circle[start]]
