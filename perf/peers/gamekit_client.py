"""gamekit's client in the place of a peer: a closed loop of streams, its figures as JSON."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from gamekit.load.sending import closed_loop
from gamekit.nearest_rank import quantile
from gamekit.stand_in.config import MODEL_NAME
from gamekit.streaming.figures import stream_figures
from gamekit.streaming.requests import StreamRequest, chat_request


def main(url: str, concurrency: int, requests: int, tokens: int, output: str) -> None:
    """Run, and write the figures to ``output``."""

    def measured(number: int) -> StreamRequest:
        return chat_request(MODEL_NAME, f"measure {number}", tokens)

    closed_loop(url, lambda _: chat_request(MODEL_NAME, "warm up", 4), 1, requests=1)
    load = closed_loop(url, measured, concurrency, requests=requests)
    good = [one.record for one in load.requests if not one.failed]
    figures = [stream_figures(record) for record in good]
    gaps = [
        after.at_ms - before.at_ms for record in good for before, after in pairwise(record.chunks)
    ]
    result = {
        "completed": len(good),
        "ttft_ms": fmean(one.ttft_ms or 0.0 for one in figures),
        "time_per_token_ms": fmean(one.time_per_output_token_ms or 0.0 for one in figures),
        "gap_p99_ms": quantile(gaps, 0.99),
    }
    Path(output).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
