"""Texts of findings as plain text: each ``[[id]]`` as its figure or title, then the id."""

from __future__ import annotations

import re

from gamekit import numbers
from gamekit.findings import REFERENCE_IN_TEXT, Measurement
from gamekit.knowledge import Knowledge
from gamekit.knowledge.references import WITH_FIGURE

# What must not be quoted any more says so beside its figure or title.
_REFUSED = ("retracted", "superseded", "disputed", "unreproduced")


def plain(knowledge: Knowledge, text: str) -> str:
    """``text`` for a terminal or JSON: ``82 to 83 tok/s [rate]`` in place of ``[[rate]]``."""

    def mention(match: re.Match[str]) -> str:
        record = knowledge.record(match[1])
        shown = figure_of(knowledge, record.id) or record.finding.title
        statuses = knowledge.standing(record.id).statuses
        refused = [f", {status}" for status in _REFUSED if status in statuses][:1]
        return f"{shown}{''.join(refused)} [{record.id}]"

    return REFERENCE_IN_TEXT.sub(mention, text)


def figure_of(knowledge: Knowledge, name: str) -> str | None:
    """The figure of a finding with its unit, a stated one with the digits it was stated with."""
    if knowledge.record(name).finding.kind not in WITH_FIGURE:
        return None
    figure = knowledge.figure(name)
    if figure.known is None:
        return None
    measured = figure.record.finding if figure.record is not None else None
    if isinstance(measured, Measurement):
        return numbers.with_unit(numbers.stated(measured.value), measured.value.unit)
    return numbers.with_unit(numbers.span(figure.known), figure.unit)
