"""Bytes of a forward, how many experts a batch is expected to take, and what the times say."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.forward.shape import deepseek_v3_slice, llama_8b, shape_of
from gamekit.forward.traffic import (
    expected_distinct,
    kept_bytes,
    room_bytes,
    stays_cached,
    traffic,
)
from gamekit.forward.verdict import verdict

SIZES = st.integers(1, 64)


def test_a_dense_forward_reads_its_weights_and_its_cache() -> None:
    """Llama 3 8B behind 1024 tokens: 2 bytes a weight, and 128 KiB for each token in the cache."""
    read = traffic(llama_8b(), [], tokens=1, context=1023)
    assert read.dense == 2 * 32 * 218_112_000
    assert read.experts == 0
    assert read.cache == 1024 * 128 * 1024
    assert read.total == read.dense + read.cache


def test_experts_count_once_however_many_tokens_take_them() -> None:
    """Only the number of different experts of each layer counts, 88 MB an expert."""
    shape = deepseek_v3_slice()
    read = traffic(shape, [8, 15, 8, 16], tokens=2, context=1024)
    assert read.experts == 47 * 2 * 44_040_192
    assert read.cache == 4 * 1026 * 576 * 2


@given(tokens=SIZES, more=SIZES, context=SIZES)
def test_more_tokens_read_only_more_cache(tokens: int, more: int, context: int) -> None:
    """With the same experts a wider forward reads what its longer cache adds, and nothing else."""
    shape = shape_of("deepseek-v3-slice", layers=1)
    one = traffic(shape, [8], tokens, context)
    other = traffic(shape, [8], tokens + more, context)
    assert other.total - one.total == more * 576 * 2


def test_the_floor_is_the_bytes_over_the_bandwidth() -> None:
    """14 GB at 4000 GB/s take 3.5 ms."""
    read = traffic(llama_8b(), [], tokens=1, context=1)
    assert read.floor_ms(4000.0) == pytest.approx(read.total / 4e12 * 1e3)
    assert 3.4 < read.floor_ms(4000.0) < 3.6


@given(experts=st.integers(1, 512), data=st.data(), tokens=st.integers(1, 16))
def test_expected_experts_lie_between_one_tokens_and_all(
    experts: int, data: st.DataObject, tokens: int
) -> None:
    """At least what one token takes, at most all or tokens times as many; one token takes k."""
    per_token = data.draw(st.integers(1, experts))
    expected = expected_distinct(experts, per_token, tokens)
    assert per_token * (1 - 1e-9) <= expected
    assert expected <= min(experts, tokens * per_token) * (1 + 1e-9)
    assert expected_distinct(experts, per_token, 1) == pytest.approx(per_token)


def test_expected_experts_are_the_mean_of_even_draws() -> None:
    """5000 drawn batches of 4 tokens, 8 of 256 each, come to it within 0.1 experts."""
    drawn = np.random.default_rng(0).random((5000, 4, 256)).argpartition(8, axis=2)[:, :, :8]
    counts = [len(set(batch.ravel().tolist())) for batch in drawn]
    assert fmean(counts) == pytest.approx(expected_distinct(256, 8, 4), abs=0.1)


@pytest.mark.parametrize(
    ("time", "floor", "graph", "bound"),
    [
        (6.0, 3.4, 3.8, "launch-bound"),
        (4.0, 3.4, 3.8, "memory-bound"),
        (3.8, 3.4, None, "memory-bound"),
        (9.0, 3.4, 8.9, "kernel-bound"),
        (9.0, 3.4, None, "kernel-bound"),
    ],
)
def test_what_bounds_a_forward(time: float, floor: float, graph: float | None, bound: str) -> None:
    """Slower than its graph: the launches; near the floor: the memory; else the kernels."""
    assert verdict(time, floor, graph) == bound


def test_a_forward_holds_its_caches_and_masks_in_every_layer() -> None:
    """Llama 3 8B holds 128 KiB a token, latent attention 1152 bytes a layer, and masks by head."""
    assert kept_bytes(llama_8b(), 1, 1023) == 1024 * (128 * 1024 + 32 * 4 * 2)
    shape = deepseek_v3_slice()
    assert kept_bytes(shape, 8, 1016) == 4 * 1024 * (1152 + 8 * 128 * 2)


@given(tokens=SIZES, context=SIZES)
def test_room_is_more_than_what_is_read_of_the_cache(tokens: int, context: int) -> None:
    """The check of free memory has the whole cache in it, and the scores of a layer besides."""
    for shape in (llama_8b(), deepseek_v3_slice()):
        held = kept_bytes(shape, tokens, context)
        assert held > traffic(shape, [], tokens, context).cache
        assert room_bytes(shape, tokens, context) > held


def test_a_buffer_that_a_cache_holds_tells_of_the_cache() -> None:
    """A quarter of it in the cache is too much; a cache of unknown size, 0, says nothing."""
    assert stays_cached(2**20, 50_000_000)
    assert stays_cached(100_000_000, 50_000_000)
    assert not stays_cached(4096 * 2**20, 50_000_000)
    assert not stays_cached(2**20, 0)
