"""Decode rate, TTFT, time per output token and accept length of an engine that serves streams."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Sample
from gamekit.bench.serving import (
    API,
    INPUT_IDS,
    PROMPTS,
    TEMPERATURE,
    answer_row,
    chunk_interval_ms,
    judge_cache,
    judge_counts,
    judge_speculation,
    measure_client,
    request_maker,
    tell_output_length,
)
from gamekit.bench.waves import CONCURRENCY, REQUESTS, WARMUP, Wave, judge_waves, send_wave


def run(context: Context) -> Iterator[Sample]:
    """Send requests one after another (or a few at once); one sample a request."""
    concurrency, url = context["concurrency"], context.engine.url
    context.tell(concurrency=concurrency)
    request = request_maker(context)
    for _ in range(context["warmup"]):
        context.progress("serving_decode: warming up")
        send_wave(url, [request(0)])
    notices: Counter[str] = Counter()
    samples: list[dict[str, Any]] = []
    sent: list[Wave] = []
    for first in range(0, context["requests"], concurrency):
        context.progress(f"serving_decode: request {first + 1} of {context['requests']}")
        sent.append(send_wave(url, [request(first + i) for i in range(concurrency)]))
        for record in sent[-1].records:
            samples.append(answer_row(record, notices))
            yield samples[-1]
    for notice, times in notices.items():
        context.warn(f"{times} of {len(samples)} requests: {notice}")
    for metric in ("decode_rate", "time_per_output_token"):
        if all(sample.get(metric) is None for sample in samples):
            context.not_known(metric, "; ".join(notices) or "no answer took any time to decode")
    judge_counts(context, samples)
    judge_speculation(context, samples, "decode_rate", "time_per_output_token", "cycle_time")
    judge_cache(context, samples, "ttft")
    tell_output_length(context, samples)
    interval_ms = chunk_interval_ms(samples)
    floor = measure_client(context, samples, interval_ms, concurrency)
    judge_waves(context, sent, interval_ms, floor)


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
        REQUESTS,
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
        CONCURRENCY,
        WARMUP,
        TEMPERATURE,
        API,
        PROMPTS,
        INPUT_IDS,
    ],
    run=run,
)
