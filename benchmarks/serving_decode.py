"""Decode rate, TTFT, time per output token and accept length of an engine that serves streams."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from gamekit import event_loop
from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.context import Context
from gamekit.bench.floor import RunFloor, floor_for
from gamekit.bench.module import ERROR, Benchmark, Measures, Needs, Parameter, Sample
from gamekit.bench.prompts import RANDOM_IDS, prompt_set, random_ids
from gamekit.event_loop import LoopLag
from gamekit.streaming.client import StreamClient
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.receiver import ReceiveLoad
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import (
    StreamRequest,
    chat_request,
    completion_request,
    generate_request,
)

DECODING = ("decode_rate", "time_per_output_token", "cycle_time")


@dataclass(frozen=True)
class Wave:
    """Requests sent at one moment: what came, and how the client fared."""

    records: list[StreamRecord]
    lag: LoopLag
    receiving: ReceiveLoad


def run(context: Context) -> Iterator[Sample]:
    """Send requests one after another (or a few at once); one sample a request."""
    request = _requests(context)
    waves = -(-context["requests"] // context["concurrency"])
    for _ in range(context["warmup"]):
        context.progress("serving_decode: warming up")
        _stream(context, [request(0)])
    notices: Counter[str] = Counter()
    samples: list[dict[str, Any]] = []
    sent: list[Wave] = []
    for wave in range(waves):
        context.progress(f"serving_decode: request {len(samples) + 1} of {context['requests']}")
        first = wave * context["concurrency"]
        one = _stream(context, [request(first + i) for i in range(context["concurrency"])])
        sent.append(one)
        for record in one.records:
            sample = _sample(record, notices)
            samples.append(sample)
            yield sample
    for notice, times in notices.items():
        context.warn(f"{times} of {len(samples)} requests: {notice}")
    for metric in ("decode_rate", "time_per_output_token"):
        if all(sample.get(metric) is None for sample in samples):
            context.not_known(metric, "; ".join(notices) or "no answer took any time to decode")
    _judge_counts(context, samples)
    _judge_speculation(context, samples)
    _judge_cache(context, samples)
    _tell_output_length(context, samples)
    interval_ms = _chunk_interval_ms(samples)
    _judge_client(context, sent, interval_ms, _measure_client(context, samples, interval_ms))


def _requests(context: Context) -> Callable[[int], StreamRequest]:
    """How request ``number`` is made; tells the subject what is sent."""
    api = context["api"] or context.engine.api
    tokens, temperature = context["max_tokens"], context["temperature"]
    ids = context["input_ids"]
    context.tell(api=api, concurrency=context["concurrency"], temperature=temperature)
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


def _stream(context: Context, requests: list[StreamRequest]) -> Wave:
    """Send the requests at one moment, over connections that are open already."""

    async def send(selector: event_loop.PreciseSelector) -> Wave:
        async with StreamClient(context.engine.url) as client:
            await client.open(len(requests))
            selector.restart()
            client.restart_load()
            records = await client.streams(requests)
            return Wave(records, selector.lag(), client.load())

    return event_loop.run(send)


def _sample(record: StreamRecord, notices: Counter[str]) -> dict[str, Any]:
    if record.failure is not None:
        return {ERROR: str(record.failure)}
    figures = stream_figures(record)
    notices.update(figures.warnings)
    speculation = record.speculation
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
        "finish_reason": record.finish_reason,
        "verify_count": None if speculation is None else speculation.verify_count,
        "correct_drafts": None if speculation is None else speculation.correct_drafts,
    }


def _judge_counts(context: Context, samples: list[dict[str, Any]]) -> None:
    if any((sample.get("output_tokens") or 0) > context["max_tokens"] for sample in samples):
        context.flaw("the server counted more tokens than were asked for")


def _judge_client(
    context: Context, sent: list[Wave], interval_ms: float | None, floor: RunFloor
) -> None:
    """A client that could not keep up is what was measured, not the engine."""
    waits = [one.receiving.wait_max_ms for one in sent if one.receiving.wait_max_ms is not None]
    context.fact(
        "client",
        {
            "time_sources": sorted({record.time_source for one in sent for record in one.records}),
            "busy_fraction": round(max(busy_fraction(one.lag, one.receiving) for one in sent), 4),
            "lag_max_ms": round(max(one.lag.max_ms for one in sent), 3),
            "wait_max_ms": round(max(waits), 3) if waits else None,
        },
    )
    rate = None if interval_ms is None else 1000 * context["concurrency"] / interval_ms
    limits = [
        client_limit(
            one.lag,
            one.receiving,
            chunk_interval_ms=interval_ms,
            chunks_per_s=rate,
            floor=floor,
        )
        for one in sent
    ]
    why = next((limit for limit in limits if limit is not None), None)
    if why is not None:
        limited = len(limits) - limits.count(None)
        context.flaw(f"the client limited the run ({limited} of {len(sent)} times): {why}")


def _judge_speculation(context: Context, samples: list[dict[str, Any]]) -> None:
    speculation = context.subject.speculation
    if any(sample.get("accept_length") is not None for sample in samples):
        return
    if speculation is None:
        context.warn("nobody tells whether the engine speculates: --subject speculation=... would")
    elif speculation != "none":
        why = f"the engine speculates ({speculation}) and nobody tells the accept length"
        context.flaw(f"{why}: measure with --set api=sglang", *DECODING)
        context.not_known("accept_length", f"{why} over the {context.subject.api} route")


def _judge_cache(context: Context, samples: list[dict[str, Any]]) -> None:
    for sample in samples:
        cached, prompt = sample.get("cached_tokens"), sample.get("input_tokens")
        if cached and prompt and cached > prompt / 2:
            context.flaw("most of a prompt came from the prefix cache", "ttft")


def _tell_output_length(context: Context, samples: list[dict[str, Any]]) -> None:
    """The output length belongs to the subject where all answers had the same."""
    lengths = {sample["output_tokens"] for sample in samples if not sample.get(ERROR)} - {None}
    known = context.subject.output_tokens
    if len(lengths) == 1 and known in (None, *lengths):
        context.tell(output_tokens=lengths.pop())
    elif known is not None and lengths - {known}:
        context.warn(f"output_tokens is said to be {known}: {min(lengths)} to {max(lengths)} came")


def _chunk_interval_ms(samples: list[dict[str, Any]]) -> float | None:
    """The median over the requests of the mean time between two chunks."""
    gaps = [
        (sample["last_token_ms"] - sample["ttft"]) / (sample["chunks"] - 1)
        for sample in samples
        if not sample.get(ERROR) and sample["chunks"] > 1
    ]
    return median(gaps) if gaps else None


def _measure_client(
    context: Context, samples: list[dict[str, Any]], interval_ms: float | None
) -> RunFloor:
    """The client's own floor at this run's concurrency, chunk rate and tokens a chunk."""
    context.progress("serving_decode: measuring the client itself")
    tokens = [
        (sample["output_tokens"] - 1) / (sample["chunks"] - 1)
        for sample in samples
        if not sample.get(ERROR) and sample.get("output_tokens") and sample["chunks"] > 1
    ]
    floor = floor_for(
        context["concurrency"],
        min(max(interval_ms or 5.0, 1.0), 200.0),
        max(1.0, median(tokens)) if tokens else 1.0,
    )
    context.fact("client_floor", floor.describe())
    return floor


BENCHMARK = Benchmark(
    name="serving_decode",
    description="single-stream decode rate, TTFT, time per output token and accept length",
    needs=Needs.SERVER,
    measures=[
        Measures("ttft", headline=True),
        Measures("time_per_output_token", headline=True),
        Measures("decode_rate", headline=True),
        Measures(
            "accept_length",
            convention="1 + correct drafts/verify count: bonus token in, prefill token out",
        ),
        Measures(
            "cycle_time", convention="(last chunk - first chunk)/verify count, over one request"
        ),
    ],
    parameters=[
        Parameter(
            "requests", int, 7, "requests that are measured", low=1, high=100_000, effort=True
        ),
        # The first token is prefill's: 256 are decoded, so that a last cycle that max_tokens cuts
        # takes less than half a per cent off the rate.
        Parameter(
            "max_tokens",
            int,
            257,
            "tokens asked for",
            "tokens",
            low=2,
            high=1_000_000,
            tells="output_tokens",
        ),
        Parameter("concurrency", int, 1, "requests sent at one moment", low=1, high=1000),
        Parameter(
            "warmup", int, 1, "requests before them, not measured", low=0, high=1000, effort=True
        ),
        Parameter("temperature", float, 0.0, "sampling temperature", low=0, high=10),
        Parameter(
            "api",
            str,
            None,
            "route of the engine",
            choices=("sglang", "openai"),
            default_text="found out",
        ),
        Parameter(
            "prompts",
            str,
            None,
            "file with one prompt a line",
            tells="workload",
            default_text="packaged",
            check=prompt_set,
        ),
        Parameter(
            "input_ids",
            int,
            None,
            "send this many random token ids",
            "tokens",
            low=1,
            high=1_000_000,
            tells="input_tokens",
        ),
    ],
    run=run,
)
