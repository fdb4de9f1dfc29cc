"""Runs sglang's ``bench_serving`` beside a CPU build of torch, by the python of its environment."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "engine"))

from vision_operators import declare

if __name__ == "__main__":
    declare()
    runpy.run_module("sglang.bench_serving", run_name="__main__")
