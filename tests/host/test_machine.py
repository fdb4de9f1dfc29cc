"""What the kernel tells of the machine: the PCI bus, containers, boot and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.host import pci
from gamekit.host.container import find_container
from gamekit.host.machine import loaded_driver, memory_gib


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def bridge(sys: Path, address: str, control: int | None, size: int = 4096) -> None:
    """A bridge with an advanced error capability, then, unless None, one of access control."""
    configuration = bytearray(size)
    if size > 256:
        following = 0x148 if control is not None else 0
        configuration[0x100:0x104] = (following << 20 | 0x1_0001).to_bytes(4, "little")
        if control is not None:
            configuration[0x148:0x14C] = 0x1_000D.to_bytes(4, "little")
            configuration[0x14E:0x150] = control.to_bytes(2, "little")
    write(sys / f"bus/pci/devices/{address}/class", "0x060400\n")
    write(sys / f"bus/pci/devices/{address}/config", bytes(configuration))


def test_access_control_is_read_from_the_bridges(tmp_path: Path) -> None:
    """Bridges that redirect requests or completions are counted; source validation is none."""
    write(tmp_path / "bus/pci/devices/0000:00:06.0/class", "0x030200\n")
    bridge(tmp_path, "0000:00:01.0", 0x1)
    assert pci.acs(tmp_path) == ("off", "")
    bridge(tmp_path, "0000:00:02.0", 0x1D)
    bridge(tmp_path, "0000:00:03.0", None)
    assert pci.acs(tmp_path) == ("on at 1 of 3 bridges", "")


def test_access_control_that_only_root_can_read_is_unknown(tmp_path: Path) -> None:
    """The first 64 bytes, which everybody can read, do not tell it."""
    bridge(tmp_path, "0000:00:01.0", None, size=64)
    told, why = pci.acs(tmp_path)
    assert told is None
    assert "root can" in why


def test_a_chain_of_capabilities_that_never_ends_is_left(tmp_path: Path) -> None:
    """A capability that names itself as the next one is no endless loop."""
    configuration = bytearray(4096)
    configuration[0x100:0x104] = (0x100 << 20 | 1).to_bytes(4, "little")
    write(tmp_path / "bus/pci/devices/0000:00:01.0/class", "0x060400\n")
    write(tmp_path / "bus/pci/devices/0000:00:01.0/config", bytes(configuration))
    assert pci.acs(tmp_path) == ("off", "")


def test_the_iommu_is_off_without_groups_and_on_by_how_it_treats_the_gpus(tmp_path: Path) -> None:
    """No group is off; a group's type says whether addresses of a GPU are translated."""
    assert pci.iommu([], tmp_path)[0] is None
    (tmp_path / "kernel/iommu_groups").mkdir(parents=True)
    assert pci.iommu([], tmp_path) == ("off", "")
    (tmp_path / "kernel/iommu_groups/7").mkdir()
    assert pci.iommu(["00000000:00:06.0"], tmp_path) == ("on", "")
    write(tmp_path / "bus/pci/devices/0000:00:06.0/iommu_group/type", "identity\n")
    assert pci.iommu(["00000000:00:06.0", None], tmp_path) == ("on (identity)", "")


def test_a_numa_node_below_0_is_unknown(tmp_path: Path) -> None:
    """-1 is the kernel's word for a firmware that does not tell."""
    write(tmp_path / "bus/pci/devices/0000:00:06.0/numa_node", "-1\n")
    assert pci.numa_nodes(["00000000:00:06.0"], tmp_path) is None
    write(tmp_path / "bus/pci/devices/0000:0a:00.0/numa_node", "1\n")
    assert pci.numa_nodes(["00000000:00:06.0", "00000000:0A:00.0"], tmp_path) == [None, 1]


DOCKER_V1 = "12:memory:/docker/5f3a\n1:name=systemd:/docker/5f3a\n"
KUBERNETES_V2 = "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-5f.scope\n"
OVERLAY = "1 0 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/{}/overlay2/l\n"


@pytest.mark.parametrize(
    ("files", "environ", "found", "evidence"),
    [
        ({".dockerenv": ""}, {}, True, "/.dockerenv exists"),
        ({"run/.containerenv": ""}, {}, True, "/run/.containerenv exists"),
        ({}, {"container": "oci"}, True, "the variable container is set"),
        ({"proc/1/cgroup": DOCKER_V1}, {}, True, "(version 1) of process 1 names docker"),
        ({"proc/1/cgroup": KUBERNETES_V2}, {}, True, "(version 2) of process 1 names kubepods"),
        (
            {"proc/1/cgroup": "0::/\n", "proc/1/mountinfo": OVERLAY.format("containerd")},
            {},
            True,
            "the mount of the root names containerd",
        ),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {}, False, "(version 2) of process 1 names no"),
        ({"proc/1/cgroup": "2:cpu:/\n1:pids:/init\n"}, {}, False, "(version 1) of process 1"),
        ({"proc/1/cgroup": "0::/\n"}, {}, None, "(version 2) of process 1 is a root"),
        ({}, {}, None, "/proc/1/cgroup cannot be read"),
    ],
)
def test_a_container_is_known_by_its_evidence(
    tmp_path: Path,
    files: dict[str, str],
    environ: dict[str, str],
    found: bool | None,
    evidence: str,
) -> None:
    """Marks, variables, control groups of both versions and the root's mount tell, each by name."""
    for name, text in files.items():
        write(tmp_path / name, text)
    told, by = find_container(tmp_path, environ)
    assert told is found
    assert evidence in by


@pytest.mark.parametrize(
    "kind", ["NVIDIA UNIX x86_64 Kernel Module ", "NVIDIA UNIX Open Kernel Module for x86_64 "]
)
def test_the_driver_is_known_without_asking_it(tmp_path: Path, kind: str) -> None:
    """The kernel tells the version of the module it has loaded, closed or open."""
    assert loaded_driver(tmp_path) is None
    told = f"NVRM version: {kind} 580.159.04  Release Build\nGCC version:  gcc 13.2.0\n"
    write(tmp_path / "proc/driver/nvidia/version", told)
    assert loaded_driver(tmp_path) == "580.159.04"


def test_the_memory_of_this_machine_is_known() -> None:
    """Memory is a whole number of GiB above 0."""
    assert (memory_gib() or 0) > 0
