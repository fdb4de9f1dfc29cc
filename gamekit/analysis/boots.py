"""Whether the figures that count were taken on a boot that is still there, or on one that is gone.

A boot that is gone cannot be looked at again: what it had and nobody recorded is lost with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from gamekit.formula import Known
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record

BootStanding = Literal["newest", "gone", "unknown"]


@dataclass(frozen=True)
class OfBoot:
    """One measurement behind a figure, and how its boot stands.

    ``host`` and ``boot`` are None where they are unknown. ``newest`` is the last measurement on the
    newest boot known of the host.
    """

    record: Record
    standing: BootStanding
    host: str | None
    boot: str | None
    newest: Record | None

    @property
    def why(self) -> str:
        """The standing in words."""
        host = self.host or "its host"
        if self.standing == "newest":
            return f"of the newest boot known of {host}"
        if self.standing == "gone":
            seen = "" if self.newest is None else f", on which {self.newest.id} was measured"
            return f"of an earlier boot of {host} than the newest known{seen}"
        if self.boot is None:
            return "its boot was not recorded"
        return "its host was not recorded"


@dataclass(frozen=True)
class FigureBoots:
    """The boots that the figure ``name`` rests on; ``parts`` has its measurements, by their order.

    A claim rests on those that it is computed from, a series on its current figure.
    """

    name: str
    parts: tuple[OfBoot, ...]

    @property
    def standing(self) -> BootStanding | None:
        """Gone where any part's boot is, else unknown where any is; None where there is no part."""
        found = {part.standing for part in self.parts}
        order: tuple[BootStanding, ...] = ("gone", "unknown", "newest")
        return next((name for name in order if name in found), None)

    @property
    def deciding(self) -> tuple[OfBoot, ...]:
        """The parts that make the standing what it is."""
        return tuple(part for part in self.parts if part.standing == self.standing)

    def in_words(self) -> str:
        """The standing, with the parts that decide it where the figure is not itself one."""
        if not self.parts:
            return "it has no figure, or rests on nothing that was measured on a host"
        reasons: dict[str, list[str]] = {}
        for part in self.deciding:
            reasons.setdefault(part.why, []).append(part.record.id)
        if [part.record.id for part in self.parts] == [self.name]:
            return next(iter(reasons))
        return "; ".join(f"{', '.join(ids)}: {why}" for why, ids in reasons.items())

    def as_json(self) -> dict[str, Any]:
        """The boots as plain data."""
        return {
            "standing": self.standing,
            "words": self.in_words(),
            "rests_on": [
                {
                    "id": part.record.id,
                    "standing": part.standing,
                    "host": part.host,
                    "boot": part.boot,
                    "why": part.why,
                }
                for part in self.parts
            ],
        }


def boots_of_key_numbers(knowledge: Knowledge) -> list[FigureBoots]:
    """For each key number of ``gamekit.yaml``, in their order, which boots its figure rests on."""
    newest = newest_boots(knowledge)
    return [_boots(knowledge, name, newest) for name in knowledge.config.key_numbers]


def boots_of(knowledge: Knowledge, name: str) -> FigureBoots:
    """The boots that the figure of a measurement, series or claim rests on."""
    return _boots(knowledge, name, newest_boots(knowledge))


def newest_boots(knowledge: Knowledge) -> dict[str, Record]:
    """By host, the last measurement of which the boot is known: nothing newer is known of the host.

    A host goes by its short name, as subjects have it; what became of the figure does not matter.
    """
    found: dict[str, Record] = {}
    for record in knowledge.oldest_first(knowledge.of_kind("measurement")):
        host = knowledge.host(record.id)
        if host is not None and knowledge.environment(record.id).boot is not None:
            found[host] = record
    return found


def _boots(knowledge: Knowledge, name: str, newest: dict[str, Record]) -> FigureBoots:
    parts = (_of_boot(knowledge, record, newest) for record in _measured(knowledge, name))
    return FigureBoots(name, tuple(parts))


def _measured(knowledge: Knowledge, name: str) -> Iterable[Record]:
    """What the figure of ``name`` was measured by; others' figures are of no host of ours."""
    figure = knowledge.figure(name)
    leaves = figure.stated.leaves if isinstance(figure.stated, Known) else ()
    records = [knowledge.record(leaf) for leaf in leaves]
    if figure.record is not None and not records:
        records = [figure.record]
    for record in knowledge.oldest_first(records):
        grade = knowledge.grade(record.id)
        if grade is not None and grade.name not in ("published", "simulated"):
            yield record


def _of_boot(knowledge: Knowledge, record: Record, newest: dict[str, Record]) -> OfBoot:
    host = knowledge.host(record.id)
    boot = knowledge.environment(record.id).boot
    last = newest.get(host) if host is not None else None
    standing: BootStanding = "unknown"
    if boot is not None and last is not None:
        standing = "newest" if boot == knowledge.environment(last.id).boot else "gone"
    return OfBoot(record, standing, host, boot, last)
