"""Decode rate, TTFT, time per output token and accept length of an engine that serves streams."""

from collections.abc import Iterator

from gamekit.bench.context import Context
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Replicate, Sample
from gamekit.bench.serving import (
    API,
    INPUT_IDS,
    PROMPTS,
    TEMPERATURE,
    chunk_interval_ms,
    judge_answers,
    judge_cache,
    judge_speculation,
    measure_client,
    tell_output_length,
)
from gamekit.bench.waves import CONCURRENCY, REQUESTS, WARMUP, Waves, judge_waves, replicate

METRICS = ("ttft", "time_per_output_token", "decode_rate", "accept_length", "cycle_time")


def run(context: Context) -> Iterator[Sample | Replicate]:
    """Send requests one after another, or waves of them; each is one sample."""
    waves = Waves(context)
    for rows in waves:
        yield replicate(rows, METRICS)
    waves.warn()
    samples = waves.rows
    why = "; ".join(waves.notices) or "no answer took any time to decode"
    for metric in ("decode_rate", "time_per_output_token"):
        if all(sample.get(metric) is None for sample in samples):
            context.not_known(metric, why)
    judge_answers(context, samples)
    judge_speculation(context, samples, "decode_rate", "time_per_output_token", "cycle_time")
    judge_cache(context, samples, "ttft")
    tell_output_length(context, samples)
    interval_ms = chunk_interval_ms(samples)
    floor = measure_client(context, samples, interval_ms, context["concurrency"])
    judge_waves(context, waves.sent, interval_ms, floor)


BENCHMARK = Benchmark(
    name="serving_decode",
    description="decode rate, TTFT and accept length of single streams, or of waves of requests",
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
