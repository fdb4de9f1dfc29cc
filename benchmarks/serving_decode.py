"""Decode rate, TTFT, time per output token and accept length of an engine that serves streams."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from statistics import median
from typing import Any

from gamekit import event_loop
from gamekit.bench.context import Context
from gamekit.bench.floor import measure_floor
from gamekit.bench.module import ERROR, Benchmark, Measures, Needs, Parameter, Sample
from gamekit.bench.prompts import RANDOM_IDS, prompt_set, random_ids
from gamekit.event_loop import LoopLag
from gamekit.streaming.client import StreamClient
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import (
    StreamRequest,
    chat_request,
    completion_request,
    generate_request,
)

DECODING = ("decode_rate", "time_per_output_token", "cycle_time")


def run(context: Context) -> Iterator[Sample]:
    """Send requests one after another (or a few at once); one sample a request."""
    request = _requests(context)
    waves = -(-context["requests"] // context["concurrency"])
    for _ in range(context["warmup"]):
        context.progress("serving_decode: warming up")
        _stream(context, [request(0)])
    notices: Counter[str] = Counter()
    samples: list[dict[str, Any]] = []
    lags: list[LoopLag] = []
    for wave in range(waves):
        context.progress(f"serving_decode: request {len(samples) + 1} of {context['requests']}")
        first = wave * context["concurrency"]
        records, lag = _stream(context, [request(first + i) for i in range(context["concurrency"])])
        lags.append(lag)
        for record in records:
            sample = _sample(record, notices)
            samples.append(sample)
            yield sample
    for notice, times in notices.items():
        context.warn(f"{times} of {len(samples)} requests: {notice}")
    for metric in ("decode_rate", "time_per_output_token"):
        if all(sample.get(metric) is None for sample in samples):
            context.not_known(metric, "; ".join(notices) or "no answer took any time to decode")
    _judge_counts(context, samples)
    _judge_client(context, lags)
    _judge_speculation(context, samples)
    _judge_cache(context, samples)
    _tell_output_length(context, samples)
    _measure_client(context, samples)


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


def _stream(context: Context, requests: list[StreamRequest]) -> tuple[list[StreamRecord], LoopLag]:
    """Send the requests at one moment, over connections that are open already."""

    async def send(selector: event_loop.PreciseSelector) -> tuple[list[StreamRecord], LoopLag]:
        async with StreamClient(context.engine.url) as client:
            await client.open(len(requests))
            selector.restart()
            exchanges = await asyncio.gather(*(client.exchange(one) for one in requests))
            lag = selector.lag()
            return [await client.read(exchange) for exchange in exchanges], lag

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


def _judge_client(context: Context, lags: list[LoopLag]) -> None:
    """A client that was busy most of the time is what was measured, not the engine."""
    busiest = max(lag.busy_fraction for lag in lags)
    context.fact("client_busy_fraction", round(busiest, 4))
    context.fact("client_lag_max_ms", round(max(lag.max_ms for lag in lags), 3))
    if busiest > 0.8:
        context.flaw(f"the client limited the run: it was busy {busiest:.0%} of the time")


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


def _measure_client(context: Context, samples: list[dict[str, Any]]) -> None:
    """The client's own floor at this run's concurrency and chunk rate."""
    gaps = [
        (sample["last_token_ms"] - sample["ttft"]) / (sample["chunks"] - 1)
        for sample in samples
        if not sample.get(ERROR) and sample["chunks"] > 1
    ]
    interval = min(max(median(gaps), 1.0), 50.0) if gaps else 5.0
    context.progress("serving_decode: measuring the client itself")
    floor = measure_floor(context["concurrency"], interval, chunks=50)
    context.fact(
        "client_floor",
        {
            "concurrency": floor.concurrency,
            "chunk_interval_ms": round(interval, 3),
            "median_us": floor.median_us,
            "p95_us": floor.p95_us,
            "max_us": floor.max_us,
            "chunks_lost": floor.chunks_lost,
            "achieved_load": floor.achieved_load,
            "lag": asdict(floor.lag),
        },
    )


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
