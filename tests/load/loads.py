"""Loads that never were, with round times: for the arithmetic."""

from __future__ import annotations

from gamekit.load.sent import SentRequest
from gamekit.streaming.record import StreamFailure, StreamRecord, TokenChunk


def request(
    sent_ms: float,
    chunks: list[tuple[float, int]],
    *,
    slot: int | None = 0,
    scheduled_ms: float | None = None,
    failure: str | None = None,
    told: bool = True,
) -> SentRequest:
    """A request sent at ``sent_ms`` ; its chunks (ms since then, tokens) end it."""
    total = 0
    made = []
    for at_ms, tokens in chunks:
        total += tokens
        made.append(TokenChunk(at_ms, tokens if told else None, total if told else None))
    end = chunks[-1][0]
    record = StreamRecord(
        status=200,
        content_type="text/event-stream",
        server=None,
        requested_tokens=total,
        chunks=tuple(made),
        first_token_ms=chunks[0][0],
        last_token_ms=end,
        end_ms=end,
        completion_tokens=total,
        count_source="meta_info",
        prompt_tokens=10,
        cached_tokens=0,
        finish_reason="length",
        speculation=None,
        retractions=None,
        failure=None if failure is None else StreamFailure("error_event", failure),
    )
    due = sent_ms if scheduled_ms is None else scheduled_ms
    return SentRequest(0, slot, due, sent_ms, sent_ms + end, record)


def in_step(
    slots: int, turns: int, *, prefill: float = 100.0, decode: float = 900.0
) -> list[SentRequest]:
    """A closed loop whose slots all run in step: 1 token after the prefill, 9 more by the end."""
    chunks = [(prefill + decode * n / 9, 1) for n in range(10)]
    return [
        request(turn * (prefill + decode), chunks, slot=slot)
        for turn in range(turns)
        for slot in range(slots)
    ]
