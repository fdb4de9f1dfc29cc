"""Numbers that somebody gives to the speculation model, checked and made ready to compute with."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gamekit.analysis.prediction import Given, steps_words
from gamekit.errors import UsageFault
from gamekit.formula import Expression, Resolved, Result, evaluate, parse
from gamekit.formula.tree import Node, Number, Operation, Reference
from gamekit.ranges import Range

MOST_STEPS = 100
# What anybody means lies between; beyond, products leave the range of numbers.
SMALLEST, LARGEST = 1e-100, 1e100

_WHAT = {
    "cycle_ms": "cycle time",
    "verify_ms": "verify time",
    "draft_ms": "draft time",
    "overhead_ms": "overhead",
    "baseline": "baseline",
    "target": "target",
}


@dataclass(frozen=True)
class GivenNumbers:
    """Numbers for the model, each None where it is not given.

    ``accept_len`` in tokens a cycle or conditional ``accuracies`` (one for all ``steps``, or one a
    step, which then also gives their number); times in ms, either ``cycle_ms`` or its parts, of
    which ``draft_ms`` is that of one step; ``baseline`` and ``target`` in tok/s.

    Raises ``UsageFault`` for numbers that no chain and no machine can have.
    """

    accept_len: Range | None = None
    accuracies: tuple[Range, ...] = ()
    steps: int | None = None
    cycle_ms: Range | None = None
    verify_ms: Range | None = None
    draft_ms: Range | None = None
    overhead_ms: Range | None = None
    baseline: Range | None = None
    target: Range | None = None

    def __post_init__(self) -> None:
        if self.accept_len is not None and self.accuracies:
            raise UsageFault("an accept length follows from accuracies", mend="give one of the two")
        if self.cycle_ms is not None and self._has_parts:
            raise UsageFault(
                "the time of a cycle follows from its parts",
                mend="give either the cycle time or verify, draft and overhead",
            )
        self._check_chain()
        for name, what in _WHAT.items():
            figure: Range | None = getattr(self, name)
            least = 0.0 if name in ("draft_ms", "overhead_ms") else SMALLEST
            if figure is not None and not least <= figure.low <= figure.high <= LARGEST:
                raise UsageFault(
                    f"{what} of {_plain(figure)}",
                    mend=f"give at most {LARGEST:g}"
                    if figure.high > LARGEST
                    else "give 0 or more"
                    if least == 0
                    else "give a number above 0",
                )

    def _check_chain(self) -> None:
        steps = self.chain_steps
        if steps is not None and not 1 <= steps <= MOST_STEPS:
            raise UsageFault(f"a chain of {steps_words(steps)}", mend=f"give 1 to {MOST_STEPS}")
        if len(self.accuracies) > 1 and len(self.accuracies) != steps:
            raise UsageFault(
                f"{len(self.accuracies)} accuracies do not fit {steps_words(steps)}",
                mend="give one for all steps, or one a step",
            )
        for accuracy in self.accuracies:
            if not 0 <= accuracy.low <= accuracy.high <= 1:
                raise UsageFault(
                    f"accuracy of {_plain(accuracy)}", mend="give a share from 0 to 1: 0.64"
                )
        length = self.accept_len
        if length is not None and not 1 <= length.low <= length.high <= LARGEST:
            raise UsageFault(
                f"accept length of {_plain(length)}", mend="every cycle gives at least 1 token"
            )
        if length is not None and steps is not None and length.high > steps + 1:
            raise UsageFault(
                f"accept length of {_plain(length)} at {steps_words(steps)}",
                mend=f"{steps_words(steps)} give at most {steps + 1} tokens a cycle",
            )

    @property
    def _has_parts(self) -> bool:
        return any(part is not None for part in (self.verify_ms, self.draft_ms, self.overhead_ms))

    @property
    def chain_steps(self) -> int | None:
        """The number of steps, as given or as many as there are accuracies of their own."""
        if self.steps is None and len(self.accuracies) > 1:
            return len(self.accuracies)
        return self.steps

    def given(self) -> Given:
        """The numbers as what a prediction rests on."""
        leaves: dict[str, Resolved] = {
            one.name: figure
            for one in fields(self)
            if isinstance(figure := getattr(self, one.name), Range)
        }
        terms: dict[str, str] = {}
        missing: dict[str, str] = {}
        if self.chain_steps is None:
            missing["steps"] = "the number of steps was not given"
        for name, key in (("baseline", "baseline_tok_s"), ("target", "target_tok_s")):
            if getattr(self, name) is None:
                missing[key] = f"no {_WHAT[name]} was given"
            else:
                terms[key] = f"[{name}]"
        self._add_chain(leaves, terms, missing)
        remarks = self._add_cycle(terms, missing)

        def compute(formula: str) -> tuple[Result, Result]:
            result = evaluate(parse(formula), leaves.__getitem__)
            return result, result

        return Given(
            terms,
            missing,
            self.chain_steps,
            compute,
            self._growth,
            len(self.accuracies) < 2,
            remarks,
        )

    def _add_chain(
        self, leaves: dict[str, Resolved], terms: dict[str, str], missing: dict[str, str]
    ) -> None:
        if self.accept_len is not None:
            terms["accept_len"] = "[accept_len]"
        elif len(self.accuracies) == 1:
            leaves["accuracy"] = self.accuracies[0]
            terms["accuracy"] = "[accuracy]"
            terms["accept_len"] = "accept_length([accuracy], {steps})"
        elif self.accuracies:
            names = [f"accuracy-{number}" for number in range(1, len(self.accuracies) + 1)]
            leaves.update(zip(names, self.accuracies, strict=True))
            leaves["accept_len"] = _chain_of(names)
            terms["accept_len"] = "[accept_len]"
            missing["limit_accept_len"] = "the accuracies of further steps were not given"
        else:
            missing["accept_len"] = "neither an accept length nor an accuracy was given"

    @property
    def _growth(self) -> str | None:
        return "[draft_ms]" if self.draft_ms is not None and self.draft_ms.high > 0 else None

    def _add_cycle(self, terms: dict[str, str], missing: dict[str, str]) -> tuple[str, ...]:
        if self.cycle_ms is not None:
            terms["cycle_ms"] = "[cycle_ms]"
            return ()
        if self.verify_ms is None:
            missing["cycle_ms"] = (
                "no verify time was given, and a cycle is more than its drafts and overhead"
                if self._has_parts
                else "no cycle time was given"
            )
            if self._growth is not None:
                missing["steps_needed"] = missing["cycle_ms"]
            return ()
        fixed = "[verify_ms]" if self.overhead_ms is None else "[verify_ms] + [overhead_ms]"
        terms["cycle_ms"] = fixed
        if self.draft_ms is not None:
            terms["cycle_ms"] += " + {steps} * [draft_ms]"
        if self._growth is not None:
            # The fewest k with k + 1 >= S (verify + overhead + k draft).
            terms["steps_needed"] = (
                f"steps_needed(max(1, 1 + ({{goal_tok_s}} * ({fixed}) / 1000 - 1)"
                " / (1 - {goal_tok_s} * [draft_ms] / 1000)))"
            )
        left_out = [
            name
            for name, part in (("drafting", self.draft_ms), ("overhead", self.overhead_ms))
            if part is None
        ]
        if not left_out:
            return ()
        return (
            f"The cycle leaves {' and '.join(left_out)} out, not given: the true rates are lower.",
        )


def _chain_of(names: list[str]) -> Expression:
    """1 + a1 (1 + a2 (1 + …)), the accept length of a chain with an accuracy a step."""
    one = Number("1")
    length: Node = one
    for name in reversed(names):
        length = Operation(("+",), (one, Operation(("*",), (Reference(name), length))))
    return Expression(length, "")


def _plain(figure: Range) -> str:
    return f"{figure.low:g}" if figure.is_exact else f"{figure.low:g} to {figure.high:g}"
