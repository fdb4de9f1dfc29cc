"""Bandwidths of an all-reduce by the standard factors, and the message of a decode step."""

from __future__ import annotations

# Of bfloat16 and float16, in which activations are summed.
_ACTIVATION_BYTES = 2


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
