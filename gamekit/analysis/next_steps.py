"""What to do now, why, by which command, and which outcome leads where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gamekit.analysis import approaches, gates
from gamekit.analysis.gates import GateResult
from gamekit.analysis.shifts import OpenShifts, counted, open_shifts
from gamekit.analysis.texts import plain
from gamekit.findings import Approach, Assumption, Evaluation, Finding, Outcome, Question
from gamekit.formula import UnknownResult
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record

StepKind = Literal["review", "measure again", "gate", "evaluation", "approach", "question"]


@dataclass(frozen=True)
class Lead:
    """An outcome and what follows from it; ``next`` are ids to go on with.

    ``outcome`` and ``then`` are texts in which ``[[id]]`` names a finding.
    """

    outcome: str
    then: str
    next: tuple[str, ...] = ()


@dataclass(frozen=True)
class NextStep:
    """One thing to do. ``id`` is the finding or run it is about, ``why`` texts as in ``Lead``.

    ``command`` is None where no command does it, or nobody told it. ``settles`` are the ids of the
    assumptions and questions that it answers, ``decides`` those of approaches with a gate that
    waits for it.
    """

    kind: StepKind
    id: str
    title: str
    why: tuple[str, ...]
    command: str | None
    leads: tuple[Lead, ...]
    settles: tuple[str, ...] = ()
    decides: tuple[str, ...] = ()

    def as_json(self, knowledge: Knowledge) -> dict[str, Any]:
        """The step as plain data, its texts with figures and titles in place of ``[[id]]``."""

        def told(text: str) -> str:
            return plain(knowledge, text)

        return {
            "kind": self.kind,
            "id": self.id,
            "title": told(self.title),
            "why": [told(text) for text in self.why],
            "command": self.command,
            "outcomes": [
                {"outcome": told(lead.outcome), "then": told(lead.then), "next": list(lead.next)}
                for lead in self.leads
            ],
            "settles": list(self.settles),
        }


def next_steps(knowledge: Knowledge, *, of_runs: bool = True) -> list[NextStep]:
    """What is open, in the order to do it.

    First what makes figures doubtful that everything else rests on: declared series that shifted
    without a review, and key numbers that were not reproduced. Then what decided gates lead to.
    Then the evaluations, running or planned, that decide an open gate, assumption or question or
    give a figure that a gate waits for, in the order of the findings; the first open approach, at
    its first item that is not done, comes before the evaluation that decides its gates. Then the
    questions that no open evaluation answers. Last, in one step, the series that runs began and
    that shifted: no document rests on them. Without ``of_runs`` that step is left out.
    """
    evaluations = _evaluations(knowledge)
    told = {lead for step in evaluations for lead in step.leads}
    steps = list(evaluations)
    for step in _approach(knowledge, told):
        deciding = (number for number, one in enumerate(evaluations) if step.id in one.decides)
        steps.insert(next(deciding, len(evaluations)), step)
    steps += _questions(knowledge, {name for step in evaluations for name in step.settles})
    shifts = open_shifts(knowledge)
    last = _shifted_between_runs(shifts) if of_runs else []
    return [*_shifted(shifts), *_unreproduced(knowledge), *_decided(knowledge), *steps, *last]


def _shifted(shifts: OpenShifts) -> list[NextStep]:
    steps = []
    for record, shift in shifts.single:
        if record.run is not None:  # no document rests on it
            continue
        before, after = shift.before.id, shift.after.id
        differ = shift.environments.in_words()
        steps.append(
            NextStep(
                "review",
                record.id,
                f"Settle the shift of: {record.finding.title}",
                (f"[[{after}]] disagrees with [[{before}]] before it; {differ}.",),
                f"gamekit show {record.id}",
                (
                    Lead("the new figure is right", f"a review that supersedes {before}"),
                    Lead("it was a disturbance", f"a review that disputes {after}"),
                ),
            )
        )
    return steps


def _shifted_between_runs(shifts: OpenShifts) -> list[NextStep]:
    """One step for all series that runs began, the pair of runs with most of them first."""
    pairs = shifts.between_runs.most_common()
    if not pairs:
        return []
    total = sum(count for _, count in pairs)
    return [
        NextStep(
            "review",
            pairs[0][0][1],
            f"Look at what shifted between runs: {counted(total)}",
            tuple(f"{count} from {one} to {other}." for (one, other), count in pairs),
            "\n".join(f"gamekit compare {one} {other}" for (one, other), _ in pairs),
            (
                Lead("what differs explains it", "a review that supersedes the older figure"),
                Lead("it was a disturbance", "a review that disputes the disturbed figure"),
            ),
        )
    ]


def _unreproduced(knowledge: Knowledge) -> list[NextStep]:
    steps = []
    for name in knowledge.config.key_numbers:
        record = knowledge.record(name)
        figure = knowledge.figure(name).record
        if figure is None or "unreproduced" not in knowledge.standing(figure.id).statuses:
            continue
        measuring = [
            other.id
            for other in knowledge.of_kind("evaluation")
            if isinstance(other.finding, Evaluation) and name in other.finding.series
        ]
        steps.append(
            NextStep(
                "measure again",
                name,
                f"Measure again: {record.finding.title}",
                (f"[[{figure.id}]] counts, and later runs did not reproduce it.",),
                f"gamekit show {measuring[0] if measuring else name}",
                (
                    Lead("it comes back", "a review that says: reproduces"),
                    Lead("it does not", "the new figure counts, and what rests on it moves"),
                ),
            )
        )
    return steps


def _decided(knowledge: Knowledge) -> list[NextStep]:
    """What the gates of open approaches lead to, where their figures are known."""
    return [
        NextStep(
            "gate",
            result.record.id,
            f"{result.gate.title} {'Yes' if result.outcome == 'holds' else 'No'}:"
            f" {result.applies.text}",
            (result.explanation, *_next_of(result.applies)),
            None,
            (),
        )
        for placed in approaches.order(knowledge).open
        for result in gates.evaluate(knowledge, placed.record.id)
        if result.outcome in ("holds", "fails") and result.applies is not None
    ]


def _next_of(outcome: Outcome) -> list[str]:
    return [f"Go on with {_listed(outcome.next)}."] if outcome.next else []


def _evaluations(knowledge: Knowledge) -> list[NextStep]:
    open_gates = [
        result
        for placed in approaches.order(knowledge).open
        for result in gates.evaluate(knowledge, placed.record.id)
        if result.outcome in ("unknown", "undecided")
    ]
    steps = []
    for record in knowledge.of_kind("evaluation"):
        evaluation = record.finding
        assert isinstance(evaluation, Evaluation)  # noqa: S101 - asked for by kind
        if (
            evaluation.state not in ("planned", "running")
            or not knowledge.standing(record.id).current
        ):
            continue
        decided = [gate for gate in open_gates if _waits_for(knowledge, gate, evaluation)]
        settled = _settled(knowledge, record)
        empty = [name for name in evaluation.series if knowledge.series(name).current is None]
        if not (decided or settled or empty):
            continue
        command = evaluation.command if isinstance(evaluation.command, str) else None
        running = ("It runs already.",) if evaluation.state == "running" else ()
        leads = [lead for gate in decided for lead in _gate_leads(gate)]
        leads += [_if_wrong(other.finding) for other in settled if _is_assumption(other)]
        questions = [other for other in settled if not _is_assumption(other)]
        why = (*running, evaluation.purpose)
        if empty:
            why += (f"It gives the first figure of {_listed(empty)}.",)
        if questions:
            why += (f"It answers: {' '.join(other.finding.title for other in questions)}",)
        steps.append(
            NextStep(
                "evaluation",
                record.id,
                evaluation.title,
                why,
                command,
                tuple(leads),
                tuple(other.id for other in settled),
                tuple(dict.fromkeys(gate.record.id for gate in decided)),
            )
        )
    return steps


def _waits_for(knowledge: Knowledge, gate: GateResult, evaluation: Evaluation) -> bool:
    """Whether the evaluation gives what an open gate waits for.

    An unknown gate waits for the figures nobody knows; an undecided one for any that it is computed
    from.
    """
    judged, _ = knowledge.judged(gate.record.id, ("gates", gate.number, "predicate"))
    if isinstance(judged, UnknownResult):
        return bool(set(judged.ids) & set(evaluation.series))
    named = set(knowledge.formula_ids(gate.record.id, ("gates", gate.number, "predicate")))
    return any(
        series in named
        or any(item.computed and item.record.id in named for item in knowledge.dependents(series))
        for series in evaluation.series
    )


def _settled(knowledge: Knowledge, evaluation: Record) -> list[Record]:
    """The assumptions and questions that an evaluation settles, by its own word or by theirs."""
    finding = evaluation.finding
    assert isinstance(finding, Evaluation)  # noqa: S101 - callers looked
    found = []
    for kind in ("assumption", "question"):
        for record in knowledge.of_kind(kind):
            other = record.finding
            assert isinstance(other, Assumption | Question)  # noqa: S101 - asked for by kind
            by = other.tested_by if isinstance(other, Assumption) else other.settled_by
            named = record.id in finding.settles or evaluation.id in by
            if named and knowledge.standing(record.id).current:
                found.append(record)
    return found


def _gate_leads(gate: GateResult) -> list[Lead]:
    told = gate.gate
    return [
        Lead(f"{told.title} Yes", told.if_holds.text, tuple(told.if_holds.next)),
        Lead(f"{told.title} No", told.if_fails.text, tuple(told.if_fails.next)),
    ]


def _is_assumption(record: Record) -> bool:
    return isinstance(record.finding, Assumption)


def _if_wrong(finding: Finding) -> Lead:
    assert isinstance(finding, Assumption)  # noqa: S101 - callers looked
    wrong = finding.if_wrong
    then = wrong if isinstance(wrong, str) else f"Unknown: {wrong.unknown}"
    return Lead(f"\u201c{finding.title}\u201d is wrong", then)


def _approach(knowledge: Knowledge, told: set[Lead]) -> list[NextStep]:
    placed = approaches.order(knowledge).open
    if not placed:
        return []
    first = placed[0]
    approach = first.record.finding
    assert isinstance(approach, Approach)  # noqa: S101 - the order is of approaches
    done = {
        record.id
        for record in knowledge.of_kind("approach")
        if isinstance(record.finding, Approach) and record.finding.state == "done"
    }
    left = [item for item in first.items if item.own_of not in done]
    item = left[0] if left else first.items[-1]
    leads = [
        lead
        for gate in gates.evaluate(knowledge, first.record.id)
        if gate.outcome in ("unknown", "undecided")
        for lead in _gate_leads(gate)
        if lead not in told
    ]
    return [
        NextStep(
            "approach",
            first.record.id,
            f"Approach {approach.label}, {item.name}: {item.text}",
            (first.reason, approach.why),
            None,
            tuple(leads),
        )
    ]


def _questions(knowledge: Knowledge, answered: set[str]) -> list[NextStep]:
    """What is asked and no open evaluation would answer, with what is said to settle it."""
    steps = []
    for record in knowledge.of_kind("question"):
        asked = record.finding
        assert isinstance(asked, Question)  # noqa: S101 - asked for by kind
        if record.id in answered or not knowledge.standing(record.id).current:
            continue
        settle = asked.settle
        how = (
            settle
            if isinstance(settle, str)
            else f"What would settle it is unknown: {settle.unknown}"
        )
        steps.append(
            NextStep(
                "question",
                record.id,
                asked.title,
                (asked.question, asked.why_it_matters, how),
                None,
                (),
                (record.id,),
            )
        )
    return steps


def _listed(names: list[str]) -> str:
    return ", ".join(f"[[{name}]]" for name in names)
