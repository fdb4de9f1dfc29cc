"""Decoder layers of a shape in plain torch: attention with a cache, dense and expert networks.

Nothing here asks the device for a value or makes a shape depend on one, except the loop over
experts that only a CPU takes: so a forward can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the name that torch's own documentation gives it

from gamekit.forward.shape import (
    DenseFeedForward,
    ExpertFeedForward,
    GroupedAttention,
    LatentAttention,
    Shape,
)

Tensor = Any
# Gives random weights of a size; the last dimension is the one that is summed over.
Make = Callable[..., Tensor]
_EPSILON = 1e-6
_ROPE_BASE = 10_000.0


@dataclass(frozen=True)
class Cache:
    """What attention keeps between tokens, with room for ``tokens`` new ones behind ``context``."""

    stored: tuple[Tensor, ...]
    mask: Tensor
    cosine: Tensor
    sine: Tensor
    context: int


def rotary(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """``x`` [tokens, heads, size] rotated by its positions' angles, halves as pairs."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


def _angles(like: Tensor, tokens: int, context: int, size: int) -> tuple[Tensor, Tensor]:
    position = torch.arange(context, context + tokens, device=like.device, dtype=torch.float32)
    power = torch.arange(0, size, 2, device=like.device, dtype=torch.float32) / size
    angle = position[:, None] * _ROPE_BASE ** -power[None, :]
    both = torch.cat((angle, angle), dim=-1)[:, None, :]
    return both.cos().to(like.dtype), both.sin().to(like.dtype)


def _causal(like: Tensor, tokens: int, context: int) -> Tensor:
    """[tokens, context + tokens]: a new token sees the cached ones, itself and those before it."""
    mask = torch.full((tokens, context + tokens), float("-inf"), device=like.device)
    return torch.triu(mask, diagonal=context + 1).to(like.dtype)


class GroupedQueryAttention:
    """Attention whose query heads share heads of keys and values, in groups."""

    def __init__(self, size: GroupedAttention, hidden: int, make: Make) -> None:
        self.size = size
        self.qkv = make((size.heads + 2 * size.kv_heads) * size.head_dim, hidden)
        self.output = make(hidden, size.heads * size.head_dim)

    def cache(self, tokens: int, context: int, make: Make) -> Cache:
        """A cache that is filled with ``context`` random tokens."""
        size = self.size
        stored = tuple(make(size.kv_heads, context + tokens, size.head_dim) for _ in range(2))
        mask = _causal(self.qkv, tokens, context).repeat(size.heads // size.kv_heads, 1)[None]
        return Cache(stored, mask, *_angles(self.qkv, tokens, context, size.head_dim), context)

    def __call__(self, x: Tensor, cache: Cache) -> Tensor:
        """What the attention adds to ``x`` [tokens, hidden]; the cache takes the new tokens."""
        size, tokens = self.size, x.shape[0]
        kv, group, turned = size.kv_heads, size.heads // size.kv_heads, size.heads + size.kv_heads
        qkv = F.linear(x, self.qkv).view(tokens, -1, size.head_dim)
        rotated = rotary(qkv[:, :turned], cache.cosine, cache.sine)
        keys, values = cache.stored
        keys[:, cache.context :] = rotated[:, size.heads :].transpose(0, 1)
        values[:, cache.context :] = qkv[:, turned:].transpose(0, 1)
        # The queries of a group stand below each other, so that their keys are read once.
        query = rotated[:, : size.heads].view(tokens, kv, group, size.head_dim)
        query = query.permute(1, 2, 0, 3).reshape(kv, group * tokens, size.head_dim)
        scores = torch.baddbmm(
            cache.mask, query, keys.transpose(1, 2), alpha=float(size.head_dim) ** -0.5
        )
        mixed = torch.bmm(torch.softmax(scores, dim=-1), values)
        mixed = mixed.view(kv, group, tokens, size.head_dim).permute(2, 0, 1, 3)
        return F.linear(mixed.reshape(tokens, -1), self.output)


class MultiHeadLatentAttention:
    """DeepSeek's latent attention in its absorbed form, as engines decode with it.

    The up projection of the keys is applied to the queries and that of the values to the result, so
    that the heads work on the cached latents themselves.
    """

    def __init__(self, size: LatentAttention, hidden: int, make: Make) -> None:
        self.size = size
        rank = size.kv_lora_rank
        self.down = make(size.q_lora_rank + size.cached, hidden)
        self.query_up = make(
            size.heads * (size.qk_nope_head_dim + size.qk_rope_head_dim), size.q_lora_rank
        )
        self.key_up = make(size.heads, size.qk_nope_head_dim, rank)
        self.value_up = make(size.heads, size.v_head_dim, rank)
        self.output = make(hidden, size.heads * size.v_head_dim)
        self.query_norm = torch.ones_like(self.down[: size.q_lora_rank, 0]).contiguous()
        self.latent_norm = torch.ones_like(self.down[:rank, 0]).contiguous()

    def cache(self, tokens: int, context: int, make: Make) -> Cache:
        """A cache that is filled with ``context`` random tokens."""
        size = self.size
        stored = make(context + tokens, size.cached)
        mask = _causal(self.down, tokens, context).repeat(size.heads, 1)
        angles = _angles(self.down, tokens, context, size.qk_rope_head_dim)
        return Cache((stored,), mask, *angles, context)

    def __call__(self, x: Tensor, cache: Cache) -> Tensor:
        """What the attention adds to ``x`` [tokens, hidden]; the cache takes the new tokens."""
        size, tokens = self.size, x.shape[0]
        rank, rope, nope = size.kv_lora_rank, size.qk_rope_head_dim, size.qk_nope_head_dim
        (stored,) = cache.stored
        compressed, latent, key = F.linear(x, self.down).split(
            (size.q_lora_rank, rank, rope), dim=-1
        )
        compressed = F.rms_norm(compressed, (size.q_lora_rank,), self.query_norm, _EPSILON)
        query = F.linear(compressed, self.query_up).view(tokens, size.heads, nope + rope)
        rotated = torch.cat((query[..., nope:], key[:, None]), dim=1)
        rotated = rotary(rotated, cache.cosine, cache.sine)
        stored[cache.context :, :rank] = F.rms_norm(latent, (rank,), self.latent_norm, _EPSILON)
        stored[cache.context :, rank:] = rotated[:, -1]
        absorbed = torch.bmm(query[..., :nope].transpose(0, 1), self.key_up)
        query = torch.cat((absorbed, rotated[:, :-1].transpose(0, 1)), dim=-1)
        scores = torch.addmm(
            cache.mask, query.view(-1, rank + rope), stored.t(), alpha=float(nope + rope) ** -0.5
        )
        mixed = torch.mm(torch.softmax(scores, dim=-1), stored[:, :rank])
        mixed = torch.bmm(mixed.view(size.heads, tokens, rank), self.value_up.transpose(1, 2))
        return F.linear(mixed.transpose(0, 1).reshape(tokens, -1), self.output)


class GatedNetwork:
    """The dense feed-forward network, and the shared experts as one."""

    def __init__(self, width: int, hidden: int, make: Make) -> None:
        self.gate_up = make(2 * width, hidden)
        self.down = make(hidden, width)

    def __call__(self, x: Tensor) -> Tensor:
        """What the network adds to ``x`` [tokens, hidden]."""
        gate, up = F.linear(x, self.gate_up).chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, self.down)


