"""Reads SpecForge's evaluations: lines of a training log, or notes on its best checkpoint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gamekit.errors import UsageFault
from gamekit.imports.figures import Figure, Taken
from gamekit.imports.given import Given

NAME = "SpecForge evaluation"
_LENGTH = "eval/simulated_acc_len"
_POSITIONS = "eval/per_position_acc"
_POSITION = re.compile(r"eval/acc_(\d{1,2})$")
# "step 1000: {'eval/simulated_acc_len': 1.12, ...}" of current releases, and of earlier ones
# "Eval - Step 1000 [1001/10], position 0,  Acc: 0.64". Begin and end are looked for one by one: a
# pattern of both takes minutes for a line that holds many of each.
_METRICS_BEGIN = re.compile(r"\bstep (\d+): \{")
_POSITION_BEGIN = re.compile(r"\bEval - (Step|Epoch) (\d+) ")
_POSITION_END = re.compile(r"position (\d{1,2}), +Acc: ([0-9.]+)$")
_LONGEST_END = 200
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
    if any(_metrics(line) or _position(line) for _, line in _short(given)):
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
    """The evaluations by step. Raises ``UsageFault`` where the lines are of several runs."""
    found: dict[int, Evaluation] = {}
    units: dict[str, int] = {}
    last = -1
    for number, line in _short(given):
        if told := _metrics(line):
            unit, digits, text = "Step", *told
        elif place := _position(line):
            given.require_end(number)
            unit, digits, text = place[0], place[1], ""
        else:
            continue
        step = _step(given, number, digits)
        units.setdefault(unit, number)
        if step < last or len(units) > 1:
            raise _of_another_run(given, number, f"{unit.lower()} {step} stands behind {last}")
        last = step
        if text:
            read = _evaluation(given, number, _literal(given, number, text))
            first = found.setdefault(step, read)
            if replace(first, line=number) != read:
                raise _of_another_run(given, number, f"step {step} is told otherwise before")
        elif place:
            evaluation = found.setdefault(step, Evaluation(number))
            share = _share(given, number, place[3])
            if evaluation.accuracies.setdefault(int(place[2]), share) != share:
                raise _of_another_run(given, number, f"step {step} is told otherwise before")
    return found


def _of_another_run(given: Given, line: int, why: str) -> UsageFault:
    return given.fault(
        line, f"it is of another run than the lines before: {why}", "import the lines of one run"
    )


def _metrics(line: str) -> tuple[str, str] | None:
    """The step of a line of metrics, and its dictionary as text."""
    begin = _METRICS_BEGIN.search(line)
    if begin is None or "'eval/" not in line[begin.end() :] or not line.rstrip().endswith("}"):
        return None
    return begin[1], line[begin.end() - 1 :].rstrip()


def _position(line: str) -> tuple[str, str, str, str] | None:
    """Unit and number of the step of a line of one position, the position and its accuracy."""
    begin = _POSITION_BEGIN.search(line)
    if begin is None:
        return None
    end = _POSITION_END.search(line[begin.end() :].rstrip()[-_LONGEST_END:])
    return None if end is None else (begin[1], begin[2], end[1], end[2])


def _literal(given: Given, line: int, text: str) -> Mapping[str, object]:
    try:
        metrics = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        metrics = None
    if not isinstance(metrics, dict):
        raise given.fault(line, "its metrics cannot be read", "import the log as it was written")
    return metrics


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
            f"{given.shown(value)} lies not between 0 and {most:g}",
            "import a whole evaluation",
        )
    return number
