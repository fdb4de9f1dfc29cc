"""The bytes that a forward must read, and the shortest time that a memory bandwidth allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gamekit.forward.shape import Shape

# Of bfloat16, in which all weights and caches are.
BYTES_PER_NUMBER = 2
# A cache that holds this part of what is read makes it look faster than the memory.
_MOST_CACHED = 0.25


@dataclass(frozen=True)
class Traffic:
    """Bytes that one forward must read at least once, by what they are.

    What it writes, and the activations between its kernels, are left out: for a few tokens they are
    a thousandth of the weights.
    """

    dense: int
    experts: int
    cache: int

    @property
    def total(self) -> int:
        """All of them, in bytes."""
        return self.dense + self.experts + self.cache

    def floor_ms(self, bandwidth_gb_s: float) -> float:
        """The time in ms that reading them takes at a bandwidth in GB/s (10^9 bytes)."""
        return self.total / bandwidth_gb_s / 1e6


def traffic(shape: Shape, distinct: Sequence[int], tokens: int, context: int) -> Traffic:
    """What one forward of ``tokens`` new tokens behind ``context`` cached ones must read.

    ``distinct`` is the number of different experts that the tokens were routed to, layer by layer;
    it is empty for a shape without experts. An expert is read once however many tokens take it.
    """
    cached = (context + tokens) * shape.attention.cached
    return Traffic(
        dense=shape.layers * shape.dense_weights * BYTES_PER_NUMBER,
        experts=sum(distinct) * shape.expert_weights * BYTES_PER_NUMBER,
        cache=shape.layers * cached * BYTES_PER_NUMBER,
    )


# Scores and what becomes of them, of one layer: eager, and again in the graph's own memory.
_SCORES_ALIVE = 4


def kept_bytes(shape: Shape, tokens: int, context: int) -> int:
    """Bytes that a forward holds in each layer: its cache, and the mask behind it."""
    row = shape.attention.cached + tokens * shape.attention.mask_rows
    return shape.layers * (context + tokens) * row * BYTES_PER_NUMBER


def room_bytes(shape: Shape, tokens: int, context: int) -> int:
    """Bytes that a forward takes beside the weights: what it holds, and one layer's scores."""
    scores = shape.attention.heads * tokens * (context + tokens)
    return kept_bytes(shape, tokens, context) + _SCORES_ALIVE * scores * BYTES_PER_NUMBER


def stays_cached(read_bytes: int, cache_bytes: int) -> bool:
    """Whether so much of what is read over and over fits a cache that its time tells of that."""
    return cache_bytes > _MOST_CACHED * read_bytes


def expected_distinct(experts: int, per_token: int, tokens: int) -> float:
    """How many of ``experts`` are taken by ``tokens`` that each draw ``per_token`` of them alike.

    E * (1 - (1 - k/E)^n): an expert stays out where every token leaves it out. Real routing follows
    the text and is less even, so that it takes fewer.
    """
    if not experts:
        return 0.0
    missed: float = (1 - per_token / experts) ** tokens
    return experts * (1 - missed)
