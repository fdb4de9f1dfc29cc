"""What templates may ask of the knowledge: figures, names and texts, escaped and linked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gamekit import numbers
from gamekit.analysis import claims as claim_analysis
from gamekit.findings import (
    REFERENCE_IN_TEXT,
    Claim,
    Finding,
    ImportSource,
    Investigation,
    Measurement,
    Person,
    Publication,
    RunSource,
    Series,
    Subject,
    Unknown,
)
from gamekit.formula import Known
from gamekit.knowledge import Figure, Knowledge
from gamekit.quantity import Quantity
from gamekit.render import markdown
from gamekit.render.links import Links
from gamekit.render.markdown import Markdown
from gamekit.store.load import Record

# Standings that a mention of a figure or title carries, the gravest first.
_REFUSED = ("retracted", "superseded", "disputed", "unreproduced")
_FORMULA_IDS = re.compile(r"\[([a-z0-9][a-z0-9._-]*)\]")


class View:
    """The knowledge as one document shows it; remembers which findings the document printed."""

    def __init__(self, knowledge: Knowledge, links: Links) -> None:
        self.knowledge = knowledge
        self.links = links
        self.printed: set[str] = set()

    # Findings and what they are called

    def finding(self, name: str) -> Finding:
        """The finding ``name``."""
        return self.knowledge.record(name).finding

    def of_kind(self, kind: str) -> list[Finding]:
        """All findings of a kind, in the order of files and lines."""
        return [record.finding for record in self.knowledge.of_kind(kind)]

    def ident(self, name: str) -> Markdown:
        """The id, linked."""
        return self._linked(None, name)

    def name(self, name: str) -> Markdown:
        """The title, linked."""
        return self._linked(markdown.inline(self.finding(name).title), name)

    def figure(self, name: str) -> Markdown:
        """The figure with its unit, linked; *unknown* or *impossible* where there is none.

        The figure of a series is linked to the member that holds it.
        """
        return self._linked(markdown.inline(self.figure_text(name)), self._holder(name))

    def figure_text(self, name: str) -> str:
        """The figure with its unit, as plain text."""
        figure = self.knowledge.figure(name)
        if figure.known is None:
            return "unknown" if "unknown" in type(figure.stated).__name__.lower() else "impossible"
        measured = figure.record.finding if figure.record is not None else None
        if isinstance(measured, Measurement):
            return self.quantity_text(measured.value)
        return numbers.with_unit(numbers.span(figure.known), figure.unit)

    def quantity_text(self, value: Quantity) -> str:
        """A quantity as it was stated, with its unit, as plain text."""
        if value.unknown is not None:
            return f"unknown ({value.unknown})"
        if value.samples is not None or value.interval == "confidence":
            figure = value.stated()
            middle, span = numbers.middle(figure), numbers.span(figure)
            text = numbers.with_unit(middle, value.unit)
            of = " observed" if value.interval == "observed" else ""
            return text if middle == span else f"{text} ({span}{of})"
        return numbers.with_unit(numbers.stated(value), value.unit)

    def why_no_figure(self, name: str) -> Markdown:
        """Why there is no figure; empty where there is one."""
        why = self.knowledge.figure(name).why_not
        return Markdown("") if why is None else self.line(why)

    def rounded(self, name: str) -> Markdown:
        """The range with the roundings of the inputs, no unit; empty where that is no wider."""
        figure = self.knowledge.figure(name)
        if not isinstance(figure.rounded, Known) or _same(figure):
            return Markdown("")
        return markdown.inline(numbers.span(figure.rounded.range))

    def mention(self, name: str) -> Markdown:
        """How a text refers to a finding: by its figure where it has one, else by its title.

        What must not be quoted any more says so in the text of the link.
        """
        shown, holder = markdown.inline(self.finding(name).title), name
        if isinstance(self.finding(name), Measurement | Series | Claim):
            figure = self.knowledge.figure(name)
            if figure.known is not None:
                shown, holder = markdown.inline(self.figure_text(name)), self._holder(name)
        statuses = self.knowledge.standing(holder).statuses
        refused = next((status for status in _REFUSED if status in statuses), None)
        return self._linked(shown if refused is None else Markdown(f"{shown}, {refused}"), holder)

    def _holder(self, name: str) -> str:
        """The record whose value the figure is: of a series its current member, if it has one."""
        if not isinstance(self.finding(name), Series):
            return name
        current = self.knowledge.series(name).current
        return name if current is None else current.id

    # Texts

    def line(self, value: object) -> Markdown:
        """A text on one line, its ``[[id]]`` as figures or titles; what is unknown says so."""
        if isinstance(value, Unknown):
            return Markdown(f"*unknown* ({markdown.inline(value.unknown)})")
        return markdown.inline(str(value), self._references(str(value)))

    def cell(self, value: object) -> Markdown:
        """Like ``line``, inside a table cell."""
        if isinstance(value, Unknown):
            return self.line(value)
        return markdown.cell(str(value), self._references(str(value)))

    def text(self, value: object) -> Markdown:
        """A text as paragraphs."""
        if isinstance(value, Unknown):
            return self.line(value)
        return markdown.paragraphs(str(value), self._references(str(value)))

    def linked_ids(self, text: str) -> Markdown:
        """A formula, or a sentence that gamekit made about one: every ``[id]`` in it is linked."""
        references = {
            match.group(): self.ident(match[1])
            for match in _FORMULA_IDS.finditer(text)
            if match[1] in self.knowledge.base.records
        }
        return markdown.inline(text, references)

    # What is known about a finding

    def standing(self, name: str) -> Markdown:
        """Standings and grade in words; those of a series are its current figure's."""
        finding = self.finding(name)
        if isinstance(finding, Claim):
            return markdown.inline(claim_analysis.evaluate(self.knowledge, name).verdict)
        words: list[str] = []
        if isinstance(finding, Series):
            view = self.knowledge.series(name)
            if view.current is None:
                return markdown.inline("no figure yet")
            words = [str(self.grade_name(view.current.id))]
            words += [
                s for s in self.knowledge.standing(view.current.id).statuses if s != "current"
            ]
            if view.shifted is not None:
                words.append("shifted")
            return markdown.inline(", ".join(words))
        grade = self.grade_name(name)
        words = [grade] if grade else []
        words += self.knowledge.standing(name).statuses
        return markdown.inline(", ".join(dict.fromkeys(words)))

    def grade_name(self, name: str) -> str | None:
        """The grade of a measurement or series."""
        grade = self.knowledge.grade(name)
        return None if grade is None else grade.name

    def grade_why(self, name: str) -> list[str]:
        """Why a measurement has no better grade."""
        grade = self.knowledge.grade(name)
        return [] if grade is None else list(grade.why)

    def source(self, name: str) -> Markdown:
        """Where a finding comes from, in a few words."""
        source = self.finding(name).source
        if isinstance(source, Investigation):
            return markdown.inline(f"msg {', '.join(source.messages)}")
        if isinstance(source, RunSource):
            return Markdown(f"run {markdown.code(source.run)}")
        if isinstance(source, Publication):
            return markdown.inline(f"{source.title}, read {source.read}")
        if isinstance(source, ImportSource):
            return markdown.inline(f"{source.file} of {source.tool}, {source.moment[:10]}")
        assert isinstance(source, Person)  # noqa: S101 - the last of the union
        return markdown.inline(f"{source.name}, {source.said}")

    def subject(self, subject: Subject) -> Markdown:
        """The known fields of a subject."""
        return Markdown(
            ", ".join(
                f"{field} {markdown.code(str(value))}" for field, value in subject.known().items()
            )
        )

    def linked(self, name: str, text: str) -> Markdown:
        """A text about a finding, linked to it; of a series to the member that counts."""
        return self._linked(markdown.inline(text), self._holder(name))

    def _linked(self, shown: Markdown | None, name: str) -> Markdown:
        """A reference link: the id stands in the text, its target once at the document's end."""
        self.knowledge.record(name)
        self.printed.add(name)
        return Markdown(f"[{name}]" if shown is None else f"[{shown}][{name}]")

    def definitions(self) -> Markdown:
        """The targets of all links of the document so far, for its end."""
        return Markdown(
            "\n".join(
                f"[{name}]: {self.links.to_record(self.knowledge.record(name))}"
                for name in sorted(self.printed)
            )
        )

    def dated(self) -> list[Record]:
        """The records the document printed so far, and the reviews behind their standings."""
        names = set(self.printed)
        for name in self.printed:
            names.update(review.id for review in self.knowledge.standing(name).reviews)
        return [self.knowledge.record(name) for name in sorted(names)]

    def _references(self, text: str) -> Mapping[str, Markdown]:
        return {match.group(): self.mention(match[1]) for match in REFERENCE_IN_TEXT.finditer(text)}


def _same(figure: Figure) -> bool:
    if not isinstance(figure.rounded, Known) or figure.known is None:
        return True
    return numbers.span(figure.rounded.range) == numbers.span(figure.known)


def newest_date(records: Iterable[Record], runs: Mapping[str, Any]) -> str | None:
    """The newest date among the sources of ``records``; None when none has a date."""
    dates: list[str] = []
    for record in records:
        source = record.finding.source
        if isinstance(source, RunSource):
            dates.append(runs[source.run].started[:10])
        elif isinstance(source, Publication):
            dates.append(source.read)
        elif isinstance(source, Person):
            dates.append(source.said)
        elif isinstance(source, ImportSource):
            dates.append(source.moment[:10])
    return max(dates, default=None)
