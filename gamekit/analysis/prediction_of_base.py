"""What the speculation model says about a knowledge base, by the roles that gamekit.yaml gives."""

from __future__ import annotations

from collections.abc import Iterator

from gamekit import numbers
from gamekit.analysis.chain import Chain, chain_in_use, subject_field
from gamekit.analysis.prediction import OUTPUTS, Given, steps_words
from gamekit.formula import Known
from gamekit.knowledge import Knowledge


def given_by(knowledge: Knowledge) -> Given:
    """The findings that play a part in the model, as what a prediction rests on.

    One that gamekit.yaml does not name, or whose unit is another than the model's, is missing.
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
        unit = knowledge.figure(name).unit
        if unit == OUTPUTS[key].unit:
            terms[key] = f"[{name}]"
        else:
            missing[key] = f"{name} is in {unit}, not in {OUTPUTS[key].unit}"
    steps = None if chain is None else chain.steps
    if steps is None:
        missing["steps"] = "the findings do not say how many draft steps there are"
    return Given(
        terms,
        missing,
        steps,
        knowledge.derived,
        remarks=() if chain is None else tuple(_doubts(knowledge, chain)),
        findings=findings,
    )


def _doubts(knowledge: Knowledge, chain: Chain) -> Iterator[str]:
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
    if roles.break_even is None:
        return
    told = knowledge.figure(roles.break_even).known
    computed, _ = knowledge.derived(f"[{roles.baseline}] * [{roles.cycle_time}] / 1000")
    if told is not None and isinstance(computed, Known) and told != computed.range:
        yield (
            f"{roles.break_even} says {numbers.span(told)} tok/cycle; baseline and cycle give"
            f" {numbers.span(computed.range)}, and that is what is taken here."
        )
