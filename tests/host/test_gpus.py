"""GPUs are told by NVML, else by nvidia-smi, else unknown with the reason; nothing hangs."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import H200, install, install_nvml, install_text

from gamekit.findings.subject import Environment
from gamekit.host import smi
from gamekit.host.asking import ask
from gamekit.host.capture import capture, facts, fitting
from gamekit.host.files import read
from gamekit.host.gpus import Gpus, find_gpus
from gamekit.host.plausible import checked
from gamekit.host.redact import Redactor
from gamekit.host.throttling import reasons_of
from gamekit.strict_yaml import write_yaml

COLUMNS = [
    *("name", "driver", "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w"),
    *("memory_used_mib", "utilization_percent", "throttle_reasons", "pcie_generation"),
    *("pcie_width", "memory_total_mib", "pcie_generation_max", "pcie_width_max", "power_limit_w"),
    *("max_sm_clock_mhz", "max_memory_clock_mhz", "mig", "bus_id", "mig_devices"),
]

# A driver of two GPUs, the second of which tells less.
NVML = """\
class NVMLError(Exception):
    pass
NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
class Of:
    def __init__(self, **values):
        self.__dict__ = values
def nvmlInit(): pass
def nvmlShutdown(): pass
def nvmlSystemGetDriverVersion(): return b"580.159.04"
def nvmlSystemGetCudaDriverVersion_v2(): return 12080
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(number): return number
def nvmlDeviceGetName(handle): return "NVIDIA H200 MIG 1g.18gb" if handle == "m" else "NVIDIA H200"
nvmlMemory_v2 = 2
def nvmlDeviceGetMemoryInfo(handle, version=1):
    if version == 2 and handle: raise NVMLError("Not Supported")
    return Of(total=143771 * 1024**2, used=1024**3)
def nvmlDeviceGetPciInfo(handle): return Of(busId=b"00000000:00:06.0")
def nvmlDeviceGetMigMode(handle): return (1, 1) if handle == 0 else (0, 0)
def nvmlDeviceGetMaxMigDeviceCount(handle): return 7
def nvmlDeviceGetMigDeviceHandleByIndex(handle, number):
    if number: raise NVMLError("Not Found")
    return "m"
def nvmlDeviceGetUtilizationRates(handle): return Of(gpu=3)
def nvmlDeviceGetCurrentClocksThrottleReasons(handle): return 0x4 | 0x40
def nvmlDeviceGetMaxPcieLinkGeneration(handle): return 5
def nvmlDeviceGetMaxPcieLinkWidth(handle): return 16
def nvmlDeviceGetCurrPcieLinkGeneration(handle): return 1
def nvmlDeviceGetCurrPcieLinkWidth(handle): return 8
def nvmlDeviceGetPowerManagementLimit(handle):
    if handle: raise NVMLError("Not Supported")
    return 700000
def nvmlDeviceGetPowerUsage(handle): return 77500
def nvmlDeviceGetMaxClockInfo(handle, kind): return {1: 1980, 2: 3201}[kind]
def nvmlDeviceGetClockInfo(handle, kind): return {1: 345, 2: 3201}[kind]
def nvmlDeviceGetTemperature(handle, kind): return 41
"""
NO_DRIVER = """\
class NVMLError(Exception):
    pass
