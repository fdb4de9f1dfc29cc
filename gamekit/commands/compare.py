"""``gamekit compare``: B against A."""

from __future__ import annotations

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
    table(
        ("metric", "A", "B", "B against A", "interval", "verdict"),
        [
            (
                f"{one.metric}{_case(compared, one)}",
                _figure(one.pair.a),
                _figure(one.pair.b),
                *_change(one),
                one.judged.verdict,
            )
            for one in compared.metrics
        ],
    )
    say()
    for reason, metrics in _reasons(compared).items():
        paragraph(f"{', '.join(metrics)}: {reason}")
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


def _case(compared: Compared, one: MetricVerdict) -> str:
    """Which of several pairs of one metric this is."""
    if sum(other.metric == one.metric for other in compared.metrics) == 1:
        return ""
    return f" ({one.pair.a.id})"


def _figure(side: Side) -> str:
    from gamekit.numbers import middle, with_unit

    if side.figure is None:
        return "unknown"
    count = sum(map(len, side.samples))
    of = f"n = {count}" if count else "no samples"
    if len(side.starts) > 1:
        of = f"{len(side.starts)} starts, {of}"
    return f"{with_unit(middle(side.figure), side.unit)} ({of})"


def _change(one: MetricVerdict) -> tuple[str, str]:
    from gamekit.numbers import percent

    ratio = one.judged.ratio
    if ratio is None:
        return "", ""
    if one.judged.basis == "none":  # ends of what was stated, and no interval of anything measured
        return percent(ratio.mid - 1), ""
    return percent(ratio.mid - 1), f"{percent(ratio.low - 1)} to {percent(ratio.high - 1)}"


def _reasons(compared: Compared) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for one in compared.metrics:
        reasons.setdefault(one.judged.reason, []).append(one.metric)
    return reasons


def _settle(compared: Compared) -> None:
    """Raise what the exit code has to say where B is not better."""
    if compared.verdict == "better":
        return
    deciding = [one for one in compared.metrics if one.judged.verdict == compared.verdict]
    named = ", ".join(dict.fromkeys(one.metric for one in deciding))
    if compared.verdict == "worse":
        raise AnswerIsNo(f"{compared.b} is worse than {compared.a} in {named}")
    mend = (
        "measure both again with more requests, or in turn: gamekit bench with two --url"
        if compared.verdict == "inconclusive"
        else "measure what has no samples: gamekit bench --append"
    )
    raise NoAnswer(f"{compared.verdict} in {named}", mend=mend)
