"""Replicates of two runs that one call measured in turn: which of the one belongs to which."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gamekit.findings import Measurement, Run
from gamekit.findings.run import Case
from gamekit.store.load import Record

# Columns of the table of raw samples that say what a row is (gamekit.bench.module).
_PART, _ERROR = "part", "error"
# Loads that were recorded when each request still was a sample have these instead.
_OLD_LOAD = {"row", "repetition"}


def measured_in_turn(one: Run, other: Run) -> bool:
    """Whether one call of a benchmark measured both at the same time, replicate by replicate."""
    return (
        one is not other
        and (one.benchmark, one.command) == (other.benchmark, other.command)
        and _time(one.started) < _time(other.finished)
        and _time(other.started) < _time(one.finished)
    )


def case_of(name: str, run: Run) -> Case | None:
    """The case that the measurement ``name`` of ``run`` is of.

    Its id has the number of the case where the run has several.
    """
    if len(run.cases) == 1 and name.startswith(f"{run.id}."):
        return run.cases[0]
    number = name.removeprefix(f"{run.id}.").partition(".")[0]
    if not number.isdecimal() or not 0 < int(number) <= len(run.cases):
        return None
    return run.cases[int(number) - 1]


def taken_in_turn(
    a: Record | None, b: Record | None
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The samples of ``a`` and ``b`` in the pairs in which they were taken, complete pairs only.

    A replicate that failed or gave no figure takes the one beside it along: what is left of it
    would be set against another moment. None where the raw samples do not tell, and where fewer
    than two pairs are complete.
    """
    if a is None or b is None:
        return None
    one, other = _replicates(a), _replicates(b)
    if one is None or other is None:
        return None
    pairs = [(x, y) for x, y in zip(one, other, strict=False) if x is not None and y is not None]
    if len(pairs) < 2:
        return None
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def _replicates(record: Record) -> Sequence[float | None] | None:
    """The figure of each replicate in the order they were taken, None for one without."""
    finding = record.finding
    assert isinstance(finding, Measurement)  # noqa: S101 - callers looked
    case = None if record.run is None else case_of(record.id, record.run)
    if case is None or finding.metric not in case.samples or case.samples.keys() >= _OLD_LOAD:
        return None
    column = case.samples[finding.metric]
    parts = case.samples.get(_PART, [None] * len(column))
    errors = case.samples.get(_ERROR, [None] * len(column))
    figures = [
        None if error or not isinstance(figure, int | float) else float(figure)
        for figure, part, error in zip(column, parts, errors, strict=True)
        if part is None
    ]
    known = [figure for figure in figures if figure is not None]
    return figures if known == list(map(float, finding.value.samples or ())) else None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("Z") + "+00:00")
