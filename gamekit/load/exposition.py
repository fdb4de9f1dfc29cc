"""Reads samples of one metric out of a text in Prometheus's exposition format, and differences."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

Labels = frozenset[tuple[str, str]]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}
# Ranks of one engine each tell the figures of the whole: only the first of them counts.
_RANKS = ("tp_rank", "pp_rank")


@dataclass(frozen=True)
class ExposedSample:
    """One line of a metric: its labels and its value."""

    labels: Labels
    value: float


@dataclass(frozen=True)
class Counted:
    """How far a counter went between two texts; ``value`` is None where ``why`` says so."""

    value: float | None
    why: str | None = None


def samples_of(text: str, name: str) -> list[ExposedSample]:
    """The samples of the metric of exactly this name, in their order.

    The format is the text format 0.0.4, and OpenMetrics 1.0 as far as such lines go: comments and
    blank lines are skipped, time stamps and exemplars dropped. Raises ``ValueError`` for a line of
    this metric that is none; other lines are not looked at.
    """
    return list(_samples(text, name))


def _samples(text: str, name: str) -> Iterator[ExposedSample]:
    for number, line in enumerate(text.split("\n"), 1):
        found = _NAME.match(line.lstrip(" \t"))
        if found is None or found[0] != name:
            continue
        rest = line.lstrip(" \t")[found.end() :].strip(" \t\r")
        try:
            labels, rest = _labels(rest)
            yield ExposedSample(labels, _value(rest))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None


def _labels(rest: str) -> tuple[Labels, str]:
    if not rest.startswith("{"):
        return frozenset(), rest
    labels: dict[str, str] = {}
    at = 1
    while (found := _LABEL.match(rest, at)) is not None:
        if found[1] in labels:
            raise ValueError(f"the label {found[1]} is there twice")
        labels[found[1]] = _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[0]), found[2])
        at = found.end()
    rest = rest[at:].lstrip(" \t")
    if not rest.startswith("}"):
        raise ValueError("the labels do not end")
    return frozenset(labels.items()), rest[1:]


def _value(rest: str) -> float:
    fields = rest.partition(" # ")[0].split()
    if not fields or len(fields) > 2:
        raise ValueError("it has no value")
    # Go writes no underscores, and neither does the format.
    if "_" in fields[0]:
        raise ValueError(f"{fields[0]!r} is no number")
    return float(fields[0])


def gauge_sum(text: str, name: str) -> float | None:
    """The sum of a gauge over all engines that tell it; None where nobody does, or one is NaN.

    Raises ``ValueError`` as ``samples_of`` does.
    """
    values = [one.value for one in samples_of(text, name) if _counts(one.labels)]
    total = math.fsum(values) if all(map(math.isfinite, values)) else math.nan
    return total if values and math.isfinite(total) else None


def counted_between(before: str, after: str, name: str) -> Counted:
    """How far the counter ``name`` (ending in ``_total``) went, summed over all engines.

    A counter that fell, that is gone, or whose ``_created`` gauge says that it began anew makes the
    difference unknown: what was counted before the restart is lost. One that was not there before
    began at 0. Raises ``ValueError`` as ``samples_of`` does.
    """
    earlier, later = _by_labels(before, name), _by_labels(after, name)
    born = f"{name.removesuffix('_total')}_created"
    was_born, is_born = _by_labels(before, born), _by_labels(after, born)
    if not later:
        return Counted(None, f"{name} is not told")
    if not all(map(math.isfinite, [*earlier.values(), *later.values()])):
        return Counted(None, f"{name} is no number")
    for labels, value in earlier.items():
        if labels not in later:
            return Counted(None, f"{name} is gone for one engine: it was restarted")
        if later[labels] < value or was_born.get(labels) != is_born.get(labels):
            return Counted(None, f"{name} began anew: the engine was restarted")
    return Counted(math.fsum(value - earlier.get(one, 0.0) for one, value in later.items()))


def _by_labels(text: str, name: str) -> dict[Labels, float]:
    values: dict[Labels, float] = defaultdict(float)
    for one in samples_of(text, name):
        if _counts(one.labels):
            values[one.labels] += one.value
    return dict(values)


def _counts(labels: Labels) -> bool:
    return not any(name in _RANKS and rank != "0" for name, rank in labels)
