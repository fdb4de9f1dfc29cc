"""The layers of verify_cost against plain ones, and verify_cost itself, with torch on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from gamekit.findings import Measurement
from gamekit.forward.shape import shape_of
from gamekit.forward.traffic import traffic
from gamekit.store.load import load

REPOSITORY = Path(__file__).resolve().parent.parent
PYTHON = str(REPOSITORY / ".venv/engine/bin/python")
# The engine's environment has torch and not all that gamekit needs, which comes behind it.
GAMEKIT = f"""
import runpy, sys
sys.path.append({sysconfig.get_path("purelib")!r})
sys.argv[0] = "gamekit"
runpy.run_module("gamekit", run_name="__main__")
"""


def with_torch(
    *arguments: str, cwd: Path = REPOSITORY, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What a child of the engine's interpreter says."""
    return subprocess.run(
        [PYTHON, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def compared() -> dict[str, Any]:
    """How far the layers are from plain ones."""
    child = with_torch(str(REPOSITORY / "engine/plain_forward.py"), TRITON_INTERPRET="1")
    assert child.returncode == 0, child.stderr
    answer: dict[str, Any] = json.loads(child.stdout)
    return answer


@pytest.mark.parametrize(
    ("part", "allowed"),
    [
        ("grouped", 1e-7),  # angles are of float32
        ("latent", 1e-7),
        ("layer", 1e-12),
        ("loop", 1e-12),
        ("routing", 1e-6),  # scores are of float32
        ("kernel", 1e-5),  # all of float32
    ],
)
def test_layers_give_what_plain_ones_give(
    compared: dict[str, Any], part: str, allowed: float
) -> None:
    """Attention in both forms, the networks, the routing and the Triton kernels are right."""
    assert compared[part]
    assert all(0 <= apart <= allowed for apart in compared[part])


def test_the_kernels_compile_for_the_gpu_they_are_for(tmp_path: Path) -> None:
    """Triton makes them for an H200: with tensor cores, loads under way, and room for two at once.

    A multiprocessor of it has 228 KiB of shared memory.
    """
    child = with_torch(
        str(REPOSITORY / "engine/compile_kernels.py"), TRITON_CACHE_DIR=str(tmp_path)
    )
    assert child.returncode == 0, child.stderr
    kernels = json.loads(child.stdout)
    assert len(kernels) == 3
    for one in kernels:
        assert one["products"] > 0
        assert one["asynchronous_loads"] > 0
        assert 2 * one["shared_bytes"] <= 227 * 1024


def test_a_stack_has_the_weights_that_its_shape_declares(compared: dict[str, Any]) -> None:
    """Every tensor of the layers is counted, of a rank as well, and no other."""
    assert [one["weights"] for one in compared["stacks"]] == [
        one["declared"] for one in compared["stacks"]
    ]


def test_a_forward_holds_what_its_shape_declares(compared: dict[str, Any]) -> None:
    """Caches and masks of all layers are what the check of free memory counts."""
    assert [one["kept"] for one in compared["stacks"]] == [
        one["declared_kept"] for one in compared["stacks"]
    ]


def test_a_context_that_has_no_room_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    """The largest case of a sweep is what is looked at, although it comes last."""
    (tmp_path / "findings").mkdir()
    (tmp_path / "gamekit.yaml").write_text("schema: 1\ntitle: Trial\nplan: plan.md\n")
    settings = ("device=cpu", "mode=eager", "layers=200", "hidden=64", "intermediate=64")
    settings = (*settings, "tokens=1,16", "context=8,131072")
    given = [text for one in settings for text in ("--set", one)]
    done = with_torch("-c", GAMEKIT, "bench", "verify_cost", *given, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "131072 tokens in its cache takes" in done.stderr


def test_a_matrix_that_has_no_room_is_refused(tmp_path: Path) -> None:
    """The matrices of gpu_ceilings are looked at before they are made, as its buffers are."""
    (tmp_path / "findings").mkdir()
    (tmp_path / "gamekit.yaml").write_text("schema: 1\ntitle: Trial\nplan: plan.md\n")
    given = ("--set", "device=cpu", "--set", "buffer=8", "--set", "matrix=65536")
    done = with_torch("-c", GAMEKIT, "bench", "gpu_ceilings", *given, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "matrices of 65536 rows takes" in done.stderr


def test_a_forward_depends_on_its_tokens_and_on_nothing_else(compared: dict[str, Any]) -> None:
    """The same tokens give the same again, others give others; each takes 3 of 16 experts."""
    for one in compared["stacks"]:
        assert one["same"]
        assert one["finite"]
        assert one["other"] > 0.1
    dense, mixture = compared["stacks"]
    assert dense["distinct"] == []
    assert len(mixture["distinct"]) == 2
    assert all(3 <= count <= 12 for count in mixture["distinct"])


def test_without_a_gpu_it_says_so_and_what_to_do(compared: dict[str, Any]) -> None:
    """It does not measure the CPU unasked, and says how to ask."""
    if compared["refusal"] is None:
        pytest.skip("a GPU is here")
    assert "finds no GPU" in compared["refusal"]
    assert "--set device=cpu" in compared["refusal"]


def test_a_cpu_is_labelled_and_its_figures_hold_together(tmp_path: Path) -> None:
    """Subject and warning name the CPU; bytes are the sizes' and experts', ratios the times'."""
    (tmp_path / "findings").mkdir()
    (tmp_path / "gamekit.yaml").write_text("schema: 1\ntitle: Trial\nplan: plan.md\n")
    sizes = {"layers": 2, "hidden": 32, "intermediate": 64, "experts": 16, "experts_per_token": 3}
    settings = {"shape": "kimi-k2-slice", "shards": 64, "device": "cpu", "mode": "eager", **sizes}
    settings |= {"tokens": 2, "context": 9, "repeats": 6, "calls": 1, "warmup": 1}
    given = [text for key, value in settings.items() for text in ("--set", f"{key}={value}")]
    done = with_torch("-c", GAMEKIT, "bench", "verify_cost", *given, "--append", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    base = load(tmp_path)
    (run,) = base.runs.values()
    (case,) = run.cases
    assert any("CPU" in warning for warning in case.warnings)
    findings = [one.finding for one in base.records.values()]
    figures = {one.metric: one for one in findings if isinstance(one, Measurement)}
    assert figures.keys() == {"forward_time", "floor_ratio"}
    subject = figures["forward_time"].subject
    assert (subject.weights, subject.cuda_graphs) == ("dummy", "eager")
    assert subject.parameters["device"] == "cpu"
    assert subject.parameters["tokens"] == 2

    shape = shape_of("kimi-k2-slice", **sizes).sharded(64)
    possible = {traffic(shape, [count], 2, 9).total for count in range(6, 13)}
    assert set(case.samples["bytes_read"]) <= possible
    for time, ratio, read in zip(
        *(case.samples[name] for name in ("forward_time", "floor_ratio", "bytes_read")),
        strict=True,
    ):
        floor_ms = read / case.facts["bandwidth_of_floor_gb_s"] / 1e6
        assert ratio == pytest.approx(time / floor_ms)
