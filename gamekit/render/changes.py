"""Which conclusions a rendering moved: the list in llms.txt as it was, against the one it becomes.

That file is committed, so what it says was true for whoever rendered last, on any machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gamekit.analysis.standing_conclusions import causes
from gamekit.knowledge import Knowledge

HEADING = "## Conclusions"
_LINE = re.compile(r"- (?P<name>[^:\n]+): (?P<value>.+)")


@dataclass(frozen=True)
class Change:
    """A conclusion that moved. ``causes`` are the ids of the figures that moved it, if any did."""

    name: str
    before: str
    after: str
    causes: tuple[str, ...]

    def in_words(self) -> str:
        """What moved, and by what: of many figures, such as those of a sweep, the first two."""
        shown = self.causes if len(self.causes) <= 3 else self.causes[:2]
        more = f" and {len(self.causes) - len(shown)} more" if shown != self.causes else ""
        by = f", by {' and '.join(shown)}{more}" if shown else ""
        return f"{self.name}: {self.before} → {self.after}{by}"


def changes(knowledge: Knowledge, before: str, after: str) -> list[Change]:
    """What differs between the conclusions that two renderings of llms.txt list.

    A conclusion that only one of them lists is no change: a claim was added or taken away.
    """
    then, now = _listed(before), _listed(after)
    moved = [name for name, value in now.items() if then.get(name, value) != value]
    if not moved:
        return []
    by = causes(knowledge)
    return [
        Change(name, then[name], now[name], tuple(one.id for one in by.get(name, ())))
        for name in moved
    ]


def _listed(text: str) -> dict[str, str]:
    _, _, rest = text.partition(f"\n{HEADING}\n")
    section = rest.partition("\n## ")[0]
    return {match["name"]: match["value"] for match in _LINE.finditer(section)}
