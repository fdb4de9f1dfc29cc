"""``gamekit host``: identity apart from state, unknown with its reason, now against a run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gamekit.commands.failures import run
from gamekit.host.machine import boot
from gamekit.strict_yaml import write_yaml

from .conftest import Command, parsed

DIFFERS, NO_ANSWER, USAGE = 4, 5, 2
# Two GPUs that hang on nothing; clocks differ in every answer.
GPUS = """#!/bin/sh
case "$1" in
  --query-gpu=*) for gpu in 1 2; do
    echo "NVIDIA H200, 580.159.04, $(date +%N | cut -c1-6), 3201, 41, 77.5, 1024, 3, 0x4, 5, 16,"\\
      "143771, 5, 16, 700.00, 1980, 3201, Disabled, 00000000:00:06.0"; done ;;
  topo) case "$2" in
    -m) printf '\\tGPU0\\tGPU1\\nGPU0\\t X \\tPHB\\nGPU1\\tPHB\\t X \\n' ;;
    *) printf ' \\tGPU0\\tGPU1\\t\\n GPU0\\tX\\tOK\\t\\n GPU1\\tOK\\tX\\t\\n' ;;
  esac ;;
  *) echo 'CUDA Version: 13.0' ;;
esac
"""


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two GPUs that nvidia-smi tells of, and without NVML."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "pynvml.py").write_text("raise ImportError('none')\n")
    (folder / "nvidia-smi").write_text(GPUS)
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in os.environ if name.startswith(("NCCL_", "CUDA_", "SGLANG_"))]:
        monkeypatch.delenv(name)
    return folder


def recorded(base: Path, environment: dict[str, Any], **state: Any) -> str:
    """Put a run with this environment into the knowledge base; its id."""
    name = "20261201-000000-serving-decode-abcdef"
    data = {
        "schema": 1,
        "run": {
            "id": name,
            "benchmark": "serving_decode",
            "command": ["gamekit", "bench"],
            "gamekit_version": "0.1.0",
            "started": "2026-12-01T00:00:00Z",
            "finished": "2026-12-01T00:10:00Z",
            "outcome": "done",
            "environment": environment,
            **state,
        },
        "findings": [],
    }
    folder = base / "findings" / "measured" / "2026-12"
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text(write_yaml(data), encoding="utf-8")
    return name


def test_identity_is_apart_from_state(gamekit: Command, gpus: Path) -> None:
    """Two looks at one machine have one digest and other clocks, and no clock is a fact."""
    one, two = (parsed(gamekit("host", "--json")) for _ in range(2))
    assert one["identity"] == two["identity"]
    assert one["state"]["gpus"][0]["sm_clock_mhz"] != two["state"]["gpus"][0]["sm_clock_mhz"]
    assert one["identity"]["facts"]["gpus"] == ["NVIDIA H200", "NVIDIA H200"]
    assert one["identity"]["facts"]["topology"] == {"GPU0-GPU1": "PHB"}
    assert one["boot"] == boot()
    assert not {"boot", "state", "variables", "sm_clock_mhz"} & one["identity"]["facts"].keys()


def test_a_reader_sees_facts_state_and_what_is_unknown(gamekit: Command, gpus: Path) -> None:
    """Short lines with labels: GPUs, links, now, and why NCCL is unknown."""
    lines = gamekit("host")
    assert (
        "GPUs: 2 x NVIDIA H200, each 143771 MiB, PCIe gen 5 x16, limit 700 W, up to 1980 MHz,"
        " memory 3201 MHz (told by nvidia-smi)" in " ".join(lines.split())
    )
    assert "\nlinks: PHB GPU0-GPU1\npeer access: OK GPU0-GPU1\n" in lines
    assert "clocks held down by: sw_power_cap" in lines.replace("\n  ", " ")
    assert "\n  nccl: no process of an engine was named" in lines


def test_without_a_driver_the_gpus_are_unknown_with_the_reason(
    gamekit: Command, gpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No driver is a reason, and not a machine without GPUs."""
    (gpus / "nvidia-smi").unlink()
    monkeypatch.setenv("PATH", str(gpus))
    told = parsed(gamekit("host", "--json"))
    assert told["unknown"]["gpus"].endswith("no driver: nvidia-smi is not to be found")
    assert "gpus" not in told["identity"]["facts"]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_what_a_driver_wrote_is_redacted(gamekit: Command, gpus: Path, form: list[str]) -> None:
    """A secret in the complaint of nvidia-smi is in no output."""
    (gpus / "nvidia-smi").write_text("#!/bin/sh\necho 'no token=hunter22222' >&2; exit 9\n")
    told = gamekit("host", *form)
    assert "hunter" not in told
    assert "nvidia-smi failed (no token=[redacted]" in " ".join(told.split())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\v", "\x85", "\u2028"])
