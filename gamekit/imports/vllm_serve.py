"""Reads the JSON that vllm bench serve saves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gamekit.imports.counted import completed_of
from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Fields, Given, is_infinite
from gamekit.imports.sglang_engine import is_stand_in

NAME = "vllm bench serve"
_NEEDED = ("model_id", "completed", "mean_ttft_ms", "mean_tpot_ms", "num_prompts", "duration")
_WHOLE = "over the whole run, its beginning and end and all prefills included"
_LENGTH = "spec_decode_acceptance_length"
_FIGURES = (
    ("mean_ttft_ms", "ttft", "mean over requests, by the client", True),
    (
        "mean_tpot_ms",
        "time_per_output_token",
        "mean over requests of (latency - ttft)/(output tokens - 1)",
        True,
    ),
    ("mean_e2el_ms", "request_latency", "mean over requests, by the client", True),
    ("request_throughput", "request_rate", f"completed requests {_WHOLE}", False),
    ("output_throughput", "output_throughput", f"output tokens {_WHOLE}", False),
    (
        _LENGTH,
        "accept_length",
        "1 + accepted drafts over drafting steps, by the server's counters over the run",
        True,
    ),
)
_BY_POSITION = "spec_decode_per_position_acceptance_rates"
_DRAFTS, _DRAFTED, _ACCEPTED = (
    f"spec_decode_{name}" for name in ("num_drafts", "draft_tokens", "accepted_tokens")
)
# All are of the same counters; files differ in how many digits they keep.
_APART = 0.05
_NEVER = {
    "max_output_tokens_per_s": "counts chunks, not tokens",
    "mean_itl_ms": "is of chunks, which hold several tokens under speculation",
}


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if given.whole is None:
        return "it is no JSON object"
    missing = [name for name in _NEEDED if name not in given.whole.data]
    return f"it has no {missing[0]}" if missing else None


def parse(given: Given) -> Taken:
    """The figures of the file. Raises ``UsageFault``."""
    fields = given.whole
    if fields is None:
        raise given.fault(1, "it is no JSON object", "import the file as its tool wrote it")
    completed = completed_of(fields)
    shares = fields.numbers(_BY_POSITION)
    _agrees(fields, shares)
    subject, parameters = _subject(fields)
    figures = [
        Figure(
            key=metric,
            place=name,
            metric=metric,
            value=value,
            convention=convention,
            line=1,
            subject=subject,
            parameters=parameters,
            count=completed if name.startswith("mean_") else None,
            joins=joins,
        )
        for name, metric, convention, joins in _FIGURES
        if (value := fields.number(name))
    ]
    figures += [
        Figure(
            key=f"cumulative_acceptance.{step}",
            place=f"{_BY_POSITION}[{step - 1}]",
            metric="cumulative_acceptance",
            value=share,
            convention="share of drafting steps that accepted this many drafts or more",
            line=1,
            subject=subject,
            parameters={**parameters, "draft_step": step},
        )
        for step, share in enumerate(shares, start=1)
    ]
    taken = {name for name, *_ in _FIGURES} | {_BY_POSITION}
    return Taken(
        NAME,
        tuple(figures),
        aside={name: value for name, value in fields.data.items() if name not in taken},
        left_out=tuple(f"{n}: {why}" for n, why in _NEVER.items() if fields.data.get(n)),
        stand_in=is_stand_in(fields.data.get("model_id")),
    )


def _agrees(fields: Fields, shares: Sequence[float]) -> None:
    """Raise ``UsageFault`` for acceptance that cannot be of one run.

    A position is accepted only behind those before it, the length is 1 and the sum of the shares,
    and what was accepted had been drafted.
    """
    if any(later > before for before, later in pairwise(shares)):
        raise fields.wrong(_BY_POSITION, "no share of each position: it rises")
    length = fields.number(_LENGTH) or None
    if length is not None and shares and abs(length - 1 - sum(shares)) > _APART:
        raise fields.wrong(_LENGTH, f"not 1 and the sum of {_BY_POSITION}, {1 + sum(shares):.4g}")
    drafts, drafted, accepted = (fields.count(name) for name in (_DRAFTS, _DRAFTED, _ACCEPTED))
    if accepted is not None and drafted is not None and accepted > drafted:
        raise fields.wrong(_ACCEPTED, f"more than {_DRAFTED}, {drafted}")
    if length is not None and drafts and accepted is not None:
        told = 1 + accepted / drafts
        if abs(length - told) > _APART:
            raise fields.wrong(_LENGTH, f"not 1 + {_ACCEPTED} / {_DRAFTS}, {told:.4g}")


def _subject(fields: Fields) -> tuple[dict[str, Field], dict[str, Field]]:
    subject: dict[str, Field] = {"api": "openai"}
    if target := fields.text("model_id"):
        subject["target"] = target
    if is_infinite(fields.data.get("request_rate")):
        if most := fields.count("max_concurrency"):
            subject["concurrency"] = most
        return subject, {}
    rate = fields.number("request_rate")
    return subject, {} if rate is None else {"request_rate": rate}
