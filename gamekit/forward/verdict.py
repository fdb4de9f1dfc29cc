"""What bounds a forward: the launches of its kernels, the memory, or the kernels themselves."""

from __future__ import annotations

LAUNCHES_COST = 1.2
NEAR_FLOOR = 1.5
RULE = (
    f"launch-bound: eager, and at least {LAUNCHES_COST} times the time of the same kernels"
    f" replayed as a CUDA graph; memory-bound: at most {NEAR_FLOOR} times the bandwidth floor;"
    " kernel-bound: neither, so that the GPU is busy and its kernels are too small or too slow for"
    " the memory"
)


def verdict(time_ms: float, floor_ms: float, graph_ms: float | None) -> str:
    """What bounds a forward that takes ``time_ms``, by ``RULE``.

    ``graph_ms`` is the time of its CUDA graph, which is what the GPU itself needs; None where there
    are no graphs.
    """
    if graph_ms is not None and time_ms >= LAUNCHES_COST * graph_ms:
        return "launch-bound"
    return "memory-bound" if time_ms <= NEAR_FLOOR * floor_ms else "kernel-bound"
