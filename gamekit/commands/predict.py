"""``gamekit predict``: the speculation model on given numbers, or on the knowledge base."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamekit.commands.options import Whole, as_json_option
from gamekit.commands.terminal import paragraph, print_json, say, table
from gamekit.errors import UsageFault
from gamekit.ranges import Range

if TYPE_CHECKING:
    from gamekit.analysis.prediction import Given, Prediction

# No sign: nothing here is below 0, and a range has a colon, so that no minus has two meanings.
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?|\.[0-9]+")


def _range(text: str) -> Range:
    ends = text.strip().split(":")
    if len(ends) > 2 or not all(_NUMBER.fullmatch(end) for end in ends):
        raise click.BadParameter(f"{text!r} is no number, and no range LOW:HIGH such as 82:83.")
    low, high = float(ends[0]), float(ends[-1])
    if low > high:
        raise click.BadParameter(f"{text!r} is no range LOW:HIGH, since {ends[0]} is the higher.")
    return Range.exact(low) if low == high else Range(low, (low + high) / 2, high)


def _ranges(text: str) -> tuple[Range, ...]:
    return tuple(map(_range, text.split(",")))


@click.command("predict", short_help="Say what the speculation model says of some numbers.")
@click.option("--accept-len", type=_range, metavar="L", help="Tokens a cycle, 1 to k + 1.")
@click.option(
    "--accuracy",
    "accuracies",
    type=_ranges,
    metavar="A[,A2,...]",
    help="Conditional accuracy, 0 to 1: one for all steps, or one a step.",
)
@click.option("--steps", type=Whole(), metavar="K", help="Draft steps of a cycle.")
@click.option("--cycle-ms", type=_range, metavar="T", help="Time of a whole cycle.")
@click.option("--verify-ms", type=_range, metavar="V", help="Time of its verify forward.")
@click.option("--draft-ms", type=_range, metavar="D", help="Time of one draft step.")
@click.option("--overhead-ms", type=_range, metavar="O", help="Time of the rest of a cycle.")
@click.option("--baseline", type=_range, metavar="TOK_S", help="Decode rate without speculation.")
@click.option("--target", type=_range, metavar="TOK_S", help="Rate that speculation should give.")
@as_json_option
def command(as_json: bool, **told: Range | tuple[Range, ...] | int | None) -> None:
    """Say what the speculation model says: rate, break-even, ceiling, and what a target requires.

    With any option it computes from the numbers given and from nothing else; without, from the
    findings that gamekit.yaml names. Each number may be a range, LOW:HIGH; one without a range is
    taken as exact. What is not known, or cannot be reached, is an answer, and the exit code is 0;
    numbers that cannot be together, such as an accept length above steps + 1, are exit code 2.
    """
    numbers = {name: value for name, value in told.items() if value is not None}
    given = _from_numbers(numbers) if numbers else _from_knowledge_base()
    _tell(given, as_json=as_json)


def _from_numbers(numbers: Mapping[str, Any]) -> Given:
    from gamekit.analysis.prediction_numbers import GivenNumbers

    return GivenNumbers(**numbers).given()


def _from_knowledge_base() -> Given:
    from gamekit.analysis.prediction_of_base import given_by
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    try:
        root = find_root(Path.cwd())
    except UsageFault as fault:
        raise UsageFault(
            fault.message, mend="give numbers, such as --steps 2 --cycle-ms 33.3 --baseline 82"
        ) from None
    return given_by(build(load(root)))


def _tell(given: Given, *, as_json: bool) -> None:
    from gamekit.analysis.prediction import predict
    from gamekit.analysis.prediction_words import assumptions, conclusion

    prediction = predict(given)
    if as_json:
        sentences = {
            "assumptions": assumptions(prediction),
            "conclusion": conclusion(prediction),
        }
        print_json({**prediction.as_json(), **sentences})
        return
    for sentence in conclusion(prediction):
        paragraph(sentence)
    _figures(prediction)
    _list("not there", _by_reason(prediction.reasons))
    _list("not there in part", _by_reason(prediction.partly))
    _list("assumed", assumptions(prediction))
    _list("from", [f"{role.replace('_', ' ')}: {name}" for role, name in given.findings.items()])


def _figures(prediction: Prediction) -> None:
    from gamekit.analysis.prediction_words import scaled, unit
    from gamekit.numbers import middle, span, with_unit

    rows = []
    for key in prediction.figures:
        stated, rounded = scaled(prediction, key)
        # An exact figure has the digits that the roundings leave it.
        shown = middle(stated, rounded if stated.is_exact else None)
        row = [_title(key), with_unit(shown, unit(key))]
        row.append("" if stated.is_exact else span(stated))
        if prediction.given.findings:
            row.append("" if rounded is None or rounded == stated else span(rounded))
        rows.append(row)
    if rows:
        headings = ["", "figure", "range", "with all roundings"]
        say()
        table(headings[: len(rows[0])], rows)


def _title(key: str) -> str:
    from gamekit.analysis.prediction import OUTPUTS

    return OUTPUTS[key].title


def _by_reason(reasons: Mapping[str, str]) -> list[str]:
    outputs: dict[str, list[str]] = {}
    for key, why in reasons.items():
        outputs.setdefault(why, []).append(_title(key))
    return [f"{', '.join(titles)}: {why}" for why, titles in outputs.items()]


def _list(heading: str, lines: Sequence[str]) -> None:
    if lines:
        say(f"\n{heading}", "strong")
        for line in lines:
            paragraph(line, "  ")
