"""What is planned, believed, asked and decided: approaches, evaluations, assumptions, questions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gamekit.findings.base import Finding, FindingId, Known, KnownLine, Line, Strict, Text, Unknown
from gamekit.findings.claims import Formula

WorkItem = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z0-9][a-z0-9-]*$")]


class Outcome(Strict):
    """Where one outcome of a gate leads."""

    text: Text
    next: list[FindingId] = Field(
        default_factory=list, description="Approaches or evaluations to go on with."
    )


class Gate(Strict):
    """A predicate over findings that decides how to go on once its inputs are known."""

    title: Line
    predicate: Formula = Field(
        description="A comparison of formulas, such as '[probe] >= [break-even]'."
    )
    if_holds: Outcome
    if_fails: Outcome


class Approach(Finding):
    """An option: named work items, what it includes and depends on, and its gates."""

    kind: Literal["approach"]
    label: Line = Field(description="Short name that people use, such as 'A'.")
    state: Literal["proposed", "running", "done", "abandoned"]
    why: Text
    work: dict[WorkItem, Text] = Field(
        min_length=1, description="Work items of its own: name and what is done."
    )
    includes: list[FindingId] = Field(
        default_factory=list, description="Approaches whose work items are part of this one."
    )
    depends_on: list[FindingId] = Field(
        default_factory=list, description="Findings that must hold or be done first."
    )
    gates: list[Gate] = Field(default_factory=list)
    effort: KnownLine
    effort_hours: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Known effort, for the order."
    )
    confidence: KnownLine


class Evaluation(Finding):
    """A run to be made, running or done: its command, and what its outcome will settle."""

    kind: Literal["evaluation"]
    state: Literal["planned", "running", "done"] | Unknown
    purpose: Text
    command: Text | Unknown
    series: list[FindingId] = Field(
        default_factory=list, description="Series that its results join."
    )
    settles: list[FindingId] = Field(
        default_factory=list, description="Assumptions, questions, approaches it settles."
    )
    results: list[FindingId] = Field(default_factory=list, description="What came out, once done.")


class Assumption(Finding):
    """Believed and untested, with what rests on it and what would test it."""

    kind: Literal["assumption"]
    statement: Text
    if_wrong: Known
    tested_by: list[FindingId] = Field(
        default_factory=list, description="Evaluations or approaches that test it."
    )


class Question(Finding):
    """What nobody knows yet, why it matters and what would settle it."""

    kind: Literal["question"]
    question: Text
    why_it_matters: Text
    settled_by: list[FindingId] = Field(default_factory=list)
    settle: Known = Field(description="What to do to settle it.")


class Decision(Finding):
    """What was decided, why, and what would reopen it."""

    kind: Literal["decision"]
    decision: Text
    why: Text
    based_on: list[FindingId] = Field(default_factory=list)
    reopen_when: Known
