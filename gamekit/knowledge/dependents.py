"""What refers to a finding, and what is computed from it however indirectly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gamekit.findings import Claim, Measurement
from gamekit.knowledge.formulas import Formulas
from gamekit.knowledge.references import references_of
from gamekit.knowledge.series import SeriesViews
from gamekit.store.load import Record


@dataclass(frozen=True)
class Dependent:
    """A finding that rests on another: by the field ``by``, through the finding ``through``.

    ``through`` is None where it names the other itself; ``computed`` says that its figure or gate
    changes with the other's.
    """

    record: Record
    by: str
    through: str | None = None
    computed: bool = False


class Dependents:
    """The references of all findings, read backwards."""

    def __init__(
        self, records: Mapping[str, Record], formulas: Formulas, series: SeriesViews
    ) -> None:
        self._records = records
        self._series = series
        self._naming: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._computing: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for record in records.values():
            for reference in references_of(record.finding):
                self._naming[reference.target].append((record.id, str(reference.path[0])))
            for path, target in formulas.named_by(record.id):
                self._computing[target].append((record.id, str(path[0])))

    def of(self, name: str) -> list[Dependent]:
        """What names finding ``name``, then what is computed from it, nearest first; each once."""
        found: dict[str, Dependent] = {}
        for user, field in self._computing.get(name, ()):
            found.setdefault(user, Dependent(self._records[user], field, computed=True))
        for user, field in self._naming.get(name, ()):
            found.setdefault(user, Dependent(self._records[user], field))
        waiting = [name]
        reached = {name}
        for source in waiting:
            users = [*self._computing.get(source, ())]
            users += ((series, "series") for series in self._current_of(source))
            for user, field in users:
                through = None if source == name else source
                found.setdefault(user, Dependent(self._records[user], field, through, True))
                if user not in reached and not _is_end(self._records[user]):
                    reached.add(user)
                    waiting.append(user)
        return list(found.values())

    def _current_of(self, name: str) -> list[str]:
        """The series that measurement ``name`` is the current figure of."""
        finding = self._records[name].finding
        if not isinstance(finding, Measurement) or finding.series is None:
            return []
        current = self._series.view(finding.series).current
        return [finding.series] if current is not None and current.id == name else []


def _is_end(record: Record) -> bool:
    return not isinstance(record.finding, Claim) and record.finding.kind != "series"
