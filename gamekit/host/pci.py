"""What the kernel tells of the PCI bus: NUMA node of a GPU, IOMMU, and access control of bridges.

Transfers between GPUs over PCIe depend on both: access control services (ACS) send them up to the
root, and an IOMMU that translates can forbid them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gamekit.host.files import read

_SYS = Path("/sys")
_BRIDGE = "0x0604"
# PCI Express base specification: extended capabilities begin at 0x100, that of access control is
# number 13, its control register 6 bytes on. These bits send or keep requests away from peers.
_EXTENDED, _ACS, _CONTROL = 0x100, 0x0D, 6
_REDIRECTS = 0x04 | 0x08 | 0x10  # request redirect, completion redirect, upstream forwarding


def address_of(bus_id: str) -> str:
    """The kernel's name of a device that the driver calls ``00000000:00:06.0``: 0000:00:06.0."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def numa_nodes(bus_ids: Sequence[str | None], sys: Path = _SYS) -> list[int | None] | None:
    """The NUMA node of each device; None where the kernel places none of them."""
    nodes: list[int | None] = []
    for bus_id in bus_ids:
        told = read(sys / "bus/pci/devices" / address_of(bus_id) / "numa_node") if bus_id else None
        node = int(told) if told is not None and told.strip().lstrip("-").isdigit() else -1
        nodes.append(node if node >= 0 else None)  # -1: the firmware says nothing
    return nodes if any(node is not None for node in nodes) else None


def iommu(bus_ids: Sequence[str | None], sys: Path = _SYS) -> tuple[str | None, str]:
    """``off``, or ``on`` with how it treats the GPUs; None where that cannot be read, and why."""
    groups = sys / "kernel/iommu_groups"
    try:
        if not any(groups.iterdir()):
            return "off", ""
    except OSError:
        return None, f"{groups} cannot be read"
    kinds = {
        kind.strip()
        for bus_id in bus_ids
        if bus_id
        and (kind := read(sys / "bus/pci/devices" / address_of(bus_id) / "iommu_group/type"))
    }
    return f"on ({', '.join(sorted(kinds))})" if kinds else "on", ""


def acs(sys: Path = _SYS) -> tuple[str | None, str]:
    """``off``, or at how many bridges access control redirects transfers; else None, and why.

    Only root can read the part of a device's configuration that tells it.
    """
    seen = redirecting = 0
    for device in sorted((sys / "bus/pci/devices").glob("*")):
        if not (read(device / "class") or "").startswith(_BRIDGE):
            continue
        try:
            configuration = (device / "config").read_bytes()
        except OSError:
            continue
        if len(configuration) <= _EXTENDED:
            continue
        seen += 1
        redirecting += bool(_control(configuration) & _REDIRECTS)
    if not seen:
        return None, "no bridge whose configuration can be read (root can, outside a container)"
    return (f"on at {redirecting} of {seen} bridges" if redirecting else "off"), ""


def _control(configuration: bytes) -> int:
    """The control register of access control; 0 where a device has none."""
    place, looked = _EXTENDED, set[int]()
    while _EXTENDED <= place <= len(configuration) - 8 and place not in looked:
        looked.add(place)
        header = int.from_bytes(configuration[place : place + 4], "little")
        if header & 0xFFFF == _ACS:
            register = configuration[place + _CONTROL : place + _CONTROL + 2]
            return int.from_bytes(register, "little")
        place = header >> 20
    return 0
