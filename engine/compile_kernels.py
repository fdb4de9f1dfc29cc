"""Compiles the experts' kernels for a GPU that is not here, as the H200 has it (sm_90).

Triton's interpreter, which runs them on a CPU, takes what its compiler refuses. Prints, as JSON,
how many bytes of shared memory each kernel takes, and how many products and loads are in its code.
"""

from __future__ import annotations

import json
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from gamekit.forward import expert_kernel

HOPPER = GPUTarget("cuda", 90, 32)


def compiled(kernel: Any, *, width: int, columns: int) -> dict[str, int]:
    """A kernel for DeepSeek-V3's hidden size and experts of ``width``."""
    sizes = {
        "hidden": 7168,
        "width": width,
        "rows": expert_kernel.MOST_TOKENS,
        "slots": 8,
        "columns": columns,
        "depth": expert_kernel.DEPTH,
    }
    types = {"chosen": "*i64", "tokens": "i32", "per_token": "i32"} | dict.fromkeys(
        sizes, "constexpr"
    )
    signature = {name: types.get(name, "*bf16") for name in kernel.arg_names}
    # torch's memory begins at multiples of 16 bytes, which is what lets loads be wide.
    aligned = {
        (number,): [["tt.divisibility", 16]]
        for number, kind in enumerate(signature.values())
        if kind.startswith("*")
    }
    source = ASTSource(fn=kernel, signature=signature, constexprs=sizes, attrs=aligned)
    made = triton.compile(source, target=HOPPER, options=expert_kernel.LAUNCH)
    return {
        "shared_bytes": made.metadata.shared,
        "products": made.asm["ptx"].count("mma.sync"),
        "asynchronous_loads": made.asm["ptx"].count("cp.async.cg"),
    }


def main() -> None:
    """Compile both kernels, for whole experts and for an eighth of them."""
    kernels = [
        compiled(kernel, width=width, columns=columns)
        for kernel, width, columns in (
            (expert_kernel.gate_up_kernel, 2048, expert_kernel.columns_of(2048)),
            (expert_kernel.gate_up_kernel, 256, expert_kernel.columns_of(256)),
            (expert_kernel.down_kernel, 256, expert_kernel.columns_of(7168)),
        )
    ]
    print(json.dumps(kernels))


if __name__ == "__main__":
    main()
