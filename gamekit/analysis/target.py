"""Can any drafter give the target rate on this host, and what must change for it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gamekit.analysis.chain import Chain, chain_in_use, cycle_at
from gamekit.analysis.derived import Derived, derive, relation
from gamekit.knowledge import Knowledge

Answer = Literal["no drafter can", "some drafter could", "not decided", "unknown"]
MORE_STEPS = 3


@dataclass(frozen=True)
class Need:
    """What a chain of ``steps`` asks for, in a cycle (an id): its own, or that of the chain in use.

    ``ceiling`` (tok/s) and ``accuracy`` (%) are at that cycle; ``longest_cycle`` (ms) is the
    longest at which the target rate exists, for a drafter that is always right.
    """

    steps: int
    cycle: str
    cycle_is_measured: bool
    ceiling: Derived
    accuracy: Derived
    longest_cycle: Derived


@dataclass(frozen=True)
class TargetAnswer:
    """The answer for the chain in use, with its ceiling, then what each longer chain asks for."""

    target: str
    answer: Answer
    needs: tuple[Need, ...]

    @property
    def now(self) -> Need:
        """What the chain in use asks for."""
        return self.needs[0]


def answer(knowledge: Knowledge) -> TargetAnswer | None:
    """Whether the ceiling of the chain in use reaches the target rate, over stated ranges.

    None where ``gamekit.yaml`` names no target rate, or nobody said how many draft steps there are.
    """
    chain = chain_in_use(knowledge)
    if chain is None or chain.roles.target_rate is None or chain.steps is None:
        return None
    needs = tuple(
        _need(knowledge, chain, chain.roles.target_rate, steps)
        for steps in range(chain.steps, chain.steps + 1 + MORE_STEPS)
    )
    lies = relation(needs[0].ceiling.known, knowledge.figure(chain.roles.target_rate).known)
    answers: dict[str, Answer] = {
        "below": "no drafter can",
        "above": "some drafter could",
        "not clearly apart from": "not decided",
        "unknown against": "unknown",
    }
    return TargetAnswer(chain.roles.target_rate, answers[lies], needs)


def _need(knowledge: Knowledge, chain: Chain, target: str, steps: int) -> Need:
    cycle = cycle_at(knowledge, chain, steps)
    return Need(
        steps,
        cycle.id,
        cycle.is_measured,
        derive(knowledge, f"{steps + 1} / [{cycle.id}] * 1000", "tok/s"),
        derive(knowledge, f"accuracy_for([{target}] * [{cycle.id}] / 1000, {steps}) * 100", "%"),
        derive(knowledge, f"{steps + 1} / [{target}] * 1000", "ms"),
    )
