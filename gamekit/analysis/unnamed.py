"""What was measured and no document shows, since gamekit.yaml names no finding yet."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.findings import Series
from gamekit.knowledge import Knowledge
from gamekit.knowledge.named_in_config import ids_in

# What a plan mostly leads with; the rest comes in the order of the findings.
_FIRST = ("decode_rate", "output_throughput", "ttft")
_MOST = 4


@dataclass(frozen=True)
class Unnamed:
    """Series with a figure, the likeliest key numbers first; none where all is simulated."""

    series: tuple[str, ...]
    simulated: bool


def unnamed(knowledge: Knowledge) -> Unnamed | None:
    """The series that the plan could lead with; None where gamekit.yaml names anything.

    Whoever named some knows how, and left the others out on purpose.
    """
    if any(True for _ in ids_in(knowledge.config)):
        return None
    series = knowledge.of_kind("series")
    current = [one for one in series if knowledge.series(one.id).current is not None]
    simulated = any(
        grade is not None and grade.name == "simulated"
        for grade in map(knowledge.grade, (one.id for one in knowledge.of_kind("measurement")))
    )
    if not current and not simulated:
        return None
    metrics = {one.id: one.finding.metric for one in current if isinstance(one.finding, Series)}
    likely = sorted(metrics, key=lambda name: (*_FIRST, metrics[name]).index(metrics[name]))
    return Unnamed(tuple(likely[:_MOST]), simulated)
