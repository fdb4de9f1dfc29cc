"""Runs a bench of sglang's beside a CPU build of torch, by the python of its environment.

usage: sglang_bench.py MODULE [ARGUMENT...]
"""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "engine"))

from vision_operators import declare

if __name__ == "__main__":
    declare()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=False)
