"""Which reviews are in effect, and what they and findings of their own do to other findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import TopologicalSorter

from gamekit.findings import Review
from gamekit.store.load import Record


class Effects:
    """Back-references of supersession and review.

    A review that is itself retracted or superseded has no effect, and a retracted finding
    supersedes nothing. What speaks of what must be free of circles (``knowledge.check``).
    """

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._records = records

    @cached_property
    def _named(self) -> tuple[dict[str, list[Record]], dict[str, list[Record]]]:
        reviews: dict[str, list[Record]] = defaultdict(list)
        superseders: dict[str, list[Record]] = defaultdict(list)
        for record in self._records.values():
            for target in record.finding.supersedes:
                superseders[target].append(record)
            if isinstance(record.finding, Review):
                for target in dict.fromkeys(record.finding.of):
                    reviews[target].append(record)
        return reviews, superseders

    @cached_property
    def _in_effect(self) -> dict[str, bool]:
        """For every review, whether it is in effect."""
        reviews, superseders = self._named
        speakers = {
            record.id: [
                speaker.id
                for speaker in (*reviews.get(record.id, ()), *superseders.get(record.id, ()))
                if isinstance(speaker.finding, Review)
            ]
            for record in self._records.values()
            if isinstance(record.finding, Review)
        }
        effect: dict[str, bool] = {}
        for name in TopologicalSorter(speakers).static_order():
            undone = any(
                effect[review.id] and _verdict(review) in ("retracts", "supersedes")
                for review in reviews.get(name, ())
            )
            replaced = any(
                not self._retracted_by(superseder.id, effect)
                for superseder in superseders.get(name, ())
            )
            effect[name] = not undone and not replaced
        return effect

    def _retracted_by(self, name: str, effect: Mapping[str, bool]) -> list[Record]:
        return [
            review
            for review in self._named[0].get(name, ())
            if _verdict(review) == "retracts" and effect.get(review.id, False)
        ]

    def reviews(self, name: str, *verdicts: str) -> list[Record]:
        """The reviews in effect that speak of ``name``, only those of ``verdicts`` when given."""
        return [
            review
            for review in self._named[0].get(name, ())
            if self._in_effect[review.id] and (not verdicts or _verdict(review) in verdicts)
        ]

    def superseders(self, name: str) -> list[Record]:
        """The findings that supersede ``name`` by a field of their own and are not retracted."""
        return [
            record
            for record in self._named[1].get(name, ())
            if not self.reviews(record.id, "retracts")
        ]

    def superseded_by(self, name: str) -> list[str]:
        """Ids of what replaces ``name``: its superseders, and the evidence of reviews.

        A review without evidence stands for itself.
        """
        ids = [record.id for record in self.superseders(name)]
        for review in self.reviews(name, "supersedes"):
            ids.extend(_evidence(review) or [review.id])
        return list(dict.fromkeys(ids))

    @cached_property
    def _as_evidence(self) -> dict[str, list[Record]]:
        reviews: dict[str, list[Record]] = defaultdict(list)
        for record in self._records.values():
            if isinstance(record.finding, Review):
                for name in dict.fromkeys(record.finding.evidence):
                    reviews[name].append(record)
        return reviews

    def judged_by(self, name: str, *verdicts: str) -> list[str]:
        """Ids that reviews in effect, of one of ``verdicts``, judge by ``name`` as evidence."""
        return [
            target
            for record in self._as_evidence.get(name, ())
            if self._in_effect[record.id] and _verdict(record) in verdicts
            for target in _targets(record)
        ]

    @cached_property
    def replacements(self) -> dict[str, list[str]]:
        """By id, what it replaces: its own ``supersedes`` and reviews whose evidence it is."""
        replaced: dict[str, list[str]] = defaultdict(list)
        for target in self._replaced():
            for name in self.superseded_by(target):
                replaced[name].append(target)
        return replaced

    def _replaced(self) -> Iterable[str]:
        reviews, superseders = self._named
        return dict.fromkeys((*superseders, *reviews))


def _verdict(record: Record) -> str:
    assert isinstance(record.finding, Review)  # noqa: S101 - only reviews are asked
    return record.finding.verdict


def _targets(record: Record) -> list[str]:
    assert isinstance(record.finding, Review)  # noqa: S101 - only reviews are asked
    return record.finding.of


def _evidence(record: Record) -> list[str]:
    assert isinstance(record.finding, Review)  # noqa: S101 - only reviews are asked
    return record.finding.evidence
