"""The declared shapes come to the parameter counts that their models are published with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.errors import UsageFault
from gamekit.forward.shape import (
    SHAPES,
    DenseFeedForward,
    GroupedAttention,
    LatentAttention,
    Shape,
    deepseek_v3_slice,
    kimi_k2_slice,
    llama_8b,
    shape_of,
)


def whole(slice_of: Shape, *, dense_layers: int, vocabulary: int, dense_width: int) -> int:
    """The model that a slice is of: its dense layers, embedding, head and last norm as well."""
    of_experts = replace(slice_of, layers=slice_of.model_layers - dense_layers)
    dense = replace(
        slice_of, layers=dense_layers, feed_forward=DenseFeedForward(intermediate=dense_width)
    )
    ends = 2 * vocabulary * slice_of.hidden + slice_of.hidden
    return of_experts.weights + dense.weights + ends


def test_llama_8b_has_the_published_number_of_parameters() -> None:
    """32 layers, embedding, head and last norm are the 8 030 261 248 of the published weights."""
    shape = llama_8b()
    assert shape.weights == 32 * 218_112_000
    assert shape.weights + 2 * 128_256 * 4096 + 4096 == 8_030_261_248


def test_deepseek_v3_has_the_published_number_of_parameters() -> None:
    """With its 3 dense layers and its ends it is the published 671B, of which a token takes 37B.

    The embedding, of which a token takes one row, is not among the latter.
    """
    shape = deepseek_v3_slice()
    total = whole(shape, dense_layers=3, vocabulary=129_280, dense_width=18_432)
    assert round(total / 1e9) == 671
    idle = 58 * (256 - 8) * shape.expert_weights
    assert round((total - idle - 129_280 * 7168) / 1e9) == 37


def test_kimi_k2_has_the_published_number_of_parameters() -> None:
    """With its dense layer and its ends it is the published 1T, of which a token takes 32B."""
    shape = kimi_k2_slice()
    total = whole(shape, dense_layers=1, vocabulary=163_840, dense_width=18_432)
    assert total == pytest.approx(1.03e12, rel=0.01)
    idle = 60 * (384 - 8) * shape.expert_weights
    assert round((total - idle - 163_840 * 7168) / 1e9) == 32


def test_one_layer_of_deepseek_v3_by_hand() -> None:
    """The parts of one layer are the products of the sizes in its configuration."""
    shape = deepseek_v3_slice()
    attention = shape.attention
    by_hand = [
        7168 * 1536,  # q_a_proj
        1536 * 128 * 192,  # q_b_proj
        7168 * 576,  # kv_a_proj_with_mqa
        512 * 128 * 256,  # kv_b_proj
        128 * 128 * 7168,  # o_proj
    ]
    assert attention.matrix_weights(7168) == sum(by_hand) == 187_105_280
    assert shape.expert_weights == 44_040_192
    assert shape.dense_weights == sum(by_hand) + 1536 + 512 + 2 * 7168 + 256 * 7168 + 44_040_192


@given(name=st.sampled_from(sorted(SHAPES)), shards=st.sampled_from([1, 2, 4, 8]))
def test_shards_together_are_the_model_and_what_each_copies(name: str, shards: int) -> None:
    """What one rank of N has, N times, is the whole and N - 1 copies of what cannot be split."""
    shape = SHAPES[name]()
    one = shape.sharded(shards)
    copied = 2 * shape.hidden + shape.experts * shape.hidden
    if isinstance(shape.attention, LatentAttention):
        rank, cached = shape.attention.q_lora_rank, shape.attention.cached
        copied += shape.hidden * (rank + cached) + shape.attention.norm_weights
    assert shards * one.weights == shape.weights + (shards - 1) * copied * shape.layers
    assert one.experts == shape.experts
    assert one.experts_per_token == shape.experts_per_token


def test_a_head_of_keys_that_cannot_be_split_is_copied() -> None:
    """More ranks than key-value heads: each has one, as engines do it."""
    one = llama_8b().sharded(16).attention
    assert isinstance(one, GroupedAttention)
    assert (one.heads, one.kv_heads) == (2, 1)


def test_sizes_that_are_given_take_the_place_of_the_shapes_own() -> None:
    """Every size can be another, and what is not given stays."""
    shape = shape_of(
        "deepseek-v3-slice",
        layers=1,
        hidden=64,
        intermediate=32,
        experts=16,
        experts_per_token=2,
    )
    assert (shape.layers, shape.hidden, shape.experts, shape.experts_per_token) == (1, 64, 16, 2)
    assert shape.expert_weights == 3 * 64 * 32
    assert shape_of("llama-8b", layers=2) == replace(llama_8b(), layers=2)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"name": "llama-8b", "experts": 4}, "no routed experts"),
        ({"name": "llama-8b", "experts_per_token": 4}, "no routed experts"),
        ({"name": "deepseek-v3-slice", "experts": 4}, "8 experts a token of 4"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict[str, object], words: str) -> None:
    """Experts of a dense shape, and more of them a token than there are, are usage errors."""
    with pytest.raises(UsageFault, match=words):
        shape_of(**sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "shards"), [("llama-8b", 3), ("deepseek-v3-slice", 48)])
def test_shards_that_do_not_divide_are_refused(name: str, shards: int) -> None:
    """No rank gets a part of a head or of a column."""
    with pytest.raises(UsageFault, match="cannot be split"):
        shape_of(name).sharded(shards)
