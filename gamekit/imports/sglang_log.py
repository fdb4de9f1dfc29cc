"""Reads the decode lines of sglang's server log, whichever fields its release has."""

from __future__ import annotations

import os
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence

from gamekit.errors import UsageFault
from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Given
from gamekit.imports.sglang_engine import is_stand_in, subject_of
from gamekit.launch.log import EngineLog, Tick

NAME = "sglang server log"
# Bounded: a line without end would be searched from each of its words.
_TICK = re.compile(rb"\bDecode batch\b.{0,200}?#running-req: ")
_ARGUMENTS, _MOST_ARGUMENTS = "server_args=ServerArgs(", 100_000
# Tells starts apart where their arguments were not logged, or not kept.
_READY = "The server is fired up and ready to roll!"
# "[2026-11-29 14:05:36 DP1 TP0] Decode batch": who says it, where there are several schedulers.
_RANKS = re.compile(r"\[[^\]]{0,40}?((?: (?:DP|PP|TP|EP)\d{1,5})+)\] ")
# Requests in flight that no scheduler has.
_MOST_RUNNING = 10**6
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
    """Rates and accept lengths by requests in flight.

    Raises ``UsageFault`` where none is left, and for the lines of a second start or scheduler.
    """
    arguments, rank = _one_start(given)
    ticks = _ticks(given)
    groups: dict[int, list[Tick]] = defaultdict(list)
    for tick in ticks:
        running = tick.number("#running-req")
        if running is not None and not running <= _MOST_RUNNING:  # nor is NaN
            raise given.fault(tick.line, f"#running-req is {running:g}", "import the log as it was")
        if running is not None and running >= 1:
            groups[int(running)].append(tick)
    firm, hints = _subject(arguments)
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
            figures += _figure(f"{running}.{metric}", metric, group, key, subject, hints, rank)
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
    rank: str,
) -> list[Figure]:
    values = [value for tick in group if (value := tick.number(name)) and 0 < value < 1e9]
    if len(values) < _FEWEST:
        return []
    convention = _CONVENTION
    if metric == "accept_length":
        convention += "; with the bonus token"
    # Of several data-parallel ranks each counts its own requests in flight.
    parameters: dict[str, Field] = {"rank": rank.partition(" ")[0]} if "DP" in rank else {}
    if parameters:
        convention += f"; requests and tokens of {parameters['rank']} alone"
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
            parameters=parameters,
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


def _one_start(given: Given) -> tuple[str, str]:
    """The line of the server's arguments and the rank that has the decode lines, each where told.

    Raises ``UsageFault`` for a second start of a server in the same log, and for decode lines of a
    second scheduler: each has requests of its own.
    """
    arguments = rank = None
    ready = decodes = False
    for number, line in enumerate(given.raw.decode("utf-8", "replace").split("\n"), start=1):
        if _ARGUMENTS in line:
            told = line.partition(_ARGUMENTS)[2].rstrip("\r")
            if decodes or ready or told != (arguments or told):
                raise _second_start(given, number)
            arguments = told
        elif _READY in line:
            if ready and arguments is None:
                raise _second_start(given, number)
            ready = True
        elif "Decode batch" in line and "#running-req: " in line:
            decodes = True
            prefix = _RANKS.search(line.partition("Decode batch")[0])
            own = prefix[1].strip() if prefix else ""
            if own != (own if rank is None else rank):
                raise given.fault(
                    number,
                    f"{own or 'no rank'} decodes here, and {rank or 'no rank'} before",
                    "import the lines of one rank: each has requests of its own",
                )
            rank = own
    return arguments or "", rank or ""


def _second_start(given: Given, line: int) -> UsageFault:
    return given.fault(
        line,
        "a second start of a server begins there",
        "import the log of each start as a file of its own",
    )


def _subject(told: str) -> tuple[dict[str, Field], dict[str, Field]]:
    arguments: dict[str, object] = {}
    for name, value in _ARGUMENT.findall(told[:_MOST_ARGUMENTS]):
        if value == "None":
            arguments[name] = None
        else:
            arguments[name] = value.strip("'") if value.startswith("'") else int(value)
    return subject_of(arguments)
