"""The shifts that no review settled: those told one by one, and those counted by pair of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gamekit.knowledge import Knowledge
from gamekit.knowledge.shifts import Shift
from gamekit.store.load import Record


@dataclass(frozen=True)
class OpenShifts:
    """``single`` are series with their shift, in the order of the findings.

    ``between_runs`` counts, by run before and run after, the shifts of series that a run began: one
    run of a sweep has hundreds of series.
    """

    single: tuple[tuple[Record, Shift], ...]
    between_runs: Counter[tuple[str, str]]


def open_shifts(knowledge: Knowledge) -> OpenShifts:
    """Every series that is marked as shifted."""
    single = []
    between_runs: Counter[tuple[str, str]] = Counter()
    for record in knowledge.of_kind("series"):
        shift = knowledge.series(record.id).shifted
        if shift is None:
            continue
        before, after = shift.before.run, shift.after.run
        if record.run is not None and before is not None and after is not None:
            between_runs[before.id, after.id] += 1
        else:
            single.append((record, shift))
    return OpenShifts(tuple(single), between_runs)


def counted(count: int) -> str:
    """The count of shifted series between two runs, as the begin of a sentence."""
    return f"{count} series that {'a run' if count == 1 else 'runs'} began"
