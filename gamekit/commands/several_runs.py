"""What is said of the runs of one call together: which is which, one table, and what to do next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamekit.commands.terminal import paragraph, say, table

if TYPE_CHECKING:
    from gamekit.bench.runner import RunOutcome
    from gamekit.findings import Run
    from gamekit.knowledge import Knowledge

Row = Mapping[str, Any]
# Of a table that fits a terminal, and of comparisons that somebody reads.
_MOST_FIGURES = 4
_MOST_COMPARISONS = 4
_LONGEST_NAME = 60
_COMMON = "the common command alone"


def engine_names(runs: Sequence[Run]) -> dict[str, str]:
    """By the id of a run, what tells its engine from the others'; nothing for one without engine.

    That is its address; of one that was launched, whose port is chance, what its placeholders
    stood for, else what of its command not all have. One that has nothing but what all have is
    named by that, and by its command where there is nothing to tell it from.
    """
    commands = {run.id: _command(run) for run in runs if run.launch is not None}
    shared = set.intersection(*map(set, commands.values())) if commands else set()
    settings = {
        run.id: ", ".join(f"{name}={value}" for name, value in run.launch.parameters.items())
        for run in runs
        if run.launch is not None
    }
    told_by_settings = len({*map(tuple, commands.values())}) == len({*settings.values()})
    names: dict[str, str] = {}
    for run in runs:
        if run.launch is not None:
            own = [part for part in commands[run.id] if part not in shared]
            told = settings[run.id] if told_by_settings else " ".join(own)
            alone = len({*map(tuple, commands.values())}) == 1
            names[run.id] = told or (" ".join(commands[run.id]) if alone else _COMMON)
        elif run.engine is not None and run.engine.address is not None:
            names[run.id] = run.engine.address
    return names


def tell(knowledge: Knowledge, told: Sequence[tuple[RunOutcome, Sequence[Row]]]) -> None:
    """Of each benchmark with several runs or cases their table, and of several runs what is next.

    ``told`` are the runs with their measurements as ``measured_rows`` gives them.
    """
    by_benchmark: dict[str, list[tuple[RunOutcome, Sequence[Row]]]] = {}
    for outcome, rows in told:
        ended = outcome.record is not None and outcome.record.run.outcome != "failed"
        if ended and not outcome.recovered:
            by_benchmark.setdefault(outcome.benchmark, []).append((outcome, rows))
    names = engine_names([one.record.run for one, _ in told if one.record is not None])
    for benchmark, those in by_benchmark.items():
        cases = [_cases(outcome, rows) for outcome, rows in those]
        if sum(map(len, cases)) > 1:
            say()
            say(benchmark, "strong")
            _table(knowledge, those, cases, names)
            _next(those, names)


def case_headings(run: Run) -> dict[str, str]:
    """By the beginning of its findings' ids, what a case of a sweep was set to."""
    if len(run.cases) < 2:
        return {}
    swept = [
        name
        for name in run.cases[0].parameters
        if len({repr(case.parameters.get(name)) for case in run.cases}) > 1
    ]
    return {
        f"{run.id}.{number}": ", ".join(f"{name}={case.parameters.get(name)}" for name in swept)
        for number, case in enumerate(run.cases, start=1)
    }


def warnings(run: Run) -> Iterator[str]:
    """Each warning once; one that not all cases of a sweep have with those that do."""
    headings = list(case_headings(run).values())
    for warning in dict.fromkeys(text for case in run.cases for text in case.warnings):
        having = [number for number, case in enumerate(run.cases) if warning in case.warnings]
        if len(having) == len(run.cases):
            yield warning
        else:
            yield f"{'; '.join(headings[number] for number in having)}: {warning}"


