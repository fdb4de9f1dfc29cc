"""Times the speculation model over a million scenarios, forward and inverse; ``make perf``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gamekit.speculation import arrays

SCENARIOS = 1_000_000
LONGEST_CHAIN = 16
REPEATS = 5
CORES = 2
GOALS_S = {"forward": 1.0, "inverse": 3.0}

Part = dict[str, arrays.Numbers]


def scenarios() -> list[Part]:
    """A million scenarios drawn from a fixed seed, in one part a core."""
    random = np.random.default_rng(20261130)
    per_part = SCENARIOS // CORES
    return [
        {
            "accuracy": random.random(per_part),
            "steps": random.integers(1, LONGEST_CHAIN + 1, per_part).astype(np.float64),
            "cycle_ms": random.uniform(10, 60, per_part),
            "baseline": random.uniform(20, 120, per_part),
            "target": random.uniform(20, 400, per_part),
        }
        for _ in range(CORES)
    ]


def forward(part: Part) -> None:
    """Accept length, rate, speedup, break-even and ceiling of every scenario."""
    length = arrays.accept_length(part["accuracy"], part["steps"])
    rate = arrays.throughput(length, part["cycle_ms"])
    np.divide(rate, part["baseline"])
    arrays.break_even(part["baseline"], part["cycle_ms"])
    arrays.ceiling(part["steps"], part["cycle_ms"])


def inverse(part: Part) -> None:
    """Accept length, accuracy, steps and cycle that the target asks for in every scenario."""
    length = arrays.accept_length(part["accuracy"], part["steps"])
    arrays.required_accept_length(part["target"], part["cycle_ms"])
    arrays.required_accuracy(part["target"], part["cycle_ms"], part["steps"])
    arrays.required_steps(part["target"], part["cycle_ms"], part["accuracy"])
    arrays.required_cycle(length, part["target"])


def best_seconds(work: Callable[[Part], None], parts: list[Part]) -> tuple[float, float]:
    """Fastest and slowest of several runs over all parts, one thread a part, in seconds."""
    seconds = []
    with ThreadPoolExecutor(CORES) as pool:
        for _ in range(REPEATS):
            began = time.perf_counter()
            list(pool.map(work, parts))
            seconds.append(time.perf_counter() - began)
    return min(seconds), max(seconds)


def main() -> None:
    """Print what each direction took, and its goal."""
    parts = scenarios()
    print(
        f"{SCENARIOS:,} scenarios of 1 to {LONGEST_CHAIN} steps, {CORES} threads"
        f" on {os.cpu_count()} cores, numpy {np.__version__}"
    )
    for work in (forward, inverse):
        fastest, slowest = best_seconds(work, parts)
        goal = GOALS_S[work.__name__]
        verdict = "met" if slowest <= goal else "missed"
        print(
            f"{work.__name__}: {fastest:.3f} to {slowest:.3f} s in {REPEATS} runs"
            f" (goal {goal:g} s: {verdict})"
        )


if __name__ == "__main__":
    main()
