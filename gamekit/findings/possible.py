"""Which figures a metric can have at all, whoever measured it."""

from __future__ import annotations

from gamekit.findings.subject import Subject
from gamekit.metrics import METRICS

_SHARES = ("conditional_accuracy", "cumulative_acceptance", "goodput_share")
_MAY_BE_0 = (
    "client_time_per_chunk",
    "client_queueing_delay",
    "goodput",
    # Of a load in whose steady state no request succeeded.
    "request_rate",
    "output_throughput",
)
# A mean of whole numbers at their limit may miss it by the last bits of a float.
_SLACK = 1e-9


def why_impossible(  # noqa: PLR0911 - one return a reason
    metric: str, figure: float, subject: Subject
) -> str | None:
    """Why ``metric`` cannot be ``figure`` for ``subject``; None when it can.

    A cycle brings the token that the target itself gives and at most one for each draft step, so an
    accept length is 1 to steps + 1. Shares are 0 to 1, times and rates are above 0, except what a
    client adds, which a clock may not see, and the rates of a load. Of a metric that gamekit does
    not know nothing is said: a difference may be negative.
    """
    if metric not in METRICS:
        return None
    if metric == "accept_length":
        if figure < 1 - _SLACK:
            return "a cycle brings at least 1 token"
        longest = _longest(subject)
        if longest is not None and figure > longest * (1 + _SLACK):
            return f"a cycle of {longest - 1} draft steps brings at most {longest} tokens"
        return None
    if metric in _SHARES:
        return None if 0 <= figure <= 1 + _SLACK else "a share lies between 0 and 1"
    if figure > 0 or (figure == 0 and metric in _MAY_BE_0):
        return None
    return f"it cannot be {'0' if figure == 0 else 'negative'}"


def _longest(subject: Subject) -> int | None:
    """The most tokens that one cycle can bring, in tokens; None when nobody knows."""
    if subject.steps is not None:
        return subject.steps + 1
    # Only a chain drafts one token a step.
    return subject.draft_tokens if subject.topk == 1 and subject.draft_tokens else None