def _command(run: Run) -> list[str]:
    """The command that launched its engine in parts: its words, each flag with its value."""
    text = "" if run.launch is None else run.launch.command
    address = None if run.engine is None else run.engine.address
    port = "" if address is None else address.partition("/")[0].rpartition(":")[2]
    try:
        words = shlex.split(text)
    except ValueError:  # what was hidden in it may have held a quote
        words = text.split()
    told = [
        "{port}" if word == port else shlex.quote(word) if re.search(r"\s", word) else word
        for word in words
    ]
    # A value says nothing without its flag.
    parts: list[str] = []
    for word in told:
        if parts and re.fullmatch(r"--?[^\s=]+", parts[-1]) and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _cases(outcome: RunOutcome, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """What each case was set to, with its main figures; of a run of one case nothing was set."""
    headings = {} if outcome.record is None else case_headings(outcome.record.run)
    found: dict[str, list[Row]] = {}
    for row in rows:
        prefix = row["id"].removesuffix(f".{row['metric']}")
        if row["metric"] in outcome.headlines[:_MOST_FIGURES]:
            found.setdefault(headings.get(prefix, ""), []).append(row)
    return list(found.items())


def _table(
    knowledge: Knowledge,
    those: Sequence[tuple[RunOutcome, Sequence[Row]]],
    cases: Sequence[Sequence[tuple[str, list[Row]]]],
    names: Mapping[str, str],
) -> None:
    metrics = list(those[0][0].headlines[:_MOST_FIGURES])
    lines = []
    for (outcome, _), of_run in zip(those, cases, strict=True):
        run = outcome.record.run.id if outcome.record is not None else ""
        for case, rows in of_run:
            figures = {row["metric"]: _figure(knowledge, row) for row in rows}
            cells = [figures.get(metric, "") for metric in metrics]
            name = names.get(run, "")
            if len(name) > _LONGEST_NAME:  # it stands whole at the head of its run
                name = name[: _LONGEST_NAME - 1] + "…"
            lines.append([run, name, case, *cells, _grade(rows)])
    headings = ["run", "engine", "case", *metrics, "grade"]
    # What is the same in all rows, or not there, tells none of them apart.
    kept = [
        at
        for at, heading in enumerate(headings)
        if heading not in ("run", "engine", "case") or len({line[at] for line in lines}) > 1
    ]
    shown = [headings[at] for at in kept]
    table(shown, [[line[at] for at in kept] for line in lines], ["run"] if "run" in shown else [])


def _figure(knowledge: Knowledge, row: Row) -> str:
    from gamekit.numbers import middle, with_unit

    known = knowledge.figure(row["id"])
    return "unknown" if known.known is None else with_unit(middle(known.known), known.unit)


def _grade(rows: Sequence[Row]) -> str:
    """The grade of a case; where its figures have several, which have which."""
    by_grade: dict[str, list[str]] = {}
    for row in rows:
        by_grade.setdefault(row["grade"] or "", []).append(row["metric"])
    if len(by_grade) == 1:
        return next(iter(by_grade))
    return "; ".join(f"{name}: {', '.join(metrics)}" for name, metrics in by_grade.items())


def _next(those: Sequence[tuple[RunOutcome, Sequence[Row]]], names: Mapping[str, str]) -> None:
    """The comparisons of several engines; of several starts of one, where all of them are."""
    by_engine: dict[str, list[tuple[RunOutcome, Sequence[Row]]]] = {}
    for outcome, rows in those:
        if outcome.record is not None:
            by_engine.setdefault(names.get(outcome.record.run.id, ""), []).append((outcome, rows))
    first, *others = by_engine.values()
    if not others and len(first) < 2:
        return
    if first[0][0].file is None:
        paragraph("next: --append records them, and gamekit compare says which is better")
        return
    if not others:
        commands = [f"gamekit show {name}" for name in _series(first)[:1]]
    else:
        commands = [line for other in others for line in _comparisons(first, other)]
    for command in commands[:_MOST_COMPARISONS]:
        say(f"next: {command}")


def _comparisons(
    one: Sequence[tuple[RunOutcome, Sequence[Row]]],
    other: Sequence[tuple[RunOutcome, Sequence[Row]]],
) -> list[str]:
    """Of several starts each the series, which hold them all, where the two do not share one."""
    ours, theirs = _series(one), _series(other)
    if max(len(one), len(other)) > 1 and len(ours) == len(theirs) and not set(ours) & set(theirs):
        return [f"gamekit compare {a} {b}" for a, b in zip(ours, theirs, strict=True)]
    return [
        f"gamekit compare {a.record.run.id} {b.record.run.id}"
        for (a, _), (b, _) in zip(one, other, strict=False)
        if a.record is not None and b.record is not None
    ]


def _series(runs: Sequence[tuple[RunOutcome, Sequence[Row]]]) -> list[str]:
    """The series of the main figures, case by case."""
    return list(
        dict.fromkeys(
            row["series"]
            for outcome, rows in runs
            for row in rows
            if row["metric"] in outcome.headlines and row["series"]
        )
    )