def test_a_line_end_in_a_variable_begins_no_line(
    gamekit: Command, gpus: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Line ends of every kind are shown as escapes."""
    monkeypatch.setenv("NCCL_NET_PLUGIN", f"x{end}INJECT: y")
    told = gamekit("host")
    assert not any(line.lstrip().startswith("INJECT") for line in told.splitlines())
    assert f"NCCL_NET_PLUGIN=x{end.encode('unicode_escape').decode()}INJECT:" in told


def test_variables_are_those_of_the_process_named(gamekit: Command, gpus: Path) -> None:
    """With --pid the variables are the process's own, and say so."""
    told = parsed(gamekit("host", "--json", "--pid", str(os.getpid())))
    assert told["variables_of"] == f"process {os.getpid()}"
    assert told["unknown"]["nccl"] == f"process {os.getpid()} has no libnccl.so loaded"


def test_a_process_that_is_not_there_is_refused(refused: Callable[..., str]) -> None:
    """An id that no process has is a wrong usage."""
    assert "there is no process 4194305" in refused(USAGE, "host", "--pid", "4194305")


def test_a_process_that_has_ended_is_told_from_another_users(refused: Callable[..., str]) -> None:
    """A zombie has no memory that anybody could read, and no right would help."""
    with subprocess.Popen(["/bin/sh", "-c", "exit 0"], stdout=subprocess.PIPE) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        told = refused(USAGE, "host", "--pid", str(ended.pid))
    assert f"process {ended.pid} has ended, and waits for its parent" in told


def test_a_changed_driver_and_nccl_come_first(
    base: Path, gpus: Path, gamekit: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a run recorded against now: driver, then NCCL, then the rest; exit code 4."""
    facts = parsed(gamekit("host", "--json"))["identity"]["facts"]
    then = {
        **facts,
        "driver": "570.1",
        "python": "3.12.0",
        "boot": "boot_id 0",
        "variables": {"NCCL_ALGO": "Ring"},
        "cpu_count": 999,
    }
    then.pop("nccl", None)
    name = recorded(base, then)
    assert run(["host", "--against", name, "--json"]) == DIFFERS
    against = parsed(capsys.readouterr().out)["against"]
    assert [item["field"] for item in against["differs"]][:3] == [
        *("driver", "variables.NCCL_ALGO", "cpu_count")
    ]
    assert against["differs"][1]["now"] == "not set"
    assert against["differs"][-1]["field"] == "boot"
    assert against["as_it_was"] is False
    assert run(["host", "--against", name]) == DIFFERS
    shown = capsys.readouterr()
    assert "- driver 570.1 → 580.159.04 (the driver)" in shown.out
    assert "driver 570.1 → 580.159.04" in shown.err


def test_another_boot_alone_is_the_machine_as_it_was(
    base: Path, gpus: Path, gamekit: Command
) -> None:
    """Where nothing recorded differs but the boot, that is said, and the exit code is 0."""
    facts = parsed(gamekit("host", "--json"))["identity"]["facts"]
    facts.pop("nccl", None)
    idle = {"gpus": [{"sm_clock_mhz": 1980.0, "throttle_reasons": ["sw_power_cap"]}] * 2}
    name = recorded(base, {**facts, "boot": "boot_id 0"}, state_after=idle)
    told = gamekit("host", "--against", name)
    assert f"nothing recorded differs but the boot (boot boot_id 0 → {boot()})" in " ".join(
        told.split()
    )


def test_another_load_alone_is_the_machine_as_it_was(
    base: Path, gpus: Path, gamekit: Command
) -> None:
    """The load is told and is no difference of machines; beside one, it is not what is named."""
    facts = parsed(gamekit("host", "--json"))["identity"]["facts"]
    facts.pop("nccl", None)
    busy = {"load_average": [9999.0, 9999.0, 9999.0]}
    name = recorded(base, {**facts, "boot": "boot_id 0"}, state_before=busy)
    told = " ".join(gamekit("host", "--against", name).split())
    assert "nothing recorded differs but the boot" in told
    assert "; what else ran does: state.load_average 9999 → " in told
    against = parsed(gamekit("host", "--against", name, "--json"))["against"]
    assert against["as_it_was"] is True
    assert [item["field"] for item in against["differs"]] == ["state.load_average", "boot"]
    assert "what else ran does" in against["words"]


def test_a_difference_beside_the_load_is_the_one_named(
    base: Path, gpus: Path, gamekit: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """A difference that matters less than the load still is one: exit code 4 names it."""
    facts = parsed(gamekit("host", "--json"))["identity"]["facts"]
    facts.pop("nccl", None)
    busy = {"load_average": [9999.0, 9999.0, 9999.0]}
    name = recorded(base, {**facts, "cpu_count": 999}, state_before=busy)
    assert run(["host", "--against", name]) == DIFFERS
    shown = capsys.readouterr()
    assert "- state.load_average 9999 → " in shown.out
    assert "found it: cpu_count 999 → " in " ".join(shown.err.split())


def test_the_load_alone_has_no_answer(base: Path, gpus: Path, refused: Callable[..., str]) -> None:
    """A run that recorded nothing but a load tells nothing of its machine."""
    name = recorded(base, {}, state_before={"load_average": [9999.0, 1, 1]})
    assert f"{name} recorded nothing" in refused(NO_ANSWER, "host", "--against", name)


def test_a_figure_without_environment_has_no_answer(
    base: Path, gpus: Path, refused: Callable[..., str]
) -> None:
    """A reported figure recorded nothing of its machine; a series stands for its figure."""
    assert "rate-new recorded nothing" in refused(NO_ANSWER, "host", "--against", "rate-new")
    assert "rate-new recorded nothing" in refused(NO_ANSWER, "host", "--against", "rate")


def test_what_has_no_environment_is_refused(base: Path, refused: Callable[..., str]) -> None:
    """A claim, and a name of nothing, are wrong usage."""
    assert "it has no environment" in refused(USAGE, "host", "--against", "stated-gain")
    assert "did you mean rate-new" in refused(USAGE, "host", "--against", "rate-nww")
