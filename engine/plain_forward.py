"""Compares gamekit's decoder layers with plain ones, written token by token, on a CPU.

Prints, as JSON, how far each is from its plain counterpart (the largest difference, relative to the
largest number). Triton's interpreter runs the kernels where TRITON_INTERPRET=1 is set.
"""

from __future__ import annotations

import json
from typing import Any

import torch

from gamekit.errors import NotApplicable
from gamekit.forward.device import find_device
from gamekit.forward.expert_kernel import routed_experts
from gamekit.forward.layers import (
    DecoderLayer,
    GroupedQueryAttention,
    MixtureOfExperts,
    MultiHeadLatentAttention,
    expert_by_expert,
)
from gamekit.forward.shape import (
    ExpertFeedForward,
    GroupedAttention,
    LatentAttention,
    Shape,
    shape_of,
)
from gamekit.forward.stack import Forward, Stack
from gamekit.forward.traffic import BYTES_PER_NUMBER, kept_bytes

Tensor = Any
HIDDEN = 48


def make(*sizes: int) -> Tensor:
    """Random numbers of float64, so that two ways to compute agree to the last digits."""
    return torch.randn(sizes, dtype=torch.float64) * sizes[-1] ** -0.5


def apart(one: Tensor, other: Tensor) -> float:
    """The largest difference, relative to the largest number."""
    return float((one - other).abs().max() / other.abs().max())


def norm(x: Tensor) -> Tensor:
    """Divided by the root of the mean square."""
    return x / (x.pow(2).mean(dim=-1, keepdim=True) + 1e-6).sqrt()


