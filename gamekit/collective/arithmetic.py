"""Bandwidths of an all-reduce by the standard factors, and the message of a decode step."""

from __future__ import annotations

import math

# Of bfloat16 and float16, in which activations are summed.
_ACTIVATION_BYTES = 2
# All-reduces before the clock starts, in which the ranks catch up with each other.
LEAD = 3
# Values that are summed in place again and again begin this small, as a power of two, so that they
# reach the largest ones (2^127) as late as they can.
SMALLEST_EXPONENT = -100
_LARGEST_EXPONENT = 127
# A sum over the ranks at its first time is at most 2^8, where bfloat16 still holds whole numbers.
_SUM_EXPONENT = 8


def bus_factor(ranks: int) -> float:
    """What an all-reduce's algorithm bandwidth is multiplied by for its bus bandwidth: 2(n-1)/n.

    Each rank has to send and to receive that share of the data, whatever the algorithm is
    (nccl-tests, doc/PERFORMANCE.md). Raises ``ValueError`` without a rank.
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks")
    return 2 * (ranks - 1) / ranks


def bandwidths(message_bytes: int, latency_us: float, ranks: int) -> tuple[float, float]:
    """Algorithm and bus bandwidth, GB/s (10^9 bytes), of one all-reduce of ``latency_us``.

    Raises ``ValueError`` for a time that is none.
    """
    if not latency_us > 0:
        raise ValueError(f"an all-reduce of {latency_us} us")
    algorithm = message_bytes / latency_us * 1e-3
    return algorithm, algorithm * bus_factor(ranks)


def decode_message_bytes(batch: int, draft_tokens: int, hidden: int) -> int:
    """Bytes that tensor parallelism sums after a layer's attention or MLP in one decode step.

    One activation of ``hidden`` values of two bytes a token, ``draft_tokens`` tokens a request.
    """
    return batch * draft_tokens * hidden * _ACTIVATION_BYTES


def most_iterations(ranks: int) -> int:
    """How many timed all-reduces in place the verified values bear: each one multiplies them."""
    room = _LARGEST_EXPONENT - _SUM_EXPONENT - SMALLEST_EXPONENT
    return 10_000 if ranks < 2 else math.floor(room / math.log2(ranks)) - LEAD
