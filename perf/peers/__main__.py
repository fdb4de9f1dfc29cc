"""The same scripted server under gamekit and its peers; ``make peers`` writes the comparison."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from perf.machine import description, load_warning, two_cores
from perf.peers.environments import HUB, install, tokenizer
from perf.peers.report import Measurement, report
from perf.peers.tools import TOOLS, Job, Tool
from perf.peers.truth import read_truth

REPORT = Path(__file__).resolve().parents[2] / "docs" / "guide" / "peers.md"
# Several tokens a chunk, as speculation brings them: 2.5 every 30 ms.
PRECISION = SimulatorConfig(prefill_ms=100, cycle_ms=30, accept_len=2.5, steps=3)
PRECISION_TOKENS = 101
PRECISION_STREAMS = (1, 16, 64, 200)
# A token every 5 ms a stream: 1k to 40k chunks/s.
CEILING = SimulatorConfig(prefill_ms=100, cycle_ms=5)
CEILING_TOKENS = 301
CEILING_STREAMS = (5, 15, 25, 50, 100, 125, 150, 200)
LONGEST_S = 150.0


@dataclass(frozen=True)
class Bench:
    """Where things run."""

    client_core: int
    server_core: int
    tokenizer: Path


def run_tool(
    bench: Bench, tool: Tool, config: SimulatorConfig, tokens: int, concurrency: int
) -> Measurement:
    """One tool at one concurrency, all of its processes on the client's core."""
    requests = max(4, 2 * concurrency)
    with StandInEngine(config) as engine, tempfile.TemporaryDirectory() as folder:
        os.sched_setaffinity(engine.process_id or 0, {bench.server_core})
        job = Job(engine.url, concurrency, requests, tokens, Path(folder), bench.tokenizer)
        said = _run(["taskset", "-c", str(bench.client_core), *tool.command(job)])
        if said is not None:
            return Measurement(tool.name, concurrency, fault=said)
        try:
            reported = tool.read(job.folder)
            truth = read_truth(engine.url, requests, concurrency)
        except (OSError, ValueError, LookupError, TypeError, StopIteration) as error:
            return Measurement(tool.name, concurrency, fault=f"{type(error).__name__}: {error}")
    return Measurement(tool.name, concurrency, reported=reported, truth=truth)


def _run(command: list[str]) -> str | None:
    """Run to the end; returns the last thing said where that was no success."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(HUB),
        "TRANSFORMERS_VERBOSITY": "error",
        "OPENAI_API_KEY": "none",
        # No tool may send anything anywhere but to the scripted server.
        "DO_NOT_TRACK": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    try:
        ended = subprocess.run(  # noqa: S603 - the commands of tools.py
            command, capture_output=True, text=True, timeout=LONGEST_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {LONGEST_S:g} s"
    if ended.returncode == 0:
        return None
    lines = [line for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
    return f"exit code {ended.returncode}: {lines[-1].strip() if lines else 'nothing said'}"


def measure(bench: Bench, tool: Tool, progress: Progress) -> tuple[list[Measurement], ...]:
    """The precision and the ceiling of one tool; the ceiling ends where nothing holds any more."""
    precision = []
    for concurrency in PRECISION_STREAMS:
        progress.say(f"{tool.name}: precision at {concurrency}")
        precision.append(run_tool(bench, tool, PRECISION, PRECISION_TOKENS, concurrency))
        if precision[-1].fault is not None:
            break
    ceiling: list[Measurement] = []
    if all(one.fault is None for one in precision):
        for concurrency in CEILING_STREAMS:
            progress.say(f"{tool.name}: ceiling at {concurrency}")
            ceiling.append(run_tool(bench, tool, CEILING, CEILING_TOKENS, concurrency))
            last = ceiling[-1]
            if last.fault is not None or not (last.load_right or last.ttft_right):
                break
    return precision, ceiling


class Progress:
    """Tells what is being done, with the minutes since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, what: str) -> None:
        """One line on standard error."""
        minutes = (time.monotonic() - self._began) / 60
        print(f"{minutes:5.1f} min  {what}", file=sys.stderr, flush=True)


def main() -> None:
    """Install, measure, write the report."""
    parser = argparse.ArgumentParser(prog="python -m perf.peers", description=__doc__)
    parser.add_argument("--only", action="append", help="part of a tool's name; may be repeated")
    parser.add_argument("--install", action="store_true", help="install only")
    parser.add_argument("--output", type=Path, default=REPORT, help="the page that is written")
    options = parser.parse_args()
    progress = Progress()
    tools = [
        tool
        for tool in TOOLS
        if options.only is None or any(part in tool.name for part in options.only)
    ]
    missing = {}
    for tool in tools:
        why = install(tool.environment, tool.steps, progress.say) if tool.steps else None
        if why is not None:
            missing[tool.name] = why
    if options.install:
        for name, why in missing.items():
            progress.say(f"{name}: {why}")
        return
    bench = Bench(*two_cores(), tokenizer())
    heading = [description()]
    warning = load_warning()
    if warning is not None:
        heading.append(warning)
    results = {}
    for tool in tools:
        if tool.name not in missing:
            results[tool] = measure(bench, tool, progress)
    options.output.write_text(report(heading, tools, results, missing), encoding="utf-8")
    progress.say(f"wrote {options.output}")


if __name__ == "__main__":
    main()