def nvmlInit(): raise NVMLError("NVML Shared Library Not Found")
"""


def test_nvml_tells_facts_and_state_of_each_gpu(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where NVML can be used it is asked in a process of its own, and what it lacks is null."""
    install_nvml(NVML, tmp_path, monkeypatch)
    seen = capture(Redactor())
    assert seen.told_by["gpus"] == "NVML"
    assert seen.environment.gpus == ["NVIDIA H200"] * 2
    assert (seen.environment.driver, seen.environment.cuda) == ("580.159.04", "12.8")
    assert seen.environment.gpu_memory_mib == [143771] * 2
    assert seen.environment.power_limit_w == [700.0, None]
    assert seen.environment.mig == ["on: 1g.18gb", "off"]
    assert seen.state["gpus"][0]["throttle_reasons"] == ["sw_power_cap", "hw_thermal_slowdown"]
    assert seen.state["gpus"][0]["pcie_width"] == 8


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import time; time.sleep(60)", "NVML gave no answer in 0.9 s"),
        ("print('{'); raise ImportError", "NVML gave no answer that can be read"),
        (NO_DRIVER, "no driver: NVML Shared Library Not Found"),
    ],
)
def test_without_nvml_and_nvidia_smi_the_reason_is_told(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, why: str
) -> None:
    """An NVML that hangs or has no driver leaves the GPUs unknown, with what is wrong."""
    install_nvml(module, tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", str(programs))
    found = find_gpus(0.9)
    assert found.rows is None
    assert found.why.startswith(why)
    assert found.why.endswith("no driver: nvidia-smi is not to be found")


def test_nvidia_smi_tells_the_same_as_nvml(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine has one identity whichever of the two was asked: their values are the same."""
    mig = {**H200, "mig.mode.current": "Enabled", "clocks_event_reasons.active": "0x44"}
    bare = {**H200, "power.limit": "[N/A]", "clocks_event_reasons.active": "0x44"}
    listed = (
        "GPU 0: NVIDIA H200 (UUID: GPU-0)\n  MIG 1g.18gb     Device  0: (UUID: MIG-0)\n"
        "GPU 1: NVIDIA H200 (UUID: GPU-1)\n"
    )
    install(programs, [mig, bare], listed=listed)
    by_smi = find_gpus()
    assert by_smi.told_by == "nvidia-smi"
    install_nvml(NVML, tmp_path, monkeypatch)
    by_nvml = find_gpus()
    assert by_smi.rows is not None
    assert by_nvml.rows is not None
    same = by_nvml.rows[0].keys() - {"pcie_generation", "pcie_width"}
    for one, other in zip(by_smi.rows, by_nvml.rows, strict=True):
        assert {key: one[key] for key in same} == {key: other[key] for key in same}


@pytest.mark.parametrize("cell", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", ""])
def test_what_a_gpu_does_not_tell_is_null(programs: Path, cell: str) -> None:
    """No cell without a value becomes 0."""
    told = dict.fromkeys(H200, cell) | {"name": "NVIDIA H200"}
    install(programs, [told])
    (row,) = find_gpus().rows or ()
    assert {key for key, value in row.items() if value is not None} == {"name", "mig_devices"}


@pytest.mark.parametrize("cell", ["-5", "nan", "inf", "4" * 401, "1_0", "\x1b[31mred", "٣"])
def test_what_cannot_be_of_a_gpu_is_unknown_with_the_reason(programs: Path, cell: str) -> None:
    """An implausible value is null, says what was told, and does not touch the other GPU."""
    wrong = dict.fromkeys(H200, cell) | {"name": "NVIDIA H200", "temperature.gpu": "-300"}
    install(programs, [H200, wrong])
    seen = capture(Redactor())
    assert seen.environment.power_limit_w == [700.0, None]
    assert seen.environment.gpu_memory_mib == [143771, None]
    assert seen.state["gpus"][1]["power_w"] is None
    assert seen.unknown["power_limit_w"].endswith("of GPU1, which cannot be")
    assert {"gpu_memory_mib", "pcie", "mig", "state.temperature_c"} <= seen.unknown.keys()
    assert all(why.isprintable() for why in seen.unknown.values())


def test_what_cannot_be_of_a_gpu_is_unknown_of_nvml_too(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What NVML gives of another kind or beyond all GPUs is null, with what it gave."""
    text = NVML.replace("return 700000", "return -5").replace("return 16", "return 'wide'")
    install_nvml(text.replace('b"580.159.04"', "[580]"), tmp_path, monkeypatch)
    seen = capture(Redactor())
    assert seen.environment.gpus == ["NVIDIA H200"] * 2
    assert seen.environment.power_limit_w is None
    assert seen.unknown["power_limit_w"] == "NVML tells '-0.005' of GPU0, which cannot be"
    assert seen.unknown["pcie"] == "NVML tells 'wide' of GPU0, which cannot be"
    assert seen.unknown["driver"] == "NVML tells '[580]' of GPU0, which cannot be"


CELLS = st.text() | st.floats().map(str) | st.integers().map(str)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(COLUMNS[:-1], CELLS)), min_size=1, max_size=3))
def test_no_answer_of_nvidia_smi_loses_a_run(told: list[dict[str, str]]) -> None:
    """Whatever text is in whichever column, what is left of it can be recorded."""
    table = io.StringIO()
    csv.writer(table).writerows([row.values() for row in told])
    rows, why = smi.rows_of(table.getvalue(), COLUMNS[:-1])
    assert (rows is None) == bool(why)
    if rows is not None:
        kept, implausible = checked(rows, "nvidia-smi")
        environment, dropped = fitting(facts(Gpus(kept)))
        assert not dropped
        assert all(why.isprintable() for why in implausible.values())
        write_yaml(json.loads(json.dumps(Gpus(kept).state(), allow_nan=False)))
        Environment.model_validate_json(environment.model_dump_json())


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
)


@given(st.lists(st.dictionaries(st.sampled_from(COLUMNS), ANYTHING), max_size=3))
def test_no_answer_of_nvml_loses_a_run(told: list[dict[str, object]]) -> None:
    """Whatever is told of whichever property, what is left of it can be recorded."""
    kept, implausible = checked(told, "NVML")
    assert not fitting(facts(Gpus(kept)))[1]
    assert all(why.isprintable() for why in implausible.values())
    write_yaml(json.loads(json.dumps(Gpus(kept).state(), allow_nan=False)))


