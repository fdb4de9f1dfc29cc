"""What this client, on this machine, adds to the time of every streamed chunk."""

from collections.abc import Iterator

from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.context import Context
from gamekit.bench.floor import measure_floor
from gamekit.bench.module import Benchmark, Measures, Parameter, Sample
from gamekit.nearest_rank import quantile


def run(context: Context) -> Iterator[Sample]:
    """Stream from a scripted server of this machine; one sample a repetition."""
    context.tell(concurrency=context["concurrency"])
    for number in range(context["repeats"]):
        context.progress(f"client_floor: repetition {number + 1} of {context['repeats']}")
        floor = measure_floor(context["concurrency"], context["chunk_interval"], context["chunks"])
        if floor.chunks_lost:
            context.flaw(f"{floor.chunks_lost} chunks were lost")
        if floor.server_load < 0.99:
            context.flaw(f"the scripted server sent {floor.server_load:.1%} of its schedule")
        limit = client_limit(
            floor.lag,
            floor.receiving,
            chunk_interval_ms=floor.chunk_interval_ms,
            achieved_load=floor.achieved_load,
        )
        if limit is not None:
            context.flaw(f"the client did not keep up: {limit}")
        yield {
            "client_time_per_chunk": floor.median_us,
            "p95_us": floor.p95_us,
            "max_us": floor.max_us,
            "ttft_error_ms": quantile(floor.ttft_error_ms, 0.5),
            "server_late_p95_us": floor.server_late_p95_us,
            "achieved_load": floor.achieved_load,
            "busy_fraction": busy_fraction(floor.lag, floor.receiving),
        }


BENCHMARK = Benchmark(
    name="client_floor",
    description="what this client adds to a streamed chunk, against a scripted server",
    measures=[
        Measures(
            "client_time_per_chunk",
            headline=True,
            convention="median over a repetition's chunks: time stamp at the client minus sending",
        )
    ],
    parameters=[
        Parameter(
            "repeats", int, 10, "repetitions, each one sample", low=1, high=1000, effort=True
        ),
        Parameter("concurrency", int, 1, "streams at once", low=1, high=1000),
        Parameter(
            "chunk_interval",
            float,
            5.0,
            "time between chunks of a stream",
            "ms",
            low=0.1,
            high=1000,
        ),
        Parameter("chunks", int, 100, "chunks of one stream", low=2, high=100_000, effort=True),
    ],
    run=run,
)
