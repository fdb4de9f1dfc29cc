"""Finding findings: by text, kind, status, metric and subject."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NoReturn, get_args

from gamekit.errors import UsageFault
from gamekit.findings import KINDS, Measurement, Series, Subject, texts_of
from gamekit.knowledge.grades import GradeName, Grades
from gamekit.knowledge.standing import STANDINGS, STATES, Standings
from gamekit.metrics import METRICS
from gamekit.store.load import Record
from gamekit.typed_numbers import any_number

_SUBJECT_FIELDS = tuple(name for name in Subject.model_fields if name != "parameters")


class Search:
    """The findings of one knowledge base, made ready to be searched."""

    def __init__(self, records: Mapping[str, Record], standings: Standings, grades: Grades) -> None:
        self._records = records
        self._standings = standings
        self._grades = grades

    def find(
        self,
        text: str = "",
        *,
        kind: str | None = None,
        status: str | None = None,
        metric: str | None = None,
        subject: Mapping[str, str] | None = None,
        grade: str | None = None,
    ) -> list[Record]:
        """The records that meet all that is asked, the best match of ``text`` first.

        Every word of ``text`` must occur in the id, the title, a text or the subject, in either
        case. ``subject`` compares fields of a measurement's subject or of what a series matches; an
        unknown field matches nothing. Only measurements have a ``grade``. Raises ``UsageFault``
        for a kind, status, grade, metric or subject field that does not exist; metrics are those of
        ``gamekit.metrics`` and of the findings.
        """
        if kind is not None and kind not in KINDS:
            _no_such("kind", kind, KINDS)
        if status is not None and status not in (*STANDINGS, *STATES):
            _no_such("status", status, (*STANDINGS, *STATES))
        if grade is not None and grade not in get_args(GradeName):
            _no_such("grade", grade, get_args(GradeName))
        metrics = {*METRICS, *filter(None, map(_metric, self._records.values()))}
        if metric is not None and metric not in metrics:
            _no_such("metric", metric, sorted(metrics))
        for field in subject or ():
            if field not in _SUBJECT_FIELDS and not field.startswith("parameters."):
                _no_such("subject field", field, (*_SUBJECT_FIELDS, "parameters.NAME"))
        words = text.casefold().split()
        found = [
            record
            for record in self._records.values()
            if (kind is None or record.finding.kind == kind)
            and (metric is None or _metric(record) == metric)
            and _has_subject(record, subject or {})
            and all(word in self._texts[record.id] for word in words)
            and (status is None or status in self._standings.of(record).statuses)
            and (grade is None or self._grade(record) == grade)
        ]
        return sorted(found, key=lambda record: -self._rank(record, words))

    def _grade(self, record: Record) -> str | None:
        grade = self._grades.of(record)
        return None if grade is None else grade.name

    @cached_property
    def _texts(self) -> dict[str, str]:
        """All text of each finding, as it is searched."""
        return {
            record.id: "\n".join(_words_of(record)).casefold() for record in self._records.values()
        }

    def _rank(self, record: Record, words: Iterable[str]) -> int:
        head = f"{record.id} {record.finding.title}".casefold()
        return sum(8 if word == record.id else 4 if word in head else 1 for word in words)


def subject_of(record: Record) -> Subject | None:
    """The subject of a measurement, or what a series matches; None for other kinds."""
    if isinstance(record.finding, Measurement):
        return record.finding.subject
    return record.finding.match if isinstance(record.finding, Series) else None


def _words_of(record: Record) -> list[str]:
    texts = texts_of(record.finding.model_dump())
    subject = subject_of(record)
    if subject is not None:
        texts += [f"{field}={value}" for field, value in subject.known().items()]
    return texts


def _metric(record: Record) -> str | None:
    finding = record.finding
    return finding.metric if isinstance(finding, Measurement | Series) else None


def _has_subject(record: Record, wanted: Mapping[str, str]) -> bool:
    if not wanted:
        return True
    subject = subject_of(record)
    known = subject.known() if subject is not None else {}
    return all(field in known and _same(known[field], wanted[field]) for field in wanted)


def _same(known: str | float, wanted: str) -> bool:
    if isinstance(known, str | bool):
        known = str(known)
        return known.casefold() == wanted.casefold()
    try:
        return any_number(wanted) == known
    except ValueError:
        return False


def _no_such(what: str, name: str, names: Iterable[str]) -> NoReturn:
    close = difflib.get_close_matches(name, names, n=1)
    raise UsageFault(
        f"there is no {what} '{name}'",
        mend=f"did you mean {close[0]}?" if close else f"one of: {', '.join(names)}",
    )
