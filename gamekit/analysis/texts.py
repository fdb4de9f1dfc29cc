"""Texts of findings as plain text: each ``[[id]]`` as its figure or title, then the id."""

from __future__ import annotations

import re

from gamekit import numbers
from gamekit.findings import REFERENCE_IN_TEXT
from gamekit.knowledge import Knowledge
from gamekit.knowledge.references import WITH_FIGURE


def plain(knowledge: Knowledge, text: str) -> str:
    """``text`` for a terminal or JSON: ``82 to 83 tok/s [rate]`` in place of ``[[rate]]``."""

    def mention(match: re.Match[str]) -> str:
        record = knowledge.record(match[1])
        shown = record.finding.title
        if record.finding.kind in WITH_FIGURE:
            figure = knowledge.figure(record.id)
            if figure.known is not None:
                shown = numbers.with_unit(numbers.span(figure.known), figure.unit)
        return f"{shown} [{record.id}]"

    return REFERENCE_IN_TEXT.sub(mention, text)
