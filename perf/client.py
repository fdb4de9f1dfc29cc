"""How precise gamekit's client is against a scripted server, and its ceiling; ``make client``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gamekit import event_loop
from gamekit.bench.floor import floor_against, timed_chunks
from gamekit.nearest_rank import quantile
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.streaming.client import Exchange, StreamClient
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import generate_request
from perf.machine import description, load_warning, two_cores

# Several tokens a chunk, as speculation brings them: 2.5 every 30 ms.
CONFIG = SimulatorConfig(prefill_ms=200, cycle_ms=30, accept_len=2.5, steps=3)
TOKENS = 201
REPEATS = 3
GOALS_TTFT_MS = {1: 1.0, 16: 2.0, 64: 2.0, 200: 3.0}
GOAL_PERCENT = 0.5
# Streams at once, a token every 5 ms each: 1k to 50k chunks/s.
CEILING_STREAMS = (5, 25, 50, 75, 100, 125, 150, 200, 250)
CEILING_INTERVAL_MS = 5.0
CEILING_CHUNKS = 300


@dataclass(frozen=True)
class Errors:
    """Absolute errors of streams against what the server really sent."""

    ttft_ms: list[float]
    time_per_token_percent: list[float]
    rate_percent: list[float]
    added_us: list[float]
    late_us: list[float]
    failures: list[str]


def measure(concurrency: int, server_core: int) -> Errors:
    """The errors of several bursts of ``concurrency`` streams each."""
    errors = Errors([], [], [], [], [], [])
    with StandInEngine(CONFIG) as engine:
        os.sched_setaffinity(engine.process_id or 0, {server_core})
        for _ in range(REPEATS):
            for exchange, record in event_loop.run(lambda _: _burst(engine.url, concurrency)):
                if record.failure is None:
                    _compare(exchange, record, errors)
                else:
                    errors.failures.append(str(record.failure))
    return errors


async def _burst(url: str, concurrency: int) -> list[tuple[Exchange, StreamRecord]]:
    async with StreamClient(url) as client:
        await client.stream(generate_request("warm up", 2))
        requests = [generate_request(f"measure {n}", TOKENS) for n in range(concurrency)]
        exchanges = await client.exchanges(requests)
    return [(exchange, exchange.read()) for exchange in exchanges]


def _compare(exchange: Exchange, record: StreamRecord, errors: Errors) -> None:
    chunks = timed_chunks(exchange)
    figures = stream_figures(record)
    true_ttft_ms = (chunks[0].sent_ns - chunks[0].arrived_ns) / 1e6
    true_time_ms = (chunks[-1].sent_ns - chunks[0].sent_ns) / 1e6 / (TOKENS - 1)
    if figures.time_per_output_token_ms is None or figures.decode_rate is None:
        errors.failures.append("all chunks of an answer came at one moment")
        return
    errors.ttft_ms.append(abs((figures.ttft_ms or 0.0) - true_ttft_ms))
    errors.time_per_token_percent.append(
        100 * abs(figures.time_per_output_token_ms / true_time_ms - 1)
    )
    errors.rate_percent.append(100 * abs(figures.decode_rate * true_time_ms / 1000 - 1))
    errors.added_us.extend((chunk.received_ns - chunk.sent_ns) / 1e3 for chunk in chunks)
    errors.late_us.extend(
        (chunk.sent_ns - chunk.arrived_ns) / 1e3
        - (CONFIG.prefill_ms + step * CONFIG.cycle_ms) * 1e3
        for step, chunk in enumerate(chunks)
    )


def precision(server_core: int) -> list[str]:
    """The table of errors by concurrency."""
    lines = [
        "absolute errors, median / 95th percentile over all streams; goals for the latter",
        "",
        (
            "| streams | TTFT ms | goal | time per token % | rate % | goal | added µs, median"
            " / p95 / most | lost | server late µs, median / p95 |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for concurrency, goal_ms in GOALS_TTFT_MS.items():
        errors = measure(concurrency, server_core)
        ttft, token, rate = errors.ttft_ms, errors.time_per_token_percent, errors.rate_percent
        met = quantile(ttft, 0.95) <= goal_ms
        exact = max(quantile(token, 0.95), quantile(rate, 0.95)) <= GOAL_PERCENT
        lines.append(
            f"| {concurrency} | {_two(ttft, 3)} | {goal_ms:g} {_verdict(met)} |"
            f" {_two(token, 4)} | {_two(rate, 4)} | {GOAL_PERCENT} {_verdict(exact)} |"
            f" {_two(errors.added_us, 0)} / {max(errors.added_us):.0f} | {len(errors.failures)} |"
            f" {_two(errors.late_us, 0)} |"
        )
    return lines


def ceiling(server_core: int) -> list[str]:
    """The table of growing chunk rates, one token every 5 ms a stream."""
    lines = [
        "one token every 5 ms a stream: load received of the load sent, and both p99 gaps",
        "",
        (
            "| chunks/s | sent chunks/s | load % | TTFT error ms, median | p99 gap ms (sent) |"
            " p99 wait for the client ms | client busy | delay shows |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    config = SimulatorConfig(prefill_ms=200, cycle_ms=CEILING_INTERVAL_MS)
    with StandInEngine(config) as engine:
        os.sched_setaffinity(engine.process_id or 0, {server_core})
        for streams in CEILING_STREAMS:
            floor = floor_against(engine, streams, CEILING_CHUNKS)
            error = quantile([abs(one) for one in floor.ttft_error_ms], 0.5)
            lines.append(
                f"| {floor.scheduled_chunks_per_s:.0f} |"
                f" {floor.server_load * floor.scheduled_chunks_per_s:.0f} |"
                f" {100 * floor.achieved_load:.2f} | {error:.2f} |"
                f" {floor.gap_p99_ms:.2f} ({floor.sent_gap_p99_ms:.2f}) |"
                f" {_ms(floor.receiving.wait_p99_ms)} |"
                f" {floor.lag.busy_fraction:.0%} | {floor.delay_shows or 'no'} |"
            )
    return lines


def _ms(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def _two(samples: Sequence[float], digits: int) -> str:
    return f"{quantile(samples, 0.5):.{digits}f} / {quantile(samples, 0.95):.{digits}f}"


def _verdict(met: bool) -> str:
    return "(met)" if met else "(missed)"


def main() -> None:
    """Print both tables."""
    client_core, server_core = two_cores()
    os.sched_setaffinity(0, {client_core})
    print(description())
    warning = load_warning()
    if warning is not None:
        print(warning)
    print("client on one core, server on another; the server's own lateness is in no error")
    print()
    print("\n".join(precision(server_core)))
    print()
    print("\n".join(ceiling(server_core)))


if __name__ == "__main__":
    main()
