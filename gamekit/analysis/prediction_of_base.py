"""What the speculation model says about a knowledge base, by the roles that gamekit.yaml gives."""

from __future__ import annotations

from gamekit.analysis.chain import chain_in_use
from gamekit.analysis.prediction import OUTPUTS, Given
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
    return Given(terms, missing, steps, knowledge.derived, findings=findings)
