"""Whether a measurement may stand where it does: in its series, and in the place of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gamekit.errors import ReferenceFault
from gamekit.findings import Measurement, Review, Run, RunSource, Series
from gamekit.knowledge.grades import Grades
from gamekit.knowledge.references import Path
from gamekit.store.load import Record
from gamekit.strict_yaml import field_name

COUNTING = ("adequate", "reported")
_JUDGING = ("retracts", "disputes", "supersedes")


def misplaced(record: Record, series: Series) -> Iterator[ReferenceFault]:
    """What keeps a member out of ``series``, besides fields that contradict each other.

    A run knows what it measured, so that what its subject leaves unknown does not match; somebody's
    word may leave fields out. Random weights have timings of their own.
    """
    finding = record.finding
    assert isinstance(finding, Measurement)  # noqa: S101 - members are measurements
    known, wanted = finding.subject.named(), series.match.named()
    if isinstance(finding.source, RunSource):
        for field, value in wanted.items():
            if field not in known:
                yield _fault(
                    record,
                    ("subject", field),
                    f"subject.{field}: is unknown, and series {series.id} has {value}",
                    "measure it again with --series, or take the series out",
                )
    if known.get("weights") == "dummy" and "weights" not in wanted:
        yield _fault(
            record,
            ("subject", "weights"),
            f"subject.weights: is dummy, and series {series.id} does not say so",
            "put it into a series that names weights: dummy",
        )


def unfit_superseder(
    record: Record, target: Record, path: Path, grades: Grades
) -> Iterator[ReferenceFault]:
    """Why ``record`` cannot take the place of ``target`` by a word of its own, if it cannot.

    A figure that counts gives way only to one that counts as well, in the same series; anything
    else says so in a review, with its reason and author.
    """
    old, new = target.finding, record.finding
    if isinstance(old, Series):
        yield _fault(
            record,
            path,
            f"{field_name(path)}: {target.id} is a series, and lives on in its members",
            "supersede its members, each in turn",
        )
    if not isinstance(old, Measurement) or not _counts(target, grades):
        return
    why = None
    if not isinstance(new, Measurement):
        why = f"a {new.kind} has no figure to put in its place" if old.series else None
    elif not _counts(record, grades):
        grade = grades.of(record)
        why = "its own figure is unknown" if new.value.unknown is not None else f"it is {grade}"
    elif old.series is not None and new.series != old.series:
        why = f"it is in {f'series {new.series}' if new.series else 'no series'}, not {old.series}"
    elif new.metric != old.metric:
        why = f"it is of {new.metric}, not of {old.metric}"
    if why is not None:
        yield _fault(
            record,
            path,
            f"{field_name(path)}: cannot take the place of {target.id}: {why}",
            "take it out, or say why in a review",
        )


def judged_series(record: Record, records: Mapping[str, Record]) -> Iterator[ReferenceFault]:
    """A review against a series: a series has no figure of its own that could be wrong."""
    review = record.finding
    if not isinstance(review, Review) or review.verdict not in _JUDGING:
        return
    for place, name in enumerate(review.of):
        if name in records and isinstance(records[name].finding, Series):
            yield _fault(
                record,
                ("of", place),
                f"of[{place}]: {name} is a series, and nothing {review.verdict} a series",
                "judge its members, each by its id",
            )


def outside_its_run(record: Record, runs: Mapping[str, Run]) -> Iterator[ReferenceFault]:
    """A figure, or a series, that claims to come from a run without being in that run's file."""
    source = record.finding.source
    measured = isinstance(record.finding, Measurement | Series)
    if measured and isinstance(source, RunSource) and source.run in runs and record.run is None:
        yield _fault(
            record,
            ("source", "run"),
            f"source.run: it is not in the file of run {source.run}",
            "name who says so as its source, and the run's findings as references",
        )


def _counts(record: Record, grades: Grades) -> bool:
    grade, finding = grades.of(record), record.finding
    return (
        isinstance(finding, Measurement)
        and finding.value.is_known
        and grade is not None
        and grade.name in COUNTING
    )


def _fault(record: Record, path: Path, what: str, mend: str) -> ReferenceFault:
    return ReferenceFault(
        what, file=record.file, line=record.line_of(*path), finding=record.id, mend=mend
    )
