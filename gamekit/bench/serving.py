"""What the benchmarks of serving engines share: their requests, one answer's sample, judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.floor import RunFloor, floor_for
from gamekit.bench.gaps import tell_standstills
from gamekit.bench.module import ERROR, Parameter
from gamekit.bench.prompts import RANDOM_IDS, prompt_set, random_ids
from gamekit.streaming.contradictions import contradictions
from gamekit.streaming.figures import chunk_gaps_ms, moments, stream_figures
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import (
    StreamRequest,
    chat_request,
    completion_request,
    generate_request,
)

Row = dict[str, Any]
# Columns that an answer has only where there is something to say: what of its counts cannot be true
# at once, and how many chunks came at how few moments.
_CONTRADICTION = "contradiction"
_BURSTS = "bursts"
# So many chunks a moment are bursts, in answers of at least so many chunks. The time between the
# first moment and the last is good to one part in their number less one.
_CHUNKS_A_MOMENT = 2
_LEAST_CHUNKS = 4
_MANY_MOMENTS = 20
# Of all answers: so many may have met a stall on the way.
_FEW_ANSWERS = 0.05
# What is computed from when chunks came.
_OF_CHUNKS = (
    "ttft",
    "time_per_output_token",
    "decode_rate",
    "cycle_time",
    "chunk_gap_p99",
    "goodput",
    "goodput_share",
)

# Parameters of every such benchmark; those that say how many requests are its own.
TEMPERATURE = Parameter("temperature", float, 0.0, "sampling temperature", low=0, high=10)
API = Parameter(
    "api",
    str,
    None,
    "route of the engine",
    choices=("sglang", "openai"),
    default_text="found out",
)
PROMPTS = Parameter(
    "prompts",
    str,
    None,
    "file with one prompt a line",
    tells="workload",
    default_text="packaged",
    check=prompt_set,
)
INPUT_IDS = Parameter(
    "input_ids",
    int,
    None,
    "send this many random token ids",
    "tokens",
    low=1,
    high=1_000_000,
    tells="input_tokens",
)


def request_maker(context: Context) -> Callable[[int], StreamRequest]:
    """How request ``number`` is made; tells the subject what is sent.

    Reads the parameters api, max_tokens, temperature, input_ids and prompts. Prompts are unique, so
    that no prefix cache holds them.
    """
    api = context["api"] or context.engine.api
    tokens, temperature = context["max_tokens"], context["temperature"]
    ids = context["input_ids"]
    context.tell(api=api, temperature=temperature)
    model = context.engine.models[0] if context.engine.models else "default"
    if ids is not None:
        context.tell(workload=RANDOM_IDS, input_tokens=ids)
        context.warn("random token ids understate what drafts are accepted in real text")
        if api == "sglang":
            return lambda _: generate_request(random_ids(ids), tokens, temperature=temperature)
        return lambda _: completion_request(model, random_ids(ids), tokens, temperature=temperature)
    prompts = prompt_set(context["prompts"])
    # The user's own word for the workload of a file counts more than the name of the file.
    named = None if prompts.is_named else context.subject.workload
    context.tell(workload=named or prompts.name)
    context.fact("prompts", {"name": prompts.name, "count": len(prompts.prompts)})
    if api == "sglang":
        return lambda n: generate_request(prompts.unique(n), tokens, temperature=temperature)
    return lambda n: chat_request(model, prompts.unique(n), tokens, temperature=temperature)


def answer_row(record: StreamRecord, notices: Counter[str], steps: int | None) -> Row:
    """The sample of one answer, counted from its sending; what is to be known goes to ``notices``.

    That of a failed one holds the error alone. ``steps`` are the engine's draft steps, if known.
    """
    if record.failure is not None:
        return {ERROR: str(record.failure)}
    figures = stream_figures(record)
    notices.update(figures.warnings)
    speculation = record.speculation
    contradicted = contradictions(record, steps)
    bursts = _bursts(record)
    gaps = chunk_gaps_ms(record)
    return {
        "ttft": figures.ttft_ms,
        "time_per_output_token": figures.time_per_output_token_ms,
        "decode_rate": figures.decode_rate,
        "accept_length": figures.accept_length,
        "cycle_time": figures.cycle_ms,
        "end_to_end_rate": figures.end_to_end_rate,
        "last_token_ms": record.last_token_ms,
        "output_tokens": figures.completion_tokens,
        "input_tokens": record.prompt_tokens,
        "cached_tokens": record.cached_tokens,
        "chunks": len(record.chunks),
        "first_chunk_tokens": figures.first_chunk_tokens,
        "longest_gap": max(gaps, default=None),
        "finish_reason": record.finish_reason,
        "verify_count": None if speculation is None else speculation.verify_count,
        "correct_drafts": None if speculation is None else speculation.correct_drafts,
        **({_CONTRADICTION: "; ".join(contradicted)} if contradicted else {}),
        **({_BURSTS: bursts} if bursts else {}),
    }


def _bursts(record: StreamRecord) -> str | None:
    """How many chunks came at how few moments; None where that says nothing of the figures."""
    chunks = len(record.chunks)
    if chunks < _LEAST_CHUNKS:
        return None
    seen = moments(record)
    if seen > _MANY_MOMENTS or chunks < _CHUNKS_A_MOMENT * seen:
        return None
    return f"{chunks} chunks at {seen} moment{'s' if seen > 1 else ''}"


def judge_answers(context: Context, rows: Sequence[Row]) -> None:
    """A server is not believed that counts more tokens than asked for, or contradicts itself.

    Nor are times believed of answers that something on the way buffers.
    """
    if any((row.get("output_tokens") or 0) > context["max_tokens"] for row in rows):
        context.flaw("the server counted more tokens than were asked for")
    if context.subject.speculation == "none" and any(row.get("verify_count") for row in rows):
        context.flaw("the engine is said not to speculate, and its answers count verifies")
    contradicted = [row[_CONTRADICTION] for row in rows if row.get(_CONTRADICTION)]
    if contradicted:
        context.flaw(
            f"the counts of {len(contradicted)} of {len(rows)} answers contradict themselves, the"
            f" first: {contradicted[0]}"
        )
    _judge_bursts(context, rows)
    tell_standstills(context, [row for row in rows if not row.get(_BURSTS)])


def _judge_bursts(context: Context, rows: Sequence[Row]) -> None:
    bursts = [row[_BURSTS] for row in rows if row.get(_BURSTS)]
    if len(bursts) > _FEW_ANSWERS * len(rows):
        context.flaw(
            f"{len(bursts)} of {len(rows)} answers came in bursts, the first {bursts[0]}: the"
            " engine or a proxy before it buffers the stream, and times are those of the bursts",
            *_OF_CHUNKS,
        )


def judge_speculation(context: Context, rows: Sequence[Row], *flawed: str) -> None:
    """Under speculation the metrics ``flawed`` say little without an accept length."""
    speculation = context.subject.speculation
    if any(row.get("accept_length") is not None for row in rows):
        return
    if speculation is None:
        context.warn("nobody tells whether the engine speculates: --subject speculation=... would")
    elif speculation != "none":
        why = f"the engine speculates ({speculation}) and nobody tells the accept length"
        context.flaw(f"{why}: measure with --set api=sglang", *flawed)
        context.not_known("accept_length", f"{why} over the {context.subject.api} route")


def judge_cache(context: Context, rows: Sequence[Row], *flawed: str) -> None:
    """Prompts that the prefix cache held are no measure of the prefill."""
    for row in rows:
        cached, prompt = row.get("cached_tokens"), row.get("input_tokens")
        if cached and prompt and cached > prompt / 2:
            context.flaw("most of a prompt came from the prefix cache", *flawed)


def tell_output_length(context: Context, rows: Sequence[Row]) -> None:
    """The output length belongs to the subject where all answers had the same."""
    lengths = {row["output_tokens"] for row in rows if not row.get(ERROR)} - {None}
    known = context.subject.output_tokens
    if len(lengths) == 1 and known in (None, *lengths):
        context.tell(output_tokens=lengths.pop())
    elif known is not None and lengths - {known}:
        context.warn(f"output_tokens is said to be {known}: {min(lengths)} to {max(lengths)} came")


def chunk_interval_ms(rows: Sequence[Row]) -> float | None:
    """The median over the answers of the mean time between two chunks, in ms; None without one.

    Nor is there one where all chunks of an answer came at one moment.
    """
    gaps = [
        (row["last_token_ms"] - row["ttft"]) / (row["chunks"] - 1)
        for row in rows
        if not row.get(ERROR) and row["chunks"] > 1
    ]
    return (median(gaps) or None) if gaps else None


def measure_client(
    context: Context, rows: Sequence[Row], interval_ms: float | None, concurrency: int
) -> RunFloor:
    """The client's own floor at this concurrency, chunk rate and tokens a chunk; kept as a fact."""
    context.progress(f"{context.benchmark.name}: measuring the client itself")
    tokens = [
        (row["output_tokens"] - 1) / (row["chunks"] - 1)
        for row in rows
        if not row.get(ERROR) and row.get("output_tokens") and row["chunks"] > 1
    ]
    floor = floor_for(
        concurrency,
        min(max(interval_ms or 5.0, 1.0), 200.0),
        max(1.0, median(tokens)) if tokens else 1.0,
    )
    context.fact("client_floor", floor.describe())
    return floor
