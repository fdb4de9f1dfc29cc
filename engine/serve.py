"""Serves SmolLM2-135M-Instruct with the real sglang on the CPU; `make engine` builds what it needs.

    .venv/engine/bin/python engine/serve.py --port 30000 [more flags of sglang]

A process that sglang starts runs this file again, as far as the last condition: what stands before
it holds for each of them.
"""

import os
import sys
from pathlib import Path

import vision_operators

os.environ.setdefault("SGLANG_USE_CPU_ENGINE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Beside other work, two threads wait for each other at every step: half as many tokens come.
os.environ.setdefault("OMP_NUM_THREADS", "1")

MODEL = Path(sys.prefix) / "model"
# fmt: off
FLAGS = [
    "--model-path", str(MODEL), "--served-model-name", "SmolLM2-135M-Instruct",
    "--device", "cpu", "--dtype", "float32",  # a CPU without bfloat16 takes twice as long with it
    "--attention-backend", "torch_native", "--sampling-backend", "pytorch",
    "--grammar-backend", "none", "--disable-radix-cache", "--skip-server-warmup",
    "--enable-metrics", "--mem-fraction-static", "0.2", "--max-total-tokens", "4096",
]
# fmt: on

vision_operators.declare()

if __name__ == "__main__":
    from sglang.launch_server import run_server
    from sglang.srt.server_args import prepare_server_args

    run_server(prepare_server_args([*FLAGS, *sys.argv[1:]]))
