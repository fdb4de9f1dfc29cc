"""What the speculation model says about given quantities: rates, break-even, ceiling, requirements.

One cycle of k draft steps takes T(k) and yields L tokens, at most k + 1; the rate is L/T. The
formulas are those of ``gamekit.speculation``, computed over the given quantities themselves, so
that one used twice does not count its spread twice.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from gamekit import numbers
from gamekit.analysis.steps_at_accuracy import fewest_steps
from gamekit.formula import Impossible, Known, Result
from gamekit.ranges import Range

Compute = Callable[[str], tuple[Result, Result]]


class Output(NamedTuple):
    """A quantity of the model: its unit, and its name for a reader."""

    unit: str
    title: str


OUTPUTS: Mapping[str, Output] = MappingProxyType({
    "accept_len": Output("tok/cycle", "accept length"),
    "accuracy": Output("1", "accuracy of every step that gives it"),
    "limit_accept_len": Output("tok/cycle", "limit of the accept length for steps → ∞"),
    "cycle_ms": Output("ms", "time of a cycle"),
    "throughput_tok_s": Output("tok/s", "rate with speculation"),
    "baseline_tok_s": Output("tok/s", "rate without speculation"),
    "target_tok_s": Output("tok/s", "target"),
    "speedup": Output("1", "speedup over no speculation"),
    "break_even_accept_len": Output("tok/cycle", "break-even accept length"),
    "ceiling_tok_s": Output("tok/s", "ceiling (rate if every draft is right)"),
    "required_accept_len": Output("tok/cycle", "required accept length"),
    "required_accuracy": Output("1", "required accuracy of every step"),
    "limit_required_accuracy": Output("1", "limit of the required accuracy for steps → ∞"),
    "required_cycle_ms": Output("ms", "required time of a cycle"),
    "longest_cycle_ms": Output("ms", "required time of a cycle if every draft is right"),
    "steps_needed": Output("1", "fewest steps if every draft is right"),
    "steps_needed_at_accuracy": Output("1", "fewest steps at this accuracy of every step"),
})  # fmt: skip

# By output, in terms of what is given and of the outputs above it; ms and tok/s make the 1000.
# A cycle yields at least 1 token, so that a requirement below 1 is met by every drafter.
_FORMULAS: Mapping[str, str] = MappingProxyType({
    "accuracy": "accuracy_for({accept_len}, {steps})",
    "limit_accept_len": "accept_length_without_end({accuracy})",
    "throughput_tok_s": "{accept_len} / {cycle_ms} * 1000",
    "speedup": "{throughput_tok_s} / {baseline_tok_s}",
    "break_even_accept_len": "{baseline_tok_s} * {cycle_ms} / 1000",
    "ceiling_tok_s": "({steps} + 1) / {cycle_ms} * 1000",
    "required_accept_len": "{goal_tok_s} * {cycle_ms} / 1000",
    "required_accuracy": "accuracy_for(max(1, {required_accept_len}), {steps})",
    "limit_required_accuracy": "accuracy_without_end(max(1, {required_accept_len}))",
    "required_cycle_ms": "{accept_len} / {goal_tok_s} * 1000",
    "longest_cycle_ms": "({steps} + 1) / {goal_tok_s} * 1000",
    "steps_needed": "steps_needed(max(1, {required_accept_len}))",
})  # fmt: skip


@dataclass(frozen=True)
class Given:
    """What a prediction rests on.

    ``terms`` are formulas that ``compute`` understands, by the name of an output or ``steps``; they
    take the place of the model's own, and may name outputs before them in braces. ``missing`` says,
    by name too, what is not known and why; each reason completes "unknown because".
    ``step_growth_ms`` is the term for what one more step adds to a cycle, None where the cycle
    is taken as unchanged. ``remarks`` are assumptions that were made on the way here, and
    ``findings`` the ids behind the terms, by role. ``compute`` gives a formula over stated ranges,
    and with all roundings.
    """

    terms: Mapping[str, str]
    missing: Mapping[str, str]
    steps: int | None
    compute: Compute
    step_growth_ms: str | None = None
    one_accuracy: bool = True
    remarks: tuple[str, ...] = ()
    findings: Mapping[str, str] = field(default_factory=dict)

    @property
    def goal(self) -> str:
        """The output that requirements are for: the target, without one the baseline."""
        return "target_tok_s" if "target_tok_s" in self.terms else "baseline_tok_s"


@dataclass(frozen=True)
class Prediction:
    """What follows from ``given``; every output is either in ``figures`` or in ``reasons``.

    ``rounded`` has the figures with all roundings, where they have any. ``partly`` says of a figure
    why it does not exist in part of the ranges it is for.
    """

    given: Given
    figures: Mapping[str, Range]
    rounded: Mapping[str, Range]
    reasons: Mapping[str, str]
    partly: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The figures by output: plain where exact, None where ``reasons`` has one."""
        return {
            "steps": self.given.steps,
            **{key: _number(key, self.figures.get(key)) for key in OUTPUTS},
            "reasons": dict(self.reasons),
            "partly_impossible": dict(self.partly),
            "with_rounding": (
                {key: _number(key, self.rounded.get(key)) for key in OUTPUTS}
                if self.given.findings
                else None
            ),
            "findings": dict(self.given.findings),
        }


def predict(given: Given) -> Prediction:
    """Everything the model says about ``given``. Never raises for what cannot be: it says why."""
    computing = _Computing(given)
    for key in OUTPUTS:
        computing.settle(key)
    return computing.prediction


