"""Reads SpecForge's evaluations: lines of a training log, or notes on its best checkpoint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gamekit.imports.figures import Figure, Taken
from gamekit.imports.given import Given

NAME = "SpecForge evaluation"
_LENGTH = "eval/simulated_acc_len"
_POSITIONS = "eval/per_position_acc"
_POSITION = re.compile(r"eval/acc_(\d{1,2})$")
# "step 1000: {'eval/simulated_acc_len': 1.12, ...}" of current releases, and of earlier ones
# "Eval - Step 1000 [1001/10], position 0,  Acc: 0.64".
_METRICS_LINE = re.compile(r"\bstep (\d+): (\{.*'eval/.*\})\s*$")
_POSITION_LINE = re.compile(
    r"\bEval - (?:Step|Epoch) (\d+) .*position (\d{1,2}), +Acc: ([0-9.]+)\s*$"
)
_TOLERANCE = 1e-3
_LONGEST = 10_000


@dataclass
class Evaluation:
    """One evaluation: the accuracy of each position in order, and the length it told."""

    line: int
    accuracies: dict[int, float] = field(default_factory=dict)
    length: float | None = None
    rest: dict[str, object] = field(default_factory=dict)


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if given.whole is not None:
        metrics = given.whole.data.get("metrics")
        named = isinstance(metrics, dict) and any(str(one).startswith("eval/") for one in metrics)
        return None if named else "its metrics have no eval/..."
    if any(_METRICS_LINE.search(line) or _POSITION_LINE.search(line) for _, line in _short(given)):
        return None
    return "no line is an evaluation (step N: {'eval/...'}, or Eval - Step N, position ...)"


def parse(given: Given) -> Taken:
    """The figures of the last evaluation. Raises ``UsageFault``."""
    found = _whole(given) if given.whole is not None else _lines(given)
    if not found:
        raise given.fault(1, "it has no evaluation", "import the log of a run that evaluated")
    step = max(found)
    evaluation = found[step]
    left_out = []
    if earlier := sorted(set(found) - {step}):
        left_out.append(f"evaluations at steps {', '.join(map(str, earlier))}: the last is taken")
    figures = list(_figures(given, evaluation, left_out))
    if not figures:
        raise given.fault(
            evaluation.line, "no accuracy by position in it", "import a whole evaluation"
        )
    return Taken(
        NAME,
        tuple(figures),
        aside={"training_step": step, **evaluation.rest},
        left_out=tuple(left_out),
    )


def _figures(given: Given, evaluation: Evaluation, left_out: list[str]) -> list[Figure]:
    positions = sorted(evaluation.accuracies)
    if positions != list(range(len(positions))):
        raise given.fault(
            evaluation.line, f"positions {positions} are not all there", "import a whole evaluation"
        )
    chain = [evaluation.accuracies[at] for at in positions]
    figures = [
        Figure(
            key=f"conditional_accuracy.{at + 1}",
            place=f"accuracy of position {at}",
            metric="conditional_accuracy",
            value=value,
            convention="share of tokens at this draft step, in training, given the steps before",
            line=evaluation.line,
            parameters={"draft_step": at + 1},
            joins=False,
        )
        for at, value in enumerate(chain)
    ]
    length = _accept_length(chain, evaluation.length, left_out)
    if length is not None:
        figures.append(
            Figure(
                key="accept_length",
                place=_LENGTH,
                metric="accept_length",
                value=length[0],
                convention=f"of accuracies in training, not of serving; {length[1]}",
                line=evaluation.line,
                subject={"steps": len(chain)},
                joins=False,
            )
        )
    return figures


def _accept_length(
    chain: Sequence[float], told: float | None, left_out: list[str]
) -> tuple[float, str] | None:
    """The accept length with the bonus token, and how it was told.

    SpecForge's own is a0 + a0·a1 + …, without the bonus token; others that took its name include
    it. Which one it is shows by the accuracies; where they fit neither, nobody knows what it is.
    """
    if told is None:
        return None
    drafts, product = 0.0, 1.0
    for accuracy in chain:
        product *= accuracy
        drafts += product
    if chain and abs(told - drafts) <= _TOLERANCE * max(1.0, drafts):
        return round(told + 1, 10), "simulated_acc_len, which leaves the bonus token out, plus 1"
    if chain and abs(told - drafts - 1) <= _TOLERANCE * (1 + drafts):
        return told, "simulated_acc_len, which holds the bonus token here"
    left_out.append(
        f"simulated_acc_len {told:g}: it does not follow from the accuracies by position"
    )
    return None


def _whole(given: Given) -> dict[int, Evaluation]:
    if given.whole is None:
        return {}
    step = given.whole.count("step") or 0
    metrics = given.whole.inner("metrics").data
    return {step: _evaluation(given, 1, metrics)}


def _lines(given: Given) -> dict[int, Evaluation]:
    found: dict[int, Evaluation] = {}
    for number, line in _short(given):
        if told := _METRICS_LINE.search(line):
            try:
                metrics = ast.literal_eval(told[2])
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                raise given.fault(
                    number, "its metrics cannot be read", "import the log as it was written"
                ) from None
            if isinstance(metrics, dict):
                found[_step(given, number, told[1])] = _evaluation(given, number, metrics)
        elif told := _POSITION_LINE.search(line):
            step = _step(given, number, told[1])
            evaluation = found.setdefault(step, Evaluation(number))
            evaluation.accuracies[int(told[2])] = _share(given, number, told[3])
    return found


def _short(given: Given) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without those too long to be an evaluation."""
    for number, line in enumerate(given.lines, start=1):
        if len(line) <= _LONGEST:
            yield number, line


def _step(given: Given, line: int, digits: str) -> int:
    if len(digits) > 15:
        raise given.fault(line, "its step is giant", "import the log as it was written")
    return int(digits)


def _evaluation(given: Given, line: int, metrics: Mapping[str, object]) -> Evaluation:
    evaluation = Evaluation(line)
    for name, value in metrics.items():
        if position := _POSITION.match(str(name)):
            evaluation.accuracies[int(position[1])] = _share(given, line, value)
        elif name == _POSITIONS and isinstance(value, list):
            evaluation.accuracies = {at: _share(given, line, a) for at, a in enumerate(value)}
        elif name == _LENGTH:
            evaluation.length = _number(given, line, value, 101)
        else:
            evaluation.rest[str(name)] = value
    return evaluation


def _share(given: Given, line: int, value: object) -> float:
    return _number(given, line, value, 1)


def _number(given: Given, line: int, value: object, most: float) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:  # nor is NaN
        raise given.fault(
            line,
            f"{given.shown(str(value))} lies not between 0 and {most:g}",
            "import a whole evaluation",
        )
    return number
