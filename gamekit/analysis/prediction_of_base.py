"""What the speculation model says about a knowledge base, by the roles that gamekit.yaml gives."""

from __future__ import annotations

from collections.abc import Iterator

from gamekit import numbers
from gamekit.analysis.chain import Chain, chain_in_use, subject_field, target_name
from gamekit.analysis.cycle_estimates import stands
from gamekit.analysis.prediction import Given, steps_words
from gamekit.findings import Measurement
from gamekit.formula import Known
from gamekit.knowledge import Knowledge


def given_by(knowledge: Knowledge) -> Given:
    """The findings that play a part in the model, as what a prediction rests on.

    One that gamekit.yaml does not name is missing.
    """
    chain = chain_in_use(knowledge)
    roles = None if chain is None else chain.roles
    named = {
        "accept_len": ("accept_length", None if roles is None else roles.accept_length),
        "cycle_ms": ("cycle_time", None if roles is None else roles.cycle_time),
        "baseline_tok_s": ("baseline", None if roles is None else roles.baseline),
        "target_tok_s": ("target_rate", None if roles is None else roles.target_rate),
    }
    terms: dict[str, str] = {}
    missing: dict[str, str] = {}
    findings: dict[str, str] = {}
    for key, (role, name) in named.items():
        if name is None:
            missing[key] = f"gamekit.yaml names no finding for model.{role}"
            continue
        findings[role] = name
        terms[key] = f"[{name}]"
    steps = None if chain is None else chain.steps
    if steps is None:
        missing["steps"] = "the findings do not say how many draft steps there are"
    return Given(
        terms,
        missing,
        steps,
        knowledge.derived,
        remarks=() if chain is None else tuple(doubts(knowledge, chain)),
        findings=findings,
    )


def doubts(knowledge: Knowledge, chain: Chain) -> Iterator[str]:
    """What does not fit together among the findings that play the parts."""
    roles = chain.roles
    for role, name in (
        ("speculative_rate", roles.speculative_rate),
        ("cycle_time", roles.cycle_time),
        ("break_even", roles.break_even),
    ):
        other = None if name is None else subject_field(knowledge, name, "steps")
        if None not in (other, chain.steps) and other != chain.steps:
            yield (
                f"{roles.accept_length} is of {steps_words(chain.steps)} and {name}, as"
                f" {role.replace('_', ' ')}, of {other} steps: what rests on both is of neither."
            )
    yield from _doubts_of_the_cycle(knowledge, chain)
    if roles.break_even is None:
        return
    told = knowledge.figure(roles.break_even).known
    computed, _ = knowledge.derived(f"[{roles.baseline}] * [{roles.cycle_time}] / 1000")
    if told is not None and isinstance(computed, Known) and told != computed.range:
        yield (
            f"{roles.break_even} says {numbers.span(told)} tok/cycle; baseline and cycle give"
            f" {numbers.span(computed.range)}, and that is what is taken here."
        )


def _doubts_of_the_cycle(knowledge: Knowledge, chain: Chain) -> Iterator[str]:
    """Where the cycle that is used cannot be, or was measured as another."""
    roles = chain.roles
    used = knowledge.figure(roles.cycle_time).known
    if used is None:
        return
    verify = None if roles.verify_time is None else knowledge.figure(roles.verify_time).known
    if verify is not None and used.high < verify.low:
        yield (
            f"{roles.cycle_time} is {numbers.span(used)} ms, less than the {numbers.span(verify)}"
            f" ms of {roles.verify_time} that is a part of it: one of the two is wrong."
        )
    for record in knowledge.of_kind("measurement"):
        finding = record.finding
        assert isinstance(finding, Measurement)  # noqa: S101 - asked for by kind
        here = {"target": target_name(chain), "host": chain.host, "steps": chain.steps}
        if (
            finding.metric == "cycle_time"
            and stands(knowledge, record)
            and all(getattr(finding.subject, name) == value for name, value in here.items())
            and not finding.value.stated().overlaps(used)
        ):
            yield (
                f"{record.id} measured a cycle of {numbers.span(finding.value.stated())} ms, and"
                f" {roles.cycle_time} gives {numbers.span(used)}: model.cycle_time in gamekit.yaml"
                " decides which is used."
            )