class _Computing:
    """A prediction in the making, output by output."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._terms = {} if given.steps is None else {"steps": str(given.steps)}
        self._missing: dict[str, tuple[str, ...]] = {
            key: (reason,) for key, reason in given.missing.items()
        }
        self._figures: dict[str, Range] = {}
        self._rounded: dict[str, Range] = {}
        self._reasons: dict[str, str] = {}
        self._partly: dict[str, str] = {}

    @property
    def prediction(self) -> Prediction:
        """What has been settled so far."""
        return Prediction(self._given, self._figures, self._rounded, self._reasons, self._partly)

    def settle(self, key: str) -> None:
        """Compute an output whose predecessors are settled, or say why it does not exist."""
        if key == "steps_needed_at_accuracy":
            self._settle_steps(key)
            return
        formula = self._given.terms.get(key) or _FORMULAS.get(key, "")
        lacking = self._missing.get(key) or self._lacking(formula)
        if lacking:
            self._missing[key] = lacking
            self._reasons[key] = f"unknown because {'; '.join(lacking)}"
        else:
            self._terms[key] = f"({formula.format_map(self._terms)})"
            refused = self._refused(key)
            if refused is not None:
                self._reasons[key] = refused
            else:
                self._compute(key)
        if key == "target_tok_s":
            self._set_goal()

    def _settle_steps(self, key: str) -> None:
        """The steps at the given accuracy, which no formula gives: T(k) may grow with them."""
        lacking = self._lacking("{accuracy} {goal_tok_s} {cycle_ms}")
        if not self._given.one_accuracy:
            lacking = ("the accuracies of further steps were not given",)
        if lacking:
            self._reasons[key] = f"unknown because {'; '.join(lacking)}"
            return
        cycle = self._given.terms["cycle_ms"]
        figure, reason = fewest_steps(
            self._given.compute,
            self._terms["accuracy"],
            self._terms["goal_tok_s"],
            lambda steps: cycle.format(steps=steps),
        )
        if figure is not None:
            self._figures[key] = figure
        elif reason is not None:
            self._reasons[key] = reason

    def _set_goal(self) -> None:
        """What requirements are for, once target and baseline are settled."""
        goal = self._given.goal
        if goal in self._terms:
            self._terms["goal_tok_s"] = self._terms[goal]
        else:
            why = self._missing[goal]
            self._missing["goal_tok_s"] = (*why, *self._missing.get("target_tok_s", ()))

    def _lacking(self, formula: str) -> tuple[str, ...]:
        names = [name for _, name, _, _ in string.Formatter().parse(formula) if name]
        return tuple(dict.fromkeys(why for name in names for why in self._missing.get(name, ())))

    def _compute(self, key: str) -> None:
        stated, with_rounding = self._given.compute(self._terms[key])
        if isinstance(stated, Known):
            self._figures[key] = stated.range
            if isinstance(with_rounding, Known):
                self._rounded[key] = with_rounding.range
            if stated.partly_impossible is not None:
                self._partly[key] = self._impossible(key, stated.partly_impossible, in_part=True)
        elif isinstance(stated, Impossible):
            self._reasons[key] = self._impossible(key, stated.reason)
        else:
            self._reasons[key] = stated.reason

    def _refused(self, key: str) -> str | None:
        """Why an output has no meaning where the cycle grows with its steps; None otherwise."""
        growth = self._given.step_growth_ms
        if growth is None or key not in ("limit_required_accuracy", "steps_needed"):
            return None
        if key == "limit_required_accuracy":
            return "it does not exist: a cycle that grows with every step gives no rate in the end"
        # Tokens that the goal asks for in the time of one more step, which can bring 1 at most.
        asked, _ = self._given.compute(f"{self._terms['goal_tok_s']} * {growth} / 1000")
        if isinstance(asked, Known) and asked.range.high >= 1:
            return (
                "no number of steps can be named: in the time that one more step takes"
                f" {self._goal_words()} asks for {numbers.span(asked.range)} tokens, and it brings"
                " at most 1"
            )
        return None

    def _impossible(self, key: str, reason: str, *, in_part: bool = False) -> str:
        """Why an output does not exist, or does not in part of the ranges."""
        if key == "limit_accept_len":
            return "a drafter that is always right never ends a chain without end"
        ceiling = self._figures.get("ceiling_tok_s")
        if key != "required_accuracy" or ceiling is None:
            return reason
        goal = self._figures[self._given.goal]
        words = f"the ceiling at {steps_words(self._given.steps)} is {numbers.span(ceiling)} tok/s"
        if ceiling.high < goal.low:
            return f"no drafter can: {words}, below {self._goal_words()}"
        if in_part:
            return f"no drafter can in part of the ranges: {words}, against {self._goal_words()}"
        easiest, _ = self._given.compute(
            f"accuracy_for(min({self._terms['steps']} + 1,"
            f" max(1, {self._terms['required_accept_len']})), {self._terms['steps']})"
        )
        part = ""
        if isinstance(easiest, Known):
            part = f"; in the rest it takes at least {numbers.number(easiest.range.low * 100)} %"
        return (
            f"no drafter can at the middle of the ranges: {words}, against"
            f" {self._goal_words()}{part}"
        )

    def _goal_words(self) -> str:
        goal = self._given.goal
        name = "target" if goal == "target_tok_s" else "baseline"
        return f"the {name} of {numbers.span(self._figures[goal])} tok/s"


def steps_words(steps: int | None) -> str:
    """A number of steps in words."""
    return "1 step" if steps == 1 else f"{steps} steps"


def _number(key: str, figure: Range | None) -> dict[str, Any] | float | None:
    if figure is None:
        return None
    low, mid, high = (
        int(end) if key.startswith("steps_needed") else end
        for end in (figure.low, figure.mid, figure.high)
    )
    if figure.is_exact:
        return mid
    return {"low": low, "mid": mid, "high": high, "unit": OUTPUTS[key].unit}