def test_what_an_environment_cannot_hold_is_left_out_alone() -> None:
    """A name too long takes no other with it, and a field that cannot be says why."""
    long = "NCCL_" + "A" * 300
    found = {"variables": {long: "1", "NCCL_ALGO": "Ring"}, "boot": "b", "cpu_count": -1}
    environment, dropped = fitting(found)
    assert environment.variables == {"NCCL_ALGO": "Ring"}
    assert (environment.boot, environment.cpu_count) == ("b", None)
    assert dropped.keys() == {"variables", "cpu_count"}


def test_an_older_nvidia_smi_is_asked_for_what_it_knows(programs: Path) -> None:
    """A property goes by its older name, or is left out, where the program refuses it."""
    older = {name: value for name, value in H200.items() if name != "mig.mode.current"}
    older["clocks_throttle_reasons.active"] = older.pop("clocks_event_reasons.active")
    install(programs, [older])
    (row,) = find_gpus().rows or ()
    assert row["throttle_reasons"] == ["gpu_idle"]
    assert row["mig"] is None
    assert row["memory_total_mib"] == 143771


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sleep 60 & wait", "nvidia-smi gave no answer in 0.4 s"),
        ("trap '' TERM; while :; do sleep 1; done", "nvidia-smi gave no answer in 0.4 s"),
        (
            "echo 'NVIDIA-SMI has failed because it could not communicate'; exit 9",
            "nvidia-smi failed (NVIDIA-SMI has failed because it could not communicate)",
        ),
        ("exit 3", "nvidia-smi failed (exit code 3)"),
        (
            "printf '\\033[31mno\\000 driver\\377\\n' >&2; exit 9",
            "nvidia-smi failed ([31mno driver\ufffd)",
        ),
        ("printf '\\033\\001\\n'", "nvidia-smi told of no GPU (it said nothing)"),
        ("echo No devices were found", "nvidia-smi told of no GPU (No devices were found)"),
        ("exit 0", "nvidia-smi told of no GPU (it said nothing)"),
        (
            "echo 'Field \"name\" is not a valid field to query.'; exit 2",
            'nvidia-smi failed (Field "name" is not a valid field to query.)',
        ),
    ],
)
def test_an_nvidia_smi_that_gives_nothing_is_told_of(programs: Path, text: str, why: str) -> None:
    """A hang, a failure and an empty answer leave the GPUs unknown, each with its reason."""
    install_text(programs, f"#!/bin/sh\n{text}\n")
    assert smi.query(0.4) == (None, why)


def test_a_program_that_hangs_takes_its_children_along(tmp_path: Path) -> None:
    """What a hanging program started is ended too, and nothing waits for it."""
    mark = tmp_path / "mark"
    answer = ask(["/bin/sh", "-c", f"(sleep 0.5; touch {mark}) & wait"], 0.2)
    assert answer.why == "sh gave no answer in 0.2 s"
    time.sleep(0.6)
    assert not mark.exists()


@pytest.mark.parametrize("where", ["", " >&2", " & wait"])
def test_a_program_that_floods_is_ended(tmp_path: Path, where: str) -> None:
    """More than any answer has is not kept: the program and what it started are ended."""
    number = tmp_path / "group"
    answer = ask(["/bin/sh", "-c", f"echo $$ >{number}; yes{where}"], 60)
    assert answer.text is None
    assert answer.why == "sh gave more than 1 MiB of output"
    group = int(number.read_text())
    for _ in range(200):
        alive = [
            stat
            for stat in map(read, Path("/proc").glob("[0-9]*/stat"))
            if stat
            and stat.rpartition(")")[2].split()[2] == str(group)
            and stat.rpartition(")")[2].split()[0] != "Z"
        ]
        if not alive:
            break
        time.sleep(0.05)
    assert not alive


def test_a_long_answer_is_read_whole(tmp_path: Path) -> None:
    """Half a MiB on both outputs at once is neither cut nor waited for."""
    program = "import sys; sys.stderr.write('e' * 2**18); sys.stdout.write('o' * 2**19)"
    assert ask([sys.executable, "-c", program], 60).text == "o" * 2**19


def test_a_program_that_cannot_be_started_is_told_of(tmp_path: Path) -> None:
    """A program without the right to run is a reason and no failure."""
    (tmp_path / "program").write_text("#!/bin/sh\n")
    assert "cannot be started: Permission denied" in ask([str(tmp_path / "program")], 1).why


@given(st.integers(0, 2**16 - 1))
def test_every_reason_for_low_clocks_is_named(bits: int) -> None:
    """Different masks have different reasons, and no bit is lost."""
    names = reasons_of(bits)
    assert len(set(names)) == len(names)
    assert set(names) >= {reasons_of(1 << bit)[0] for bit in range(11) if bits >> bit & 1}
    assert (not names) == (bits == 0)
    assert json.loads(json.dumps(names)) == names
