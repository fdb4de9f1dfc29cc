"""Triton kernels that multiply tokens with the experts they chose, reading each expert once.

One program belongs to one pair of token and choice, and to one block of output columns. Only the
first pair of each expert works, for all tokens that chose that expert: so the grid has a fixed
size, as a CUDA graph needs, nothing is sorted or copied, and the host is never asked. Triton takes
annotations for code, so that its kernels have none but its own.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# The rows of one matrix product: the fewest that tensor cores take.
MOST_TOKENS = 16
# Numbers of a row that are loaded at once, and how many such loads are under way.
DEPTH = 128
LAUNCH = {"num_warps": 4, "num_stages": 4}


@triton.jit
def _members(
    chosen,
    pair,
    tokens,
    per_token,
    rows: tl.constexpr,
    slots: tl.constexpr,
):
    """The pair's expert, whether an earlier pair has it, which tokens chose it, and where."""
    row = tl.arange(0, rows)[:, None]
    slot = tl.arange(0, slots)[None, :]
    inside = (row < tokens) & (slot < per_token)
    position = row * per_token + slot
    experts = tl.load(chosen + position, mask=inside, other=-1)
    expert = tl.load(chosen + pair)
    same = experts == expert
    earlier = tl.sum(tl.sum((same & (position < pair)).to(tl.int32), 1), 0)
    member = tl.sum(same.to(tl.int32), 1) > 0
    own = tl.sum(tl.where(same, position, 0), 1)
    return expert.to(tl.int64), earlier, member, own


@triton.jit
def gate_up_kernel(  # noqa: PLR0913, PLR0917 - a kernel takes pointers and sizes one by one
    x,
    weights,
    chosen,
    out,
    tokens,
    per_token,
    hidden: tl.constexpr,
    width: tl.constexpr,
    rows: tl.constexpr,
    slots: tl.constexpr,
    columns: tl.constexpr,
    depth: tl.constexpr,
):
    """``silu(x · gate) * (x · up)`` of each pair; gate and up stand one above the other."""
    pair = tl.program_id(0)
    expert, earlier, member, own = _members(chosen, pair, tokens, per_token, rows, slots)
    if earlier == 0:
        row = tl.arange(0, rows)
        column = tl.program_id(1) * columns + tl.arange(0, columns)
        gate_rows = weights + expert * (2 * width * hidden) + column[:, None] * hidden
        up_rows = gate_rows + width * hidden
        gate = tl.zeros((rows, columns), dtype=tl.float32)
        up = tl.zeros((rows, columns), dtype=tl.float32)
        for start in range(0, hidden, depth):
            k = start + tl.arange(0, depth)
            inside = (column[:, None] < width) & (k[None, :] < hidden)
            inputs = tl.load(
                x + row[:, None] * hidden + k[None, :],
                mask=member[:, None] & (k[None, :] < hidden),
                other=0.0,
            )
            gate_block = tl.load(gate_rows + k[None, :], mask=inside, other=0.0)
            up_block = tl.load(up_rows + k[None, :], mask=inside, other=0.0)
            gate = tl.dot(inputs, tl.trans(gate_block), gate)
            up = tl.dot(inputs, tl.trans(up_block), up)
        gated = gate * tl.sigmoid(gate) * up
        tl.store(
            out + own[:, None] * width + column[None, :],
            gated.to(out.dtype.element_ty),
            mask=member[:, None] & (column[None, :] < width),
        )


@triton.jit
def down_kernel(  # noqa: PLR0913, PLR0917 - a kernel takes pointers and sizes one by one
    gated,
    weights,
    chosen,
    out,
    tokens,
    per_token,
    hidden: tl.constexpr,
    width: tl.constexpr,
    rows: tl.constexpr,
    slots: tl.constexpr,
    columns: tl.constexpr,
    depth: tl.constexpr,
):
    """The second product of each pair, from ``width`` back to ``hidden``."""
    pair = tl.program_id(0)
    expert, earlier, member, own = _members(chosen, pair, tokens, per_token, rows, slots)
    if earlier == 0:
        column = tl.program_id(1) * columns + tl.arange(0, columns)
        down_rows = weights + expert * (width * hidden) + column[:, None] * width
        total = tl.zeros((rows, columns), dtype=tl.float32)
        for start in range(0, width, depth):
            k = start + tl.arange(0, depth)
            inputs = tl.load(
                gated + own[:, None] * width + k[None, :],
                mask=member[:, None] & (k[None, :] < width),
                other=0.0,
            )
            block = tl.load(
                down_rows + k[None, :],
                mask=(column[:, None] < hidden) & (k[None, :] < width),
                other=0.0,
            )
            total = tl.dot(inputs, tl.trans(block), total)
        tl.store(
            out + own[:, None] * hidden + column[None, :],
            total.to(out.dtype.element_ty),
            mask=member[:, None] & (column[None, :] < hidden),
        )


def columns_of(size: int) -> int:
    """The columns of one program's block: few where there are few, so that all have work."""
    if size < 1024:
        return 16
    return 32 if size < 4096 else 64


def routed_experts(x: Any, chosen: Any, share: Any, gate_up: Any, down: Any) -> Any:
    """The sum over each token's chosen experts, each weighted with its share.

    ``x`` is [tokens, hidden] with at most ``MOST_TOKENS`` tokens, ``chosen`` and ``share`` are
    [tokens, choices] (a token chooses an expert once), ``gate_up`` is [experts, 2 * width, hidden],
    ``down`` is [experts, hidden, width]; all contiguous.
    """
    tokens, hidden = x.shape
    per_token = chosen.shape[1]
    width = down.shape[2]
    pairs = tokens * per_token
    gated = torch.empty((pairs, width), dtype=x.dtype, device=x.device)
    out = torch.empty((tokens, per_token, hidden), dtype=x.dtype, device=x.device)
    common = {
        "hidden": hidden,
        "width": width,
        "rows": MOST_TOKENS,
        "slots": triton.next_power_of_2(per_token),
        "depth": DEPTH,
        **LAUNCH,
    }
    columns = columns_of(width)
    gate_up_kernel[pairs, triton.cdiv(width, columns)](
        x, gate_up, chosen, gated, tokens, per_token, columns=columns, **common
    )
    columns = columns_of(hidden)
    down_kernel[pairs, triton.cdiv(hidden, columns)](
        gated, down, chosen, out, tokens, per_token, columns=columns, **common
    )
    return torch.bmm(share[:, None, :], out)[:, 0]