class MixtureOfExperts:
    """Experts of which the router takes the best few for each token, on the device.

    As DeepSeek-V3 routes: sigmoid scores, the taken ones divided by their sum. Its limit to some
    groups of experts and its bias, which do not change how much is read, are left out.
    """

    def __init__(self, size: ExpertFeedForward, hidden: int, make: Make) -> None:
        self.size = size
        self.router = make(size.experts, hidden)
        self.gate_up = make(size.experts, 2 * size.intermediate, hidden)
        self.down = make(size.experts, hidden, size.intermediate)
        self.shared = (
            GatedNetwork(size.shared * size.intermediate, hidden, make) if size.shared else None
        )

    def room(self, tokens: int) -> tuple[Tensor, Tensor]:
        """Where the scores and numbers of the chosen experts of ``tokens`` are written."""
        shape, device = (tokens, self.size.per_token), self.router.device
        return (
            torch.zeros(shape, dtype=torch.float32, device=device),
            torch.zeros(shape, dtype=torch.int64, device=device),
        )

    def __call__(self, x: Tensor, room: tuple[Tensor, Tensor]) -> Tensor:
        """What the experts add to ``x`` [tokens, hidden]; ``room`` says afterwards which."""
        scores, chosen = room
        logits = torch.sigmoid(F.linear(x, self.router).float())
        torch.topk(logits, self.size.per_token, dim=-1, sorted=False, out=(scores, chosen))
        share = (scores / scores.sum(dim=-1, keepdim=True)).to(x.dtype)
        routed = _routed(x, chosen, share, self.gate_up, self.down)
        return routed if self.shared is None else routed + self.shared(x)


class DecoderLayer:
    """Attention and feed-forward network, each behind a norm and beside a residual."""

    def __init__(self, shape: Shape, make: Make) -> None:
        size, network = shape.attention, shape.feed_forward
        self.hidden = shape.hidden
        self.attention: GroupedQueryAttention | MultiHeadLatentAttention = (
            GroupedQueryAttention(size, shape.hidden, make)
            if isinstance(size, GroupedAttention)
            else MultiHeadLatentAttention(size, shape.hidden, make)
        )
        self.network: GatedNetwork | MixtureOfExperts = (
            GatedNetwork(network.intermediate, shape.hidden, make)
            if isinstance(network, DenseFeedForward)
            else MixtureOfExperts(network, shape.hidden, make)
        )
        self.norms = tuple(torch.ones_like(make(shape.hidden)) for _ in range(2))

    def __call__(self, x: Tensor, cache: Cache, room: tuple[Tensor, Tensor] | None) -> Tensor:
        """The next residual stream [tokens, hidden]."""
        x = x + self.attention(F.rms_norm(x, (self.hidden,), self.norms[0], _EPSILON), cache)
        normed = F.rms_norm(x, (self.hidden,), self.norms[1], _EPSILON)
        if isinstance(self.network, MixtureOfExperts):
            assert room is not None  # noqa: S101 - a forward makes it for every such layer
            return x + self.network(normed, room)
        return x + self.network(normed)


def _routed(x: Tensor, chosen: Tensor, share: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    if x.is_cuda:
        # Triton is no part of a CPU's torch.
        from gamekit.forward.expert_kernel import routed_experts  # noqa: PLC0415

        return routed_experts(x, chosen, share, gate_up, down)
    return expert_by_expert(x, chosen, share, gate_up, down)


def expert_by_expert(
    x: Tensor, chosen: Tensor, share: Tensor, gate_up: Tensor, down: Tensor
) -> Tensor:
    """What ``routed_experts`` gives, in a loop of the host: for a CPU, which has no graphs."""
    out = torch.zeros_like(x)
    for expert in chosen.unique().tolist():
        token, slot = (chosen == expert).nonzero(as_tuple=True)
        gate, up = F.linear(x[token], gate_up[expert]).chunk(2, dim=-1)
        result = F.linear(F.silu(gate) * up, down[expert])
        out.index_add_(0, token, result * share[token, slot][:, None])
    return out
