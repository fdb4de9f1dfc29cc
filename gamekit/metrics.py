"""The metrics gamekit knows: their unit, and whether more is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A metric's name in findings, its one unit, what is better, and the words for a reader."""

    name: str
    unit: str
    better: Literal["higher", "lower"]
    title: str


# Field terms keep their standard meaning. Decode rate leaves the prefill out; end-to-end rate does
# not, and the two never share a name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accept_length", "tok/cycle", "higher", "accept length"),
        Metric("conditional_accuracy", "1", "higher", "conditional accuracy per draft step"),
        # Of the cycles, those that accept this many drafts or more: falls from step to step, and is
        # not the conditional accuracy.
        Metric("cumulative_acceptance", "1", "higher", "cumulative acceptance at a draft step"),
        Metric("cycle_time", "ms", "lower", "time of one speculation cycle"),
        # Of whole cycles too, as the client's: what the engine notes between its own ticks.
        Metric("engine_cycle_time", "ms", "lower", "time of one cycle by the engine's own clock"),
        Metric("decode_rate", "tok/s", "higher", "decode rate"),
        Metric("end_to_end_rate", "tok/s", "higher", "tokens per second, prefill included"),
        Metric("time_per_output_token", "ms", "lower", "time per output token"),
        # Of chunks: under speculation one has the tokens of a cycle.
        Metric("chunk_gap_p99", "ms", "lower", "99th percentile of the time between chunks"),
        Metric("ttft", "ms", "lower", "time to first token"),
        # Of all requests together, in the time in which the load is steady.
        Metric("output_throughput", "tok/s", "higher", "output throughput"),
        Metric("request_rate", "requests/s", "higher", "requests completed per second"),
        Metric("request_latency", "ms", "lower", "time of a whole request"),
        Metric("goodput", "requests/s", "higher", "requests per second within the limits"),
        Metric("goodput_share", "1", "higher", "share of requests within the limits"),
        Metric("client_queueing_delay", "ms", "lower", "time a request waits in the client"),
        Metric("verify_time", "ms", "lower", "time of one verify forward"),
        Metric("allreduce_latency", "us", "lower", "time of one all-reduce"),
        Metric("algorithm_bandwidth", "GB/s", "higher", "algorithm bandwidth of an all-reduce"),
        Metric("bus_bandwidth", "GB/s", "higher", "bus bandwidth of an all-reduce"),
        # Setting over control, each pair measured in turns.
        Metric("latency_ratio", "1", "lower", "latency under a setting, relative to the control"),
        Metric("forward_time", "ms", "lower", "time of one forward through the layers"),
        Metric("floor_ratio", "1", "lower", "time relative to the bandwidth floor"),
        Metric("copy_bandwidth", "GB/s", "higher", "copy bandwidth of the memory"),
        Metric("read_bandwidth", "GB/s", "higher", "read bandwidth of the memory"),
        Metric("matmul_rate", "TFLOP/s", "higher", "rate of a large matrix product"),
        Metric("client_time_per_chunk", "us", "lower", "time the client adds to a streamed chunk"),
        Metric("speedup", "1", "higher", "rate relative to no speculation"),
    )
}
