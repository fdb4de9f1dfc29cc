"""``gamekit compare``: B against A."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import Tone, paragraph, print_json, say, table
from gamekit.errors import AnswerIsNo, NoAnswer

if TYPE_CHECKING:
    from gamekit.analysis.comparison import Compared, MetricVerdict
    from gamekit.analysis.sides import Side

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


@click.command("compare", short_help="Say whether B is better or worse than A.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@as_json_option
def command(a: str, b: str, as_json: bool) -> None:
    """Say whether B is better or worse than A, by how much, and what else differs.

    Each is the id of a measurement, of a series or of a run. Two runs are compared in every metric
    that both have; a series by its current figure and, where there are several server starts, by
    all members that count. Exit code 0 is better, 4 worse, 5 inconclusive or insufficient.
    """
    from gamekit.analysis.comparison import compare
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    knowledge = build(load(find_root(Path.cwd())))
    compared = compare(knowledge, a, b)
    if as_json:
        print_json(compared.as_json(knowledge))
    else:
        _tell(compared)
    _settle(compared)


def _tell(compared: Compared) -> None:
    say(f"{compared.b} against {compared.a}", _TONES.get(compared.verdict, "strong"))
    if compared.subjects:
        told = "; ".join(item.in_words() for item in compared.subjects)
        paragraph(f"these are different things (A against B): {told}")
    say()
    cases = _cases(compared)
    table(
        ("metric", "A", "B", "B against A", "interval", "verdict"),
        [
            (
                f"{one.metric}{case}",
                _figure(one.pair.a),
                _figure(one.pair.b),
                *_change(one),
                one.judged.verdict,
            )
            for one, case in zip(compared.metrics, cases, strict=True)
        ],
    )
    say()
    for text in _reasons(compared, cases):
        paragraph(text)
    for note in dict.fromkeys(note for one in compared.metrics for note in one.notes):
        paragraph(note)
    for differ in compared.environments:
        paragraph(f"environments: {differ.in_words()}")
    if len(compared.metrics) > 1:
        paragraph(
            "each interval is of 95 % by itself: of twenty equal metrics one shows a difference"
        )
    if compared.unmatched:
        paragraph(f"without counterpart: {', '.join(compared.unmatched)}")


def _cases(compared: Compared) -> list[str]:
    """For each row which of several of its metric it is, in brackets; nothing for the only one."""
    told = [
        ", ".join(f"{name} {value}" for name, value in one.case.items()) for one in compared.metrics
    ]
    rows = list(zip(compared.metrics, told, strict=True))
    count = Counter((one.metric, case) for one, case in rows)
    # Where nothing that is known tells them apart, the id does.
    names = [one.pair.a.id if count[one.metric, case] > 1 else case for one, case in rows]
    return [f" ({name})" if name else "" for name in names]


def _figure(side: Side) -> str:
    from gamekit.numbers import middle, with_unit

    if side.figure is None:
        return "unknown"
    count = sum(map(len, side.samples))
    of = f"n = {count}" if count else "no samples"
    if len(side.starts) > 1:
        of = f"{len(side.starts)} starts, {of}"
    elif side.inadequate:
        of = f"{of}, inadequate"
    return f"{with_unit(middle(side.figure), side.unit)} ({of})"


def _change(one: MetricVerdict) -> tuple[str, str]:
    from gamekit.numbers import percent

    ratio = one.judged.ratio
    if ratio is None:
        return "", ""
    if one.judged.basis == "none":  # ends of what was stated, and no interval of anything measured
        return percent(ratio.mid - 1), ""
    return percent(ratio.mid - 1), f"{percent(ratio.low - 1)} to {percent(ratio.high - 1)}"


def _reasons(compared: Compared, cases: Sequence[str]) -> list[str]:
    """What is said of the verdicts, each thing once for all rows that it is said of."""
    from gamekit.analysis.contrast import would_be_seen

    rows_of: dict[str, list[int]] = {}
    seen: dict[int, float] = {}
    for row, one in enumerate(compared.metrics):
        detectable = one.judged.detectable
        for clause in dict.fromkeys(one.judged.reason.split("; ")):
            if detectable is not None and clause == would_be_seen([detectable]):
                seen[row] = detectable
            else:
                rows_of.setdefault(clause, []).append(row)
    told: dict[tuple[int, ...], list[str]] = {}
    if seen:
        told[tuple(seen)] = [would_be_seen(list(seen.values()))]
    for clause, rows in rows_of.items():
        told.setdefault(tuple(rows), []).append(clause)
    # What is said of most rows comes first.
    return [
        f"{_rows(compared, cases, rows)}: {'; '.join(clauses)}"
        for rows, clauses in sorted(told.items(), key=lambda item: -len(item[0]))
    ]


def _rows(compared: Compared, cases: Sequence[str], rows: Sequence[int]) -> str:
    """The rows in words: by name where they are few, else by their count."""
    few = 3  # the metrics of one case
    if len(rows) > few:
        return f"{len(rows)} of {len(compared.metrics)} rows"
    by_case: dict[str, list[str]] = {}
    for row in rows:
        by_case.setdefault(cases[row], []).append(compared.metrics[row].metric)
    return ", ".join(f"{', '.join(metrics)}{case}" for case, metrics in by_case.items())


def _settle(compared: Compared) -> None:
    """Raise what the exit code has to say where B is not better."""
    if compared.verdict == "better":
        return
    deciding = [one for one in compared.metrics if one.judged.verdict == compared.verdict]
    named = ", ".join(dict.fromkeys(one.metric for one in deciding))
    if compared.verdict == "worse":
        raise AnswerIsNo(f"{compared.b} is worse than {compared.a} in {named}")
    raise NoAnswer(f"{compared.verdict} in {named}", mend=_how_to_know(compared))


def _how_to_know(compared: Compared) -> str:
    if compared.mixed:
        return "compare two of the stand-in engine, or two of real ones"
    if compared.verdict != "inconclusive":
        return "measure what has no samples: gamekit bench --append"
    if compared.served and all(one.pair.in_turn for one in compared.metrics):
        return "measure both again with more requests: gamekit bench with --set requests=N"
    if compared.served:
        return "measure both again with more requests, or in turn: gamekit bench with two --url"
    return "measure both again with more repeats: gamekit bench with --set repeats=N"
