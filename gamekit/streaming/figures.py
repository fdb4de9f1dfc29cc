"""The figures of one streamed answer: pure functions of its record."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gamekit.streaming.record import SpeculationCounters, StreamRecord

FirstChunkSource = Literal["told", "counted", "assumed"]
# Of the mean time between two chunks: those that are nearer to each other came at one moment.
_ONE_MOMENT = 0.1


@dataclass(frozen=True)
class StreamFigures:
    """What one stream measured; None is not known or does not exist.

    ``decode_rate`` (tok/s, first token to last) and ``end_to_end_rate`` (tok/s, request to last
    token) are different figures. ``warnings`` says in words what a reader of the figures must know.
    """

    ttft_ms: float | None
    time_per_output_token_ms: float | None
    decode_rate: float | None
    end_to_end_rate: float | None
    accept_length: float | None
    cycle_ms: float | None
    completion_tokens: int | None
    first_chunk_tokens: int | None
    first_chunk_source: FirstChunkSource | None
    warnings: tuple[str, ...]


def stream_figures(record: StreamRecord) -> StreamFigures:
    """All figures of a stream that succeeded.

    Raises ``ValueError`` for a failed one: its tokens do not count.
    """
    if record.failure is not None:
        raise ValueError(f"a failed stream has no figures ({record.failure})")
    first = first_chunk_tokens(record)
    rate = decode_rate(record)
    return StreamFigures(
        ttft_ms=record.first_token_ms,
        time_per_output_token_ms=None if rate is None else 1000 / rate,
        decode_rate=rate,
        end_to_end_rate=end_to_end_rate(record),
        accept_length=accept_length(record.speculation),
        cycle_ms=cycle_ms(record),
        completion_tokens=record.completion_tokens,
        first_chunk_tokens=None if first is None else first[0],
        first_chunk_source=None if first is None else first[1],
        warnings=tuple(warnings(record)),
    )


def first_chunk_tokens(record: StreamRecord) -> tuple[int, FirstChunkSource] | None:
    """How many tokens came first, and how that is known; None without a token count.

    They are those of the first chunk, and of further ones that came at the same time. *told*: the
    engine's cumulative count came with them. *counted*: there are as many chunks as tokens, so each
    brought one. *assumed*: 1 a chunk, because the first chunk is what prefill sampled; chunks that
    held more make the decode rate too high by (their tokens - chunks)/(n - their tokens).
    """
    if not record.chunks or record.completion_tokens is None:
        return None
    chunks = _first_chunks(record)
    told = record.chunks[chunks - 1].total
    if told is not None:
        return told, "told"
    return chunks, "counted" if len(record.chunks) == record.completion_tokens else "assumed"


def decode_rate(record: StreamRecord) -> float | None:
    """(n - tokens that came first)/(time of the last chunk - time of the first chunk), tok/s.

    n is the engine's count at the last chunk where it is told there, otherwise its count of the
    whole answer. None without a count, or with a single moment at which tokens came.
    """
    first, tokens = first_chunk_tokens(record), _tokens_at_last_chunk(record)
    span = _span_ms(record)
    if first is None or span is None or tokens is None:
        return None
    decoded = tokens - first[0]
    return 1000 * decoded / span if decoded > 0 else None


def end_to_end_rate(record: StreamRecord) -> float | None:
    """n/(time of the last chunk since the request), tok/s: waiting and prefill included."""
    if not record.completion_tokens or not record.last_token_ms:
        return None
    return 1000 * record.completion_tokens / record.last_token_ms


def accept_length(counters: SpeculationCounters | None) -> float | None:
    """1 + correct drafts/verifies: tokens a cycle, bonus token in, prefill's token out.

    Where only the histogram is told, correct drafts are its sum of index times count. None where
    the engine tells neither: the ratio of tokens to verifies that engines print has the prefill
    token in.
    """
    if counters is None:
        return None
    correct = counters.correct_drafts
    if correct is None and counters.histogram is not None:
        correct = sum(drafts * times for drafts, times in enumerate(counters.histogram))
    return None if correct is None else 1 + correct / counters.verify_count


def cycle_ms(record: StreamRecord) -> float | None:
    """(time of the last chunk - time of the first)/verifies, in ms: one draft-and-verify cycle.

    What came first may hold verifies beside the token of the prefill, as where an engine sends a
    chunk every few cycles: the time does not hold those. They are as many as its tokens say, each
    verify taken to give equally many; where tokens are not told, one for each chunk but one.
    """
    span = _span_ms(record)
    if record.speculation is None or span is None:
        return None
    verifies = float(record.speculation.verify_count)
    first, tokens = first_chunk_tokens(record), _tokens_at_last_chunk(record)
    if first is not None and first[1] == "told" and tokens is not None and tokens > 1:
        verifies *= (tokens - first[0]) / (tokens - 1)
    else:
        verifies -= _first_chunks(record) - 1
    return span / verifies if verifies > 0 else None


def moments(record: StreamRecord) -> int:
    """At how many moments the chunks came.

    Chunks of one moment follow each other in less than a tenth of the mean time between two. What
    buffers a stream, such as a proxy, makes few moments of many chunks.
    """
    span = _span_ms(record)
    if span is None:
        return min(1, len(record.chunks))
    least = _ONE_MOMENT * span / (len(record.chunks) - 1)
    return 1 + sum(later.at_ms - one.at_ms >= least for one, later in pairwise(record.chunks))


def chunk_gaps_ms(record: StreamRecord) -> list[float]:
    """The times between each two chunks of an answer that follow each other, in ms."""
    return [later.at_ms - one.at_ms for one, later in pairwise(record.chunks)]


def warnings(record: StreamRecord) -> list[str]:
    """What a reader of the figures must know, one sentence each."""
    said = []
    tokens, asked = record.completion_tokens, record.requested_tokens
    if tokens is None:
        said.append(
            f"the engine told no token count ({len(record.chunks)} chunks came): no rate is known"
        )
    elif asked is not None and tokens < asked:
        said.append(f"finished early: {tokens} of {asked} tokens ({record.finish_reason})")
    first = first_chunk_tokens(record)
    if first is not None and first[1] == "assumed":
        said.append("the tokens of the first chunk are not told: 1 is assumed")
    if _stop_token_may_be_silent(record):
        said.append("the stop token may have come without a chunk: the rate may be one token high")
    if record.cached_tokens:
        of = "" if record.prompt_tokens is None else f" of {record.prompt_tokens}"
        said.append(f"{record.cached_tokens}{of} prompt tokens came from the prefix cache")
    if record.resent:
        said.append("sent again: the server closed the connection that it was sent on, unanswered")
    if record.unended:
        said.append("the response did not end after data: [DONE]")
    if record.retractions:
        said.append(f"the engine retracted the request {record.retractions} times")
    return said


def _tokens_at_last_chunk(record: StreamRecord) -> int | None:
    """The engine's count at the last chunk where it is told there, otherwise of the answer."""
    if record.completion_tokens is None or not record.chunks:
        return None
    told = record.chunks[-1].total
    return record.completion_tokens if told is None else told


def _first_chunks(record: StreamRecord) -> int:
    """How many chunks came at the time of the first: one, unless a read brought several."""
    first = record.chunks[0].at_ms
    return next((n for n, one in enumerate(record.chunks) if one.at_ms > first), len(record.chunks))


def _stop_token_may_be_silent(record: StreamRecord) -> bool:
    return (
        record.finish_reason == "stop"
        and record.count_source == "usage"
        and bool(record.chunks)
        and record.chunks[-1].total is None
    )


def _span_ms(record: StreamRecord) -> float | None:
    """Time from the first chunk to the last, or None where there is none."""
    if record.first_token_ms is None or record.last_token_ms is None:
        return None
    span = record.last_token_ms - record.first_token_ms
    return span if span > 0 else None
