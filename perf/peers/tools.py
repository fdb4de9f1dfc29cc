"""The tools that are compared: how each is installed, started and read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamekit import __version__
from gamekit.stand_in.config import MODEL_NAME
from perf.peers.environments import HUB_NAME, PLACE

_PROMPT_TOKENS = 16
_SGLANG_BENCH = Path(__file__).with_name("sglang_bench.py")
# A CPU build where the index has one: the tools import torch, and never compute with it here.
_TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Job:
    """One run: what a tool is asked to do. ``folder`` is empty and its own."""

    url: str
    concurrency: int
    requests: int
    tokens: int
    folder: Path
    tokenizer: Path


@dataclass(frozen=True)
class Reported:
    """What a tool says of a run, in ms; ``gap_p99_ms`` is None where it does not tell."""

    completed: int
    ttft_ms: float
    time_per_token_ms: float
    gap_p99_ms: float | None


@dataclass(frozen=True)
class Tool:
    """A tool: ``steps`` are arguments of pip install, none for gamekit itself.

    ``read`` takes the folder of the job.
    """

    name: str
    version: str
    environment: str
    steps: Sequence[Sequence[str]]
    command: Callable[[Job], list[str]]
    read: Callable[[Path], Reported]


def _bin(environment: str, name: str) -> str:
    return str(PLACE / environment / "bin" / name)


def _gamekit_command(job: Job) -> list[str]:
    numbers = [str(number) for number in (job.concurrency, job.requests, job.tokens)]
    output = str(job.folder / "result.json")
    return [sys.executable, "-m", "perf.peers.gamekit_client", job.url, *numbers, output]


def _gamekit_read(folder: Path) -> Reported:
    return Reported(**_json(folder / "result.json"))


def _sglang_command(job: Job, program: Sequence[str]) -> list[str]:
    # fmt: off
    return [
        _bin("sglang", "python"), str(_SGLANG_BENCH), *program,
        "--backend", "sglang-oai-chat", "--base-url", job.url, "--model", MODEL_NAME,
        "--tokenizer", str(job.tokenizer), "--dataset-name", "random-ids",
        "--random-input-len", str(_PROMPT_TOKENS), "--random-output-len", str(job.tokens),
        "--random-range-ratio", "1", "--num-prompts", str(job.requests),
        "--max-concurrency", str(job.concurrency), "--request-rate", "inf",
        "--warmup-requests", "1",
        "--output-file", str(job.folder / "result.json"),
    ]
    # fmt: on


def _sglang_read(folder: Path) -> Reported:
    said = json.loads((folder / "result.json").read_text(encoding="utf-8").splitlines()[-1])
    return Reported(
        said["completed"], said["mean_ttft_ms"], said["mean_tpot_ms"], said.get("p99_itl_ms")
    )


def _vllm_command(job: Job) -> list[str]:
    # fmt: off
    return [
        _bin("vllm", "vllm"), "bench", "serve",
        "--backend", "openai-chat", "--base-url", job.url, "--endpoint", "/v1/chat/completions",
        "--model", MODEL_NAME, "--tokenizer", str(job.tokenizer), "--dataset-name", "random",
        "--random-input-len", str(_PROMPT_TOKENS), "--random-output-len", str(job.tokens),
        "--num-prompts", str(job.requests), "--max-concurrency", str(job.concurrency),
        "--request-rate", "inf", "--ignore-eos", "--disable-tqdm", "--save-result",
        "--result-dir", str(job.folder), "--result-filename", "result.json",
    ]
    # fmt: on


def _vllm_read(folder: Path) -> Reported:
    said = _json(folder / "result.json")
    return Reported(
        said["completed"], said["mean_ttft_ms"], said["mean_tpot_ms"], said.get("p99_itl_ms")
    )


def _guidellm_command(job: Job) -> list[str]:
    # fmt: off
    return [
        _bin("guidellm", "guidellm"), "run",
        "--backend", f"kind=openai_http,target={job.url},model={MODEL_NAME}",
        "--profile", f"kind=concurrent,streams={job.concurrency}",
        "--constraint", f"kind=max_requests,count={job.requests}",
        "--tokenizer", f"kind=huggingface_auto,model={job.tokenizer}",
        "--data", f"kind=synthetic_text,prompt_tokens={_PROMPT_TOKENS},output_tokens={job.tokens}",
        "--output", f"kind=json,path={job.folder / 'result.json'}",
        "--disable-console",
    ]
    # fmt: on


def _guidellm_read(folder: Path) -> Reported:
    metrics = _json(folder / "result.json")["benchmarks"][0]["metrics"]
    return Reported(
        metrics["request_totals"]["successful"],
        metrics["time_to_first_token_ms"]["successful"]["mean"],
        metrics["inter_token_latency_ms"]["successful"]["mean"],
        None,
    )


def _aiperf_command(job: Job) -> list[str]:
    # It takes the path of a tokenizer for a name on the hub, unless the hub can be asked.
    # fmt: off
    return [
        _bin("aiperf", "aiperf"), "profile",
        "--model", MODEL_NAME, "--url", job.url, "--endpoint-type", "chat", "--streaming",
        "--tokenizer", HUB_NAME, "--concurrency", str(job.concurrency),
        "--request-count", str(job.requests), "--warmup-request-count", "1",
        "--synthetic-input-tokens-mean", str(_PROMPT_TOKENS),
        "--output-tokens-mean", str(job.tokens), "--extra-inputs", "ignore_eos:true",
        "--use-server-token-count", "--artifact-dir", str(job.folder), "--ui", "none",
    ]
    # fmt: on


def _aiperf_read(folder: Path) -> Reported:
    said = _json(next(folder.rglob("profile_export_aiperf.json")))
    return Reported(
        int(said["request_count"]["avg"]),
        said["time_to_first_token"]["avg"],
        said["inter_token_latency"]["avg"],
        said.get("inter_chunk_latency", {}).get("p99"),
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


_SGLANG_STEPS = (
    (
        _TORCH, "transformers==5.19.0", "aiohttp", "apache-tvm-ffi", "compressed-tensors",
        "datasets", "fastapi", "gguf", "ipython", "msgspec", "numpy", "orjson", "pillow", "psutil",
        "pybase64", "pydantic", "pyzmq", "requests", "sentencepiece", "setproctitle", "tqdm",
        "triton", "uvicorn", "uvloop",
    ),
    ("--no-deps", "sglang==0.5.23", "torchvision==0.28.0"),
)  # fmt: skip
TOOLS = (
    Tool("gamekit", __version__, "", (), _gamekit_command, _gamekit_read),
    Tool(
        "sglang bench_serving",
        "0.5.23",
        "sglang",
        _SGLANG_STEPS,
        lambda job: _sglang_command(job, ("sglang.bench_serving", "--disable-tqdm")),
        _sglang_read,
    ),
    Tool(
        "sglang's Rust client",
        "0.5.23",
        "sglang",
        _SGLANG_STEPS,
        lambda job: _sglang_command(job, ("sglang.benchmark.rust_client",)),
        _sglang_read,
    ),
    Tool(
        "vllm bench serve",
        "0.33.0",
        "vllm",
        (
            (
                _TORCH, "aiohttp", "cachetools", "cbor2", "cloudpickle", "einops", "fastapi",
                "llguidance", "msgspec", "numpy", "openai", "openai_harmony", "orjson",
                "partial-json-parser", "pillow", "prometheus_client", "psutil", "py-cpuinfo",
                "pybase64", "pydantic", "pyzmq", "regex", "requests", "tqdm", "transformers",
                "urllib3", "uvicorn", "uvloop", "watchfiles", "xgrammar",
            ),
            ("--no-deps", "vllm==0.33.0"),
        ),
        _vllm_command,
        _vllm_read,
    ),
    Tool(
        "guidellm",
        "0.8.1",
        "guidellm",
        ((_TORCH, "guidellm==0.8.1"),),
        _guidellm_command,
        _guidellm_read,
    ),
    Tool(
        "aiperf",
        "0.13.0",
        "aiperf",
        (("aiperf==0.13.0",),),
        _aiperf_command,
        _aiperf_read,
    ),
)  # fmt: skip
