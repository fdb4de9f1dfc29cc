"""Reads the decode lines of sglang's server log, whichever fields its release has."""

from __future__ import annotations

import os
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence

from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Given
from gamekit.imports.sglang_engine import is_stand_in, subject_of
from gamekit.launch.log import EngineLog, Tick

NAME = "sglang server log"
# Bounded: a line without end would be searched from each of its words.
_TICK = re.compile(rb"\bDecode batch\b.{0,200}?#running-req: ")
_ARGUMENTS, _MOST_ARGUMENTS = "server_args=ServerArgs(", 100_000
_ARGUMENT = re.compile(r"\b(\w+)=('[^']*'|-?\d{1,18}|None)(?:, |\)|$)")
_CONVENTION = (
    "mean of the log's decode lines, each over some forwards; the first after idle left out"
)
# So few lines are as good as none: each spans some forwards only.
_FEWEST = 2


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    return None if _TICK.search(given.raw) else "no line of it is a decode line"


def parse(given: Given) -> Taken:
    """Rates and accept lengths by requests in flight. Raises ``UsageFault`` where none is left."""
    ticks = _ticks(given)
    groups: dict[int, list[Tick]] = defaultdict(list)
    for tick in ticks:
        running = tick.number("#running-req")
        if running is not None and running >= 1:
            groups[int(running)].append(tick)
    firm, hints = _subject(given)
    figures: list[Figure] = []
    left_out: list[str] = []
    for running, group in sorted(groups.items()):
        if len(group) < _FEWEST:
            left_out.append(f"{running} in flight: one decode line is too few")
            continue
        subject: dict[str, Field] = {**firm, "concurrency": running}
        if graphs := _graphs(group):
            subject["cuda_graphs"] = graphs
        rate = "decode_rate" if running == 1 else "output_throughput"
        for metric, key in ((rate, "gen throughput"), ("accept_length", "accept len")):
            figures += _figure(f"{running}.{metric}", metric, group, key, subject, hints)
    if not figures:
        raise given.fault(
            1,
            f"it has {len(ticks)} decode lines behind the first after idle, too few of one load",
            "import a log of a longer load",
        )
    return Taken(
        NAME,
        tuple(figures),
        environment={"engine": "sglang"},
        aside={"fields": sorted({name for tick in ticks for name in tick.fields})},
        left_out=tuple(left_out),
        stand_in=is_stand_in(firm.get("target")),
    )


def _ticks(given: Given) -> list[Tick]:
    descriptor = os.open(given.path, os.O_RDONLY)
    try:
        log = EngineLog(descriptor)
        log.close()
        return log.ticks()
    finally:
        os.close(descriptor)


def _figure(
    key: str,
    metric: str,
    group: Sequence[Tick],
    name: str,
    subject: dict[str, Field],
    hints: dict[str, Field],
) -> list[Figure]:
    values = [value for tick in group if (value := tick.number(name)) and 0 < value < 1e9]
    if len(values) < _FEWEST:
        return []
    convention = _CONVENTION
    if metric == "accept_length":
        convention += "; with the bonus token"
    return [
        Figure(
            key=key,
            place=name,
            metric=metric,
            value=round(statistics.fmean(values), 4),
            convention=convention,
            line=group[0].line,
            subject=subject,
            hints=hints,
            count=len(values),
            interval=(min(values), max(values), "observed"),
            joins=False,
        )
    ]


def _graphs(group: Sequence[Tick]) -> str | None:
    """What the lines say of graphs, where they agree; of verify alone under speculation."""
    told = {tick.fields.get("cuda graph") for tick in group}
    if told == {True}:
        return "captured"
    return "eager" if told == {False} else None


def _subject(given: Given) -> tuple[dict[str, Field], dict[str, Field]]:
    text = given.raw.decode("utf-8", "replace")
    told = text.partition(_ARGUMENTS)[2][:_MOST_ARGUMENTS].partition("\n")[0]
    arguments: dict[str, object] = {}
    for name, value in _ARGUMENT.findall(told):
        if value == "None":
            arguments[name] = None
        else:
            arguments[name] = value.strip("'") if value.startswith("'") else int(value)
    return subject_of(arguments)
