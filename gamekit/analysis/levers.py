"""The levers side by side: what each buys at its plausible best, and where the ceiling stands then.

Every lever moves one thing and leaves the rest as it is. With L tokens in a cycle of T ms the rate
is L/T, and a chain of k draft steps cannot pass (k + 1)/T (see ``gamekit.speculation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gamekit.analysis.chain import Chain, chain_in_use, cycle_at
from gamekit.analysis.derived import Derived, Relation, derive, missing, relation
from gamekit.analysis.options import Option
from gamekit.findings import Measurement
from gamekit.knowledge import Knowledge
from gamekit.numbers import number
from gamekit.speculation import accuracy_for

LeverName = Literal[
    "accept_length", "shorter_verify", "more_steps", "less_overhead", "all_together"
]


@dataclass(frozen=True)
class Lever:
    """One lever. Rates are in tok/s.

    ``best`` says how far it goes, and ``assumption`` on what that rests, both as texts in which
    ``[[id]]`` names a finding. ``rate`` is the rate then, ``gain`` what that is more than now,
    ``ceiling`` the rate if every draft were right then. ``uses`` are the findings it is computed
    from.
    """

    name: LeverName
    title: str
    best: str
    assumption: str
    uses: tuple[str, ...]
    rate: Derived
    gain: Derived
    ceiling: Derived
    against_baseline: Relation
    ceiling_against_target: Relation

    def as_json(self) -> dict[str, Any]:
        """The lever as plain data; a figure that does not exist is None, ``why_not`` says why."""
        return {
            "lever": self.name,
            "best": self.best,
            "assumption": self.assumption,
            "uses": list(self.uses),
            "rate": self.rate.as_json(),
            "gain": self.gain.as_json(),
            "ceiling": self.ceiling.as_json(),
            "why_not": self.rate.why_not,
            "against_baseline": self.against_baseline,
            "ceiling_against_target": self.ceiling_against_target,
        }


def levers(knowledge: Knowledge, options: Sequence[Option]) -> list[Lever]:
    """All levers, each alone and then all together; nothing without a model in ``gamekit.yaml``.

    ``options`` are the published drafters, as ``options.options`` finds them.
    """
    chain = chain_in_use(knowledge)
    return [] if chain is None else _Levers(knowledge, chain, options).all()


# An accept length by id, its draft steps, and what it was measured on.
_Published = tuple[str, int | None, str]


@dataclass(frozen=True)
class _Way:
    """A part of a formula (or why there is none), how far it goes in words, and the assumption."""

    formula: str | None
    best: str
    assumption: str


class _Levers:
    def __init__(self, knowledge: Knowledge, chain: Chain, options: Sequence[Option]) -> None:
        self._knowledge = knowledge
        self._chain = chain
        self._options = options
        roles = chain.roles
        self._steps = chain.steps
        self._length = f"[{roles.accept_length}]"
        self._cycle = f"[{roles.cycle_time}]"
        self._now = f"{self._length} / {self._cycle} * 1000"

    def all(self) -> list[Lever]:
        """The four levers, and all of them at once."""
        steps, length, cycle = self._steps, self._length, self._cycle
        higher = self._higher_accept_length(steps)
        verify = self._shorter_verify()
        more = self._more_steps()
        overhead = self._no_overhead()
        longer = None if steps is None else steps + 1
        longer_cycle = cycle
        if longer is not None:
            longer_cycle = f"[{cycle_at(self._knowledge, self._chain, longer).id}]"
        return [
            self._lever("accept_length", "Raise accept length", higher, steps, cycle),
            self._lever("shorter_verify", "Shorten verify", verify, steps, None, length),
            self._lever("more_steps", "More draft steps", more, longer, longer_cycle),
            self._lever("less_overhead", "Less overhead", overhead, steps, None, length),
            self._together(longer, verify),
        ]

    # How far each lever goes

    def _higher_accept_length(self, steps: int | None) -> _Way:
        named = self._chain.roles.levers.accept_length
        ranked = self._published() if named is None else [self._measured(named)]
        if not ranked:
            return _Way(None, "nothing is published for the target", "")
        name, at, workload = ranked[0]
        if steps is None or at is None:
            return _Way(None, f"[[{name}]]; its draft steps or ours are not told", "")
        formula = _carried(name, at, steps)
        if steps == at:
            told, uniform = f"[[{name}]] on {workload}", ""
        else:
            carried = derive(self._knowledge, formula, "tok/cycle").known
            over = "unknown" if carried is None else number(carried.mid)
            told = f"[[{name}]] on {workload} ({at} steps; {over} over {steps})"
            uniform = ", all steps equally accurate"
        return _Way(formula, told, f"Reached here too{uniform}.{self._least(ranked, steps)}")

    def _least(self, ranked: list[_Published], steps: int) -> str:
        """What the lowest accept length of the same drafter would give: prompts differ much."""
        name, at, workload = ranked[-1]
        if len(ranked) == 1 or at is None:
            return ""
        rate = f"{_carried(name, at, steps)} / {self._cycle} * 1000"
        given = derive(self._knowledge, rate, "tok/s").words
        return f" On {workload} it has [[{name}]]: {given}."

    def _shorter_verify(self) -> _Way:
        roles = self._chain.roles
        short, now = roles.levers.shorter_verify, roles.verify_time
        if short is None or now is None:
            return _Way(None, "no verify time that could be reached is known", "")
        # That it is superseded or disputed stands beside each mention of it.
        unreproduced = "unreproduced" in self._knowledge.standing(short).statuses
        doubt = " That figure was not reproduced." if unreproduced else ""
        return _Way(
            f"([{short}] + [{roles.cycle_time}] - [{now}])",
            f"[[{short}]] in place of [[{now}]]",
            f"The rest of a cycle stays.{doubt}",
        )

    def _more_steps(self) -> _Way:
        steps = self._steps
        if steps is None:
            return _Way(None, "the draft steps in use are not told", "")
        chain, more = self._chain, steps + 1
        longer = f"accept_length(accuracy_for({self._length}, {steps}), {more})"
        cycle = cycle_at(self._knowledge, chain, more)
        same = "Steps as accurate as now."
        if cycle.is_measured:
            return _Way(longer, f"{more} steps in [[{cycle.id}]]", same)
        stops = derive(self._knowledge, f"{longer} / ({self._now}) * 1000", "ms").words
        return _Way(
            longer,
            f"{more} steps at an unchanged cycle",
            f"{same} No gain left at a cycle of {stops}.",
        )

    def _no_overhead(self) -> _Way:
        now = self._chain.roles.verify_time
        if now is None:
            return _Way(None, "no verify time is known", "")
        return _Way(
            f"[{now}]",
            f"a cycle of [[{now}]] alone",
            "Drafting and streaming cost nothing: a bound.",
        )

    def _together(self, steps: int | None, verify: _Way) -> Lever:
        short = self._chain.roles.levers.shorter_verify
        higher = self._higher_accept_length(steps)
        way = _Way(
            higher.formula if short is not None and verify.formula else None,
            higher.best
            if short is None
            else f"{steps} steps of the best drafter in [[{short}]] alone",
            "All in our favour: a bound.",
        )
        cycle = None if short is None else f"[{short}]"
        return self._lever("all_together", "All at once", way, steps, cycle)

    def _published(self) -> list[_Published]:
        """The accept lengths of the drafter with the best one, as accuracies, from the best on."""
        drafters: list[list[tuple[float, _Published]]] = []
        for option in self._options:
            rows = []
            for row in option.workloads:
                length = row.accept_length.known
                if length is not None and 1 <= length.mid <= option.steps + 1:
                    accuracy = accuracy_for(length.mid, option.steps)
                    rows.append((accuracy, (row.record.id, option.steps, row.name)))
            if rows:
                drafters.append(sorted(rows, key=lambda row: (-row[0], row[1][0])))
        if not drafters:
            return []
        return [row for _, row in max(drafters, key=lambda rows: rows[0][0])]

    def _measured(self, name: str) -> _Published:
        finding = self._knowledge.record(name).finding
        if not isinstance(finding, Measurement):
            return name, self._steps, "its own workload"
        return name, finding.subject.steps, finding.subject.workload or "its own workload"

    # What it gives

    def _lever(
        self,
        name: LeverName,
        title: str,
        way: _Way,
        steps: int | None,
        cycle: str | None,
        length: str | None = None,
    ) -> Lever:
        """``way`` is the new accept length at ``cycle``, or the new cycle at ``length``."""
        figures = [missing(way.best, "tok/s")] * 3
        uses: tuple[str, ...] = ()
        if way.formula is not None and (cycle or length):
            new_length, new_cycle = (length or way.formula), (cycle or way.formula)
            formula = f"{new_length} / {new_cycle} * 1000"
            figures = [
                derive(self._knowledge, formula, "tok/s"),
                derive(self._knowledge, f"{formula} - {self._now}", "tok/s"),
                missing("the draft steps in use are not told", "tok/s")
                if steps is None
                else derive(self._knowledge, f"{steps + 1} / {new_cycle} * 1000", "tok/s"),
            ]
            uses = self._knowledge.ids_of(figures[1].formula)
        rate, gain, ceiling = figures
        roles = self._chain.roles
        target = None
        if roles.target_rate is not None:
            target = self._knowledge.figure(roles.target_rate).known
        return Lever(
            name,
            title,
            way.best,
            way.assumption,
            uses,
            rate,
            gain,
            ceiling,
            relation(rate.known, self._knowledge.figure(roles.baseline).known),
            relation(ceiling.known, target),
        )


def _carried(name: str, at: int, steps: int) -> str:
    """An accept length over ``at`` steps, as it would be over ``steps`` of the same accuracy."""
    return f"[{name}]" if at == steps else f"accept_length(accuracy_for([{name}], {at}), {steps})"
