"""A small knowledge base with a speculation model, whose figures are easy to work out by hand."""

from __future__ import annotations

from typing import Any

from knowledge.bases import Data, finding, known, measurement, published, series

from gamekit.knowledge import Knowledge

HOST = {"target": "model-x", "host": "box"}
CONFIG: Data = {
    "model": {
        "baseline": "base",
        "speculative_rate": "spec",
        "cycle_time": "cycle",
        "accept_length": "length",
        "verify_time": "verify",
        "target_rate": "wanted",
        "target_model": "target",
        "levers": {"shorter_verify": "verify-once"},
    }
}


def figure(name: str, value: float, unit: str, metric: str, **subject: Any) -> Data:
    return measurement(
        name, {"value": value, "unit": unit}, metric=metric, subject={**HOST, **subject}
    )


def drafter(name: str, **fields: Any) -> Data:
    return finding(
        "model",
        name,
        **{
            "role": "drafter",
            "name": f"org/{name}",
            "architecture": "EAGLE-3",
            "drafts_for": "target",
            **fields,
        },
    )


def card(name: str, of: str, length: float, workload: str, steps: int = 3, **subject: Any) -> Data:
    """An accept length from the card of drafter ``of``."""
    return measurement(
        name,
        {"value": length, "unit": "tok/cycle"},
        metric="accept_length",
        source=published(),
        subject={
            "target": "model-x",
            "drafter": f"org/{of}",
            "steps": steps,
            "workload": workload,
            **subject,
        },
    )


# Two steps: 2.0 tokens in a cycle of 40 ms is 50 tok/s; verify takes 30 of the 40 ms.
HERE = (
    figure("base", 75, "tok/s", "decode_rate"),
    figure("spec", 50, "tok/s", "decode_rate", steps=2),
    figure("cycle", 40, "ms", "cycle_time", steps=2),
    figure("length", 2.0, "tok/cycle", "accept_length", steps=2, drafter="org/own"),
    figure("verify", 30, "ms", "verify_time", steps=2),
    figure("verify-once", 15, "ms", "verify_time", steps=2),
    figure("wanted", 150, "tok/s", "decode_rate"),
    finding("model", "target", role="target", name="model-x"),
    drafter("own"),
    drafter("theirs"),
    drafter("other", architecture="EAGLE-3 with MLA", notes="Needs another engine."),
    drafter("elsewhere", drafts_for="target-y"),
    finding("model", "target-y", role="target", name="model-y"),
    card("theirs-chat", "theirs", 2.7, "chat"),
    card("theirs-code", "theirs", 3.5, "code"),
    card("other-chat", "other", 3.2, "chat"),
    card("elsewhere-chat", "elsewhere", 3.9, "chat", target="model-y"),
)
THREE_STEPS = series(
    "cycle-3",
    metric="cycle_time",
    unit="ms",
    better="lower",
    match={**HOST, "steps": 3},
)


def decided(*parts: Data, without: tuple[str, ...] = (), **roles: Any) -> Knowledge:
    """The base, with ``parts`` more, ``without`` some, and other ``roles`` (None takes one out)."""
    model = {**CONFIG["model"], **roles}
    kept = [part for part in HERE if part["id"] not in without]
    config = {"model": {role: name for role, name in model.items() if name is not None}}
    return known(*kept, *parts, config=config)
