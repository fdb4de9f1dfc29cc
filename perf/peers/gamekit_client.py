"""gamekit's client in the place of a peer: a closed loop of streams, its figures as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from gamekit import event_loop
from gamekit.bench.floor import percentile
from gamekit.stand_in.config import MODEL_NAME
from gamekit.streaming.client import StreamClient
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.record import StreamRecord
from gamekit.streaming.requests import chat_request


async def closed_loop(url: str, concurrency: int, requests: int, tokens: int) -> list[StreamRecord]:
    """``requests`` streams, ``concurrency`` of them at any time."""
    async with StreamClient(url) as client:
        await client.stream(chat_request(MODEL_NAME, "warm up", 4))
        await client.open(concurrency)
        numbers = iter(range(requests))
        records: list[StreamRecord] = []

        async def one_after_another() -> None:
            for number in numbers:
                request = chat_request(MODEL_NAME, f"measure {number}", tokens)
                records.append(await client.stream(request))

        await asyncio.gather(*(one_after_another() for _ in range(concurrency)))
        return records


def main(url: str, concurrency: int, requests: int, tokens: int, output: str) -> None:
    """Run, and write the figures to ``output``."""
    records = event_loop.run(lambda _: closed_loop(url, concurrency, requests, tokens))
    good = [record for record in records if record.failure is None]
    figures = [stream_figures(record) for record in good]
    gaps = [
        after.at_ms - before.at_ms for record in good for before, after in pairwise(record.chunks)
    ]
    result = {
        "completed": len(good),
        "ttft_ms": fmean(one.ttft_ms or 0.0 for one in figures),
        "time_per_token_ms": fmean(one.time_per_output_token_ms or 0.0 for one in figures),
        "gap_p99_ms": percentile(gaps, 0.99),
    }
    Path(output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
