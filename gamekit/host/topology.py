"""How GPUs and network cards are connected, read from the tables of ``nvidia-smi topo``."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gamekit.host import smi

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DEVICE = re.compile(r"(?:GPU|NIC|mlx)\w*")
_CARD = re.compile(r"^\s*(NIC\d+):\s*(\S+)\s*$", re.MULTILINE)
_NODE = re.compile(r"[0-9]{1,6}")
_NUMA = "NUMA Affinity"


@dataclass(frozen=True)
class Topology:
    """``links`` and ``p2p`` by pair, such as ``GPU0-GPU1``; None where unknown, ``why`` says why.

    A link is named as nvidia-smi's legend names it (NV18, PIX, PXB, PHB, NODE, SYS). ``p2p`` says
    whether one GPU of a pair can read the other's memory: OK, or why not (CNS, GNS, TNS, NS).
    ``numa`` is the NUMA node of each GPU, None for one that tells none.
    """

    links: dict[str, str] | None = None
    p2p: dict[str, str] | None = None
    numa: list[int | None] | None = None
    why: dict[str, str] = field(default_factory=dict)


def find_topology(timeout_s: float) -> Topology:
    """Ask nvidia-smi for links and peer access, both at once; each gets ``timeout_s`` seconds."""
    with ThreadPoolExecutor(2) as pool:
        links, p2p = pool.map(
            lambda arguments: smi.call(arguments, timeout_s),
            (["topo", "-m"], ["topo", "-p2p", "r"]),
        )
    why = {
        name: answer.why
        for name, answer in (("topology", links), ("p2p", p2p))
        if answer.text is None
    }
    return Topology(
        None if links.text is None else pairs(links.text),
        None if p2p.text is None else pairs(p2p.text),
        None if links.text is None else numa_nodes(links.text),
        why,
    )


def pairs(text: str) -> dict[str, str]:
    """What a table of ``nvidia-smi topo`` says of each pair in which there is a GPU.

    Cards are named as the legend names them. The table is symmetric; where it is not, as peer
    access may be one way only, both are told, as ``OK/NS``.
    """
    columns, rows = _table(text)
    cards = dict(_CARD.findall(_plain(text)))
    names = [name for name in columns if name in rows]
    found: dict[str, str] = {}
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if not one.startswith("GPU") and not other.startswith("GPU"):
                continue
            there, back = rows[one].get(other), rows[other].get(one)
            said = [value for value in dict.fromkeys((there, back)) if value]
            if said:
                found[f"{cards.get(one, one)}-{cards.get(other, other)}"] = "/".join(said)
    return found


def numa_nodes(text: str) -> list[int | None] | None:
    """The NUMA node of each GPU by ``nvidia-smi topo -m``; None where it names no such column."""
    _, rows = _table(text)
    cells = [row.get(_NUMA, "") for name, row in rows.items() if name.startswith("GPU")]
    nodes = [int(cell) if _NODE.fullmatch(cell) else None for cell in cells]
    return nodes if any(node is not None for node in nodes) else None


def _table(text: str) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The names of the columns, and the cells of each row by the name of their column.

    Cells are apart by tabs. A wide column is followed by an empty one, which has no name.
    """
    lines = _plain(text).partition("Legend:")[0].splitlines()
    head = next((line for line in lines if re.search(r"\bGPU0\b", line)), None)
    if head is None:
        return [], {}
    columns = [cell.strip() for cell in head.split("\t")][1:]
    rows = {}
    for line in lines[lines.index(head) + 1 :]:
        name, *cells = [cell.strip() for cell in line.split("\t")]
        if not _DEVICE.fullmatch(name):
            continue
        devices = [column for column in columns if _DEVICE.fullmatch(column)]
        rows[name] = dict(zip(devices, cells, strict=False))
        rest = cells[len(devices) :]
        if rest and _NUMA in columns:
            # CPU affinity, NUMA affinity, an empty cell, GPU NUMA id.
            place = columns.index(_NUMA) - len(devices)
            rows[name][_NUMA] = rest[place] if place < len(rest) else ""
    return [column for column in columns if _DEVICE.fullmatch(column)], rows


def _plain(text: str) -> str:
    """The text without what colours it, and without what else does not print."""
    shown = _ESCAPE.sub("", text)
    return "".join(char if char.isprintable() or char in "\t\r\n" else " " for char in shown)
