"""Identity rests on stable facts alone, and not on the order in which they are told."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gamekit.findings import Environment
from gamekit.host.identity import identity

BASE: dict[str, Any] = {
    "gpus": ["NVIDIA H200"] * 2,
    "driver": "580.159.04",
    "cuda": "13.0",
    "nccl": "2.28.9",
    "topology": {"GPU0-GPU1": "NV18"},
    "packages": {"torch": "2.11.0", "sglang": "0.5.15", "nvidia-nccl-cu13": "2.28.9"},
    "boot": "boot_id 1",
    "start": "a",
}


def digest(**changed: Any) -> str:
    return identity(Environment.model_validate({**BASE, **changed})).digest


def test_another_boot_start_or_variable_is_the_same_machine() -> None:
    """What belongs to a boot or to a process is no part of the identity."""
    other = {
        "boot": "btime 7",
        "start": None,
        "variables": {"NCCL_ALGO": "Ring"},
        "python": "3.13.1",
    }
    assert digest(**other) == digest()


def test_whatever_is_stable_makes_another_machine() -> None:
    """Each changed fact changes the digest, and no two alike."""
    changes: list[dict[str, Any]] = [
        {"driver": "590.1"},
        {"nccl": "2.29.1"},
        {"cuda": "13.1"},
        {"gpus": ["NVIDIA H200"]},
        {"topology": {"GPU0-GPU1": "PHB"}},
        {"packages": {**BASE["packages"], "torch": "2.12.0"}},
        {"power_limit_w": [450.0, 450.0]},
        {"iommu": "off"},
    ]
    digests = [digest(), *(digest(**one) for one in changes)]
    assert len(set(digests)) == len(digests)


def test_a_machine_is_the_same_whether_its_engine_runs_or_not() -> None:
    """The installed NCCL counts where no engine has one loaded, and the engine by its package."""
    assert digest(nccl=None) == digest()
    assert digest(engine="sglang", engine_version="0.5.15") == digest()
    assert digest(engine="sglang", engine_version="0.5.16") != digest()


@given(st.permutations(list(BASE["packages"].items())), st.permutations(list(BASE)))
def test_no_order_changes_the_identity(packages: list[tuple[str, str]], fields: list[str]) -> None:
    """Packages and fields in any order have one digest."""
    told = {name: BASE[name] for name in fields} | {"packages": dict(packages)}
    assert identity(Environment.model_validate(told)).digest == digest()


@given(st.dictionaries(st.from_regex(r"NCCL_[A-Z]{1,8}", fullmatch=True), st.text(max_size=8)))
def test_no_variable_changes_the_identity(variables: dict[str, str]) -> None:
    """Variables steer a process, in whatever number and order."""
    turned = dict(reversed(variables.items()))
    assert digest(variables=variables) == digest(variables=turned) == digest()
