"""One JSON event of a stream, in sglang's or OpenAI's dialect, as the same few facts."""

from __future__ import annotations

from typing import Any, NamedTuple

from gamekit.streaming.record import CountSource, SpeculationCounters

# Where a choice has the text of its tokens, reasoning included; what it calls tools with, too.
_TOKENS = ("content", "text", "tool_calls", "reasoning_content", "reasoning")
# No answer has more tokens, and a run file holds integers of 64 bits.
_LARGEST_COUNT = 10**12


class StreamEvent(NamedTuple):
    """What one event says; None is not told. ``completion_tokens`` is cumulative.

    ``token_ids`` is how many ids came with it: cumulative or not, as the engine was started.

    A named tuple, since one is made for each chunk: a frozen dataclass takes four times as long.
    """

    brings_tokens: bool = False
    completion_tokens: int | None = None
    count_source: CountSource = "unknown"
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    speculation: SpeculationCounters | None = None
    retractions: int | None = None
    token_ids: int | None = None
    error: str | None = None


def read_event(payload: dict[str, Any], tokens_so_far: int | None) -> StreamEvent:
    """Read one event's JSON object; ``tokens_so_far`` is the last cumulative count that was told.

    The dialect is told by the object itself: ``choices`` or ``usage`` are OpenAI's, ``meta_info``
    or ``text`` sglang's ``/generate``. Anything of another type than the dialect has it is not
    told.
    """
    error = payload.get("error")
    if error is not None or payload.get("object") == "error":
        return StreamEvent(error=_error_text(payload if error is None else error))
    if "choices" in payload or "usage" in payload:
        return _openai_event(payload)
    return _generate_event(payload, tokens_so_far)


def _error_text(error: Any) -> str:
    return _as_told(error).strip() or "the server tells an error without a word"


def _as_told(error: Any) -> str:
    if isinstance(error, dict):
        message = error.get("message")
        kind = error.get("type") or error.get("code")
        if isinstance(message, str):
            return f"{kind}: {message}" if kind else message
    return str(error)


def _openai_event(payload: dict[str, Any]) -> StreamEvent:
    brings_tokens = False
    finish_reason = None
    choices = payload.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        # Chat has a delta, completions the text itself.
        delta = choice.get("delta")
        part = delta if isinstance(delta, dict) else choice
        # A delta that only names the role, or whose content is null or "", is not a token.
        if any(part.get(name) for name in _TOKENS):
            brings_tokens = True
        finish_reason = _text(choice.get("finish_reason")) or finish_reason
    usage = payload.get("usage")
    if not isinstance(usage, dict):
        return StreamEvent(brings_tokens=brings_tokens, finish_reason=finish_reason)
    details = usage.get("prompt_tokens_details")
    total = count(usage.get("completion_tokens"))
    return StreamEvent(
        brings_tokens=brings_tokens,
        completion_tokens=total,
        count_source="unknown" if total is None else "usage",
        prompt_tokens=count(usage.get("prompt_tokens")),
        cached_tokens=count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        finish_reason=finish_reason,
    )


def _generate_event(payload: dict[str, Any], tokens_so_far: int | None) -> StreamEvent:
    meta = payload.get("meta_info")
    meta = meta if isinstance(meta, dict) else {}
    total = count(meta.get("completion_tokens"))
    if total is None:
        new = bool(payload.get("text") or payload.get("output_ids"))
    else:
        # The count is cumulative whether the text is (the default) or not (incremental output), and
        # it grows too when a token gives no text yet.
        new = total > (tokens_so_far or 0)
    ids = payload.get("output_ids")
    finish = meta.get("finish_reason")
    finish = finish if isinstance(finish, dict) else {"type": finish}
    return StreamEvent(
        brings_tokens=new,
        completion_tokens=total,
        count_source="unknown" if total is None else "meta_info",
        prompt_tokens=count(meta.get("prompt_tokens")),
        cached_tokens=count(meta.get("cached_tokens")),
        finish_reason=_text(finish.get("type")),
        finish_message=_text(finish.get("message")),
        speculation=_speculation(meta),
        retractions=count(meta.get("num_retractions")),
        token_ids=len(ids) if isinstance(ids, list) else None,
    )


def _speculation(meta: dict[str, Any]) -> SpeculationCounters | None:
    verify_count = count(meta.get("spec_verify_ct"))
    if not verify_count:
        return None

    # sglang 0.5.15 tells each under two names; 0.5.23 keeps the first of each pair.
    def told(*names: str) -> int | None:
        return next((n for n in (count(meta.get(name)) for name in names) if n is not None), None)

    histogram = meta.get("spec_correct_drafts_histogram", meta.get("spec_accept_histogram"))
    counts = [count(n) for n in histogram] if isinstance(histogram, list) else []
    known = tuple(n for n in counts if n is not None)
    return SpeculationCounters(
        verify_count=verify_count,
        correct_drafts=told("spec_num_correct_drafts", "spec_accepted_drafts"),
        proposed_drafts=told("spec_num_proposed_drafts", "spec_proposed_drafts"),
        histogram=known if known and len(known) == len(counts) else None,
    )


def count(value: Any) -> int | None:
    """``value`` where it is a count: no answer has more tokens. Anything else is not told."""
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT
    return value if known else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
