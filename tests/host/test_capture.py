"""Capture: what is stable is the environment, what changes is state, and nothing is imported."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from machines import H200, install

from gamekit.host.capture import capture, capture_state, engine_variables
from gamekit.host.identity import identity
from gamekit.host.machine import boot, host_name
from gamekit.host.redact import HIDDEN, Redactor

# A second GPU that tells no power.
BARE = {**H200, "power.draw": "[N/A]"}


@pytest.fixture
def smi(programs: Path) -> Path:
    """A program named nvidia-smi that is found first."""
    return install(programs, [H200, BARE])


def test_two_captures_that_differ_in_clocks_are_one_environment(smi: Path) -> None:
    """Clocks and load are state: the environments of two captures are equal."""
    one = capture(Redactor())
    install(smi.parent, [{**H200, "clocks.sm": "1980", "temperature.gpu": "71"}, BARE])
    two = capture(Redactor())
    assert one.environment == two.environment
    assert identity(one.environment) == identity(two.environment)
    assert one.state["gpus"][0]["sm_clock_mhz"] != two.state["gpus"][0]["sm_clock_mhz"]


def test_gpus_and_driver_come_from_nvidia_smi(smi: Path) -> None:
    """Model of each GPU and the driver are environment, and what is not told is null, never 0."""
    seen = capture(Redactor())
    assert seen.environment.gpus == ["NVIDIA H200", "NVIDIA H200"]
    assert seen.environment.driver == "580.159.04"
    assert seen.state["gpus"][1]["power_w"] is None


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\necho No devices\n", "no program"]
)
def test_an_nvidia_smi_that_fails_leaves_the_gpus_unknown(smi: Path, text: str) -> None:
    """A driver that does not answer properly is unknown or no GPU, and no failure of the run."""
    smi.write_text(text)
    assert not capture(Redactor()).environment.gpus
    assert "gpus" not in capture_state()


def test_the_machine_is_described() -> None:
    """Kernel, processor, python and boot are those of this machine."""
    seen = capture(Redactor()).environment
    assert seen.kernel == platform.release()
    assert seen.python == platform.python_version()
    assert seen.cpu_count == os.cpu_count()
    assert seen.boot == boot()


def test_variables_are_recorded_by_allow_list() -> None:
    """NCCL_, CUDA_ and SGLANG_ variables are kept, redacted; any other is left out."""
    seen = capture(
        Redactor(),
        {
            "NCCL_ALGO": "Ring",
            "SGLANG_API_KEY": "very-secret",
            "CUDA_HOME": "/home/joe/cuda",
            "PATH": "/bin",
            "HF_TOKEN": "x",
        },
    )
    assert seen.environment.variables == {
        "CUDA_HOME": "~/cuda",
        "NCCL_ALGO": "Ring",
        "SGLANG_API_KEY": HIDDEN,
    }


def test_a_variable_that_no_record_can_hold_is_left_out() -> None:
    """A name of hundreds of letters, or with a line end, costs neither the run nor the others."""
    environ = {"NCCL_" + "A" * 300: "1", "NCCL_A\nB": "1", "NCCL_ALGO": "Ring"}
    assert engine_variables(Redactor(), environ) == {"NCCL_ALGO": "Ring"}
    assert capture(Redactor(), environ).environment.variables == {"NCCL_ALGO": "Ring"}


def test_the_host_name_is_short_and_fit_for_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Domain, capitals and the user's name do not reach a subject."""
    monkeypatch.setattr(platform, "node", lambda: "Carlas_Box-7.corp.example")
    assert host_name(Redactor()) == "carlas-box-7"
    monkeypatch.setattr(platform, "node", lambda: "carla-laptop")
    assert host_name(Redactor(frozenset({"carla"}))) == "user-laptop"


def test_nothing_heavy_is_imported() -> None:
    """Declaring a benchmark and capturing import neither torch nor numpy nor scipy."""
    code = (
        "import sys\n"
        "from gamekit.host.capture import capture\n"
        "from gamekit.host.redact import Redactor\n"
        "from gamekit.bench.module import Benchmark\n"
        "capture(Redactor.of_this_process())\n"
        "print([m for m in ('torch', 'numpy', 'scipy', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