def turn(x: Tensor, position: int) -> Tensor:
    """A vector of one head at a position: pairs (i, i + half) as complex numbers, turned."""
    half = x.shape[-1] // 2
    angle = position * 10_000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    turned = torch.complex(x[:half], x[half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat((turned.real, turned.imag))


def grouped(tokens: int, context: int) -> float:
    """Grouped-query attention against one head and one token at a time."""
    size = GroupedAttention(heads=6, kv_heads=2, head_dim=8)
    layer = GroupedQueryAttention(size, HIDDEN, make)
    cache = layer.cache(tokens, context, make)
    x = make(tokens, HIDDEN)
    keys, values = (one[:, :context].clone() for one in cache.stored)
    query, key, value = (layer.qkv @ x.T).T.split((48, 16, 16), dim=1)
    out = torch.zeros(tokens, 48, dtype=torch.float64)
    for t in range(tokens):
        new_keys = [turn(key[t, 8 * h : 8 * h + 8], context + t) for h in range(2)]
        keys = torch.cat((keys, torch.stack(new_keys)[:, None]), dim=1)
        values = torch.cat((values, value[t].view(2, 1, 8)), dim=1)
        for head in range(6):
            asked = turn(query[t, 8 * head : 8 * head + 8], context + t)
            weight = torch.softmax(keys[head // 3] @ asked / 8**0.5, dim=0)
            out[t, 8 * head : 8 * head + 8] = weight @ values[head // 3]
    return apart(layer(x, cache), out @ layer.output.T)


def latent(tokens: int, context: int) -> float:
    """Latent attention in its absorbed form against keys and values that are written out."""
    size = LatentAttention(
        heads=3,
        q_lora_rank=20,
        kv_lora_rank=12,
        qk_nope_head_dim=10,
        qk_rope_head_dim=4,
        v_head_dim=6,
    )
    layer = MultiHeadLatentAttention(size, HIDDEN, make)
    cache = layer.cache(tokens, context, make)
    x = make(tokens, HIDDEN)
    known = cache.stored[0][:context].clone()
    compressed, new, rotated = (x @ layer.down.T).split((20, 12, 4), dim=1)
    query = (norm(compressed) @ layer.query_up.T).view(tokens, 3, 14)
    out = torch.zeros(tokens, 3, 6, dtype=torch.float64)
    for t in range(tokens):
        row = torch.cat((norm(new[t]), turn(rotated[t], context + t)))
        known = torch.cat((known, row[None]))
        for head in range(3):
            keys = torch.cat((known[:, :12] @ layer.key_up[head].T, known[:, 12:]), dim=1)
            values = known[:, :12] @ layer.value_up[head].T
            asked = torch.cat((query[t, head, :10], turn(query[t, head, 10:], context + t)))
            out[t, head] = torch.softmax(keys @ asked / 14**0.5, dim=0) @ values
    return apart(layer(x, cache), out.view(tokens, 18) @ layer.output.T)


def all_experts(x: Tensor, weight: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """Every expert on every token, weighted: ``weight`` [tokens, experts] is 0 for most."""
    out = torch.zeros_like(x)
    for expert in range(gate_up.shape[0]):
        gate, up = (x @ gate_up[expert].T).chunk(2, dim=1)
        result = (gate * torch.sigmoid(gate) * up) @ down[expert].T
        out += weight[:, expert, None] * result
    return out


def experts(product: Any, tokens: int, per_token: int, dtype: torch.dtype) -> float:
    """Products with the chosen experts against all experts with weights; sizes fit no block."""
    count, width, hidden = 12, 40, 144
    gate_up, down = make(count, 2 * width, hidden), make(count, hidden, width)
    x = make(tokens, hidden) * 10
    chosen = torch.rand(tokens, count).topk(per_token).indices
    share = torch.rand(tokens, per_token, dtype=torch.float64)
    weight = torch.zeros(tokens, count, dtype=torch.float64).scatter(1, chosen, share)
    cast = [one.to(dtype) for one in (share, gate_up, down)]
    given = product(x.to(dtype), chosen, *cast)
    return apart(given.double(), all_experts(x, weight, gate_up, down))


def routing(tokens: int) -> float:
    """The mixture with its router and shared expert against a sort of all scores."""
    size = ExpertFeedForward(experts=16, per_token=4, intermediate=24)
    mixture = MixtureOfExperts(size, HIDDEN, make)
    x = make(tokens, HIDDEN) * 5
    scores = torch.sigmoid(x @ mixture.router.T)
    best = scores.argsort(dim=1, descending=True)[:, :4]
    weight = torch.zeros_like(scores).scatter(1, best, scores.gather(1, best))
    weight /= weight.sum(dim=1, keepdim=True)
    plain = all_experts(x, weight, mixture.gate_up, mixture.down)
    gate, up = (x @ mixture.shared.gate_up.T).chunk(2, dim=1)
    plain += (gate * torch.sigmoid(gate) * up) @ mixture.shared.down.T
    return apart(mixture(x, mixture.room(tokens)), plain)


def layer(tokens: int) -> float:
    """A dense layer against its norms, residuals and network, with the attention it has."""
    shape = shape_of("llama-8b", layers=1, hidden=HIDDEN, intermediate=32)
    one = DecoderLayer(shape, make)
    cache, x = one.attention.cache(tokens, 5, make), make(tokens, HIDDEN)
    between = x + one.attention(norm(x), cache)
    gate, up = (norm(between) @ one.network.gate_up.T).chunk(2, dim=1)
    plain = between + (gate * torch.sigmoid(gate) * up) @ one.network.down.T
    return apart(one(x, cache, None), plain)


def numbers_in(value: object) -> int:
    """How many numbers the tensors have that an object holds, at whatever depth."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, list | tuple):
        return sum(numbers_in(one) for one in value)
    return numbers_in(list(vars(value).values())) if hasattr(value, "__dict__") else 0


def stack(shape: Shape) -> dict[str, object]:
    """A stack as it is measured: its weights counted, and what two forwards of it say."""
    made = Stack(shape, find_device("cpu"), seed=1)
    forward = Forward(made, tokens=4, context=9)
    first, again = forward.run(), forward.run()
    forward.draw()
    other = forward.run()
    return {
        "weights": numbers_in(made.layers),
        "declared": shape.weights,
        "kept": sum(numbers_in([one.stored, one.mask]) for one in forward._caches),
        "declared_kept": kept_bytes(shape, 4, 9) // BYTES_PER_NUMBER,
        "same": bool(torch.equal(first, again)),
        "other": apart(other.double(), first.double()),
        "finite": bool(torch.isfinite(other).all()),
        "distinct": forward.distinct_experts(),
    }


def refusal() -> str | None:
    """What is said where no GPU is found; None where one is."""
    try:
        find_device("cuda")
    except NotApplicable as error:
        return str(error)
    return None


def main() -> None:
    """Compare all of them and print it."""
    torch.manual_seed(0)
    small = {"hidden": 32, "intermediate": 64, "layers": 2}
    mixture = {**small, "experts": 16, "experts_per_token": 3}
    batches = ((5, 3), (16, 1))  # tokens, experts of each
    print(
        json.dumps(
            {
                "grouped": [grouped(1, 7), grouped(5, 7)],
                "latent": [latent(1, 7), latent(5, 7)],
                "loop": [experts(expert_by_expert, n, 3, torch.float64) for n in (1, 8)],
                "kernel": [experts(routed_experts, *batch, torch.float32) for batch in batches],
                "routing": [routing(1), routing(6)],
                "layer": [layer(1), layer(3)],
                "refusal": refusal(),
                "stacks": [
                    stack(shape_of("llama-8b", **small).sharded(4)),
                    stack(shape_of("kimi-k2-slice", **mixture).sharded(64)),
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
