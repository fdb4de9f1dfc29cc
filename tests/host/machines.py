"""A program named nvidia-smi and an NVML that answer what they are asked, as a test wants it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parent.parent / "data" / "host"

# One H200 as nvidia-smi tells of it.
H200 = {
    "name": "NVIDIA H200",
    "driver_version": "580.159.04",
    "clocks.sm": "345",
    "clocks.mem": "3201",
    "temperature.gpu": "41",
    "power.draw": "77.5",
    "memory.used": "1024",
    "utilization.gpu": "3",
    "clocks_event_reasons.active": "0x0000000000000001",
    "pcie.link.gen.current": "5",
    "pcie.link.width.current": "16",
    "memory.total": "143771",
    "pcie.link.gen.max": "5",
    "pcie.link.width.max": "16",
    "power.limit": "700.00",
    "clocks.max.sm": "1980",
    "clocks.max.mem": "3201",
    "mig.mode.current": "Disabled",
    "pci.bus_id": "00000000:00:06.0",
}

_PROGRAM = """\
#!{python} -S
import sys
gpus, answers = {gpus}, {answers}
asked = sys.argv[1] if len(sys.argv) > 1 else ""
if asked.startswith("--query-gpu="):
    fields = asked.partition("=")[2].split(",")
    for field in fields:
        if field not in gpus[0]:
            print(f'Field "{{field}}" is not a valid field to query.')
            sys.exit(2)
    for gpu in gpus:
        print(", ".join(gpu[field] for field in fields))
else:
    print(answers[" ".join(sys.argv[1:])], end="")
"""

BANNER = "| NVIDIA-SMI 580.159.04   Driver Version: 580.159.04   CUDA Version: 13.0     |\n"


def table(rows: Sequence[Sequence[str]], nodes: Sequence[str] = (), cards: int = 0) -> str:
    """A table of ``nvidia-smi topo``; ``nodes``: cells of the NUMA column, ``cards``: NICs."""
    names = [f"GPU{place}" for place in range(len(rows) - cards)]
    names += [f"NIC{place}" for place in range(cards)]
    more = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"] if nodes else []
    lines = ["\t".join(["", *names, *more]).replace("\t", "\t\x1b[4m", 1) + "\x1b[0m"]
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        rest = ["0-15", nodes[place], "", "N/A"] if place < len(nodes) else []
        lines.append("\t".join([name, *(f" {cell} " for cell in row), *rest]))
    legend = "".join(f"  NIC{place}: mlx5_{place}\n" for place in range(cards))
    return "\n".join(lines) + "\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n" + legend


ONE_GPU = (RECORDED / "topo.txt").read_text(encoding="utf-8")
PEER_OF_ONE = " \tGPU0\t\n GPU0\tX\t\n\nLegend:\n\n  X    = Self\n"


def install(
    folder: Path,
    gpus: Sequence[Mapping[str, str]] = (H200,),
    links: str = ONE_GPU,
    p2p: str = PEER_OF_ONE,
    listed: str = "",
) -> Path:
    """Write the program into ``folder``; it knows these GPUs and tables."""
    answers = {"": BANNER, "topo -m": links, "topo -p2p r": p2p, "-L": listed}
    text = _PROGRAM.format(
        python=sys.executable, gpus=json.dumps(list(map(dict, gpus))), answers=json.dumps(answers)
    )
    return install_text(folder, text)


def install_text(folder: Path, text: str) -> Path:
    """Write a program of that text into ``folder``."""
    program = folder / "nvidia-smi"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program


def install_nvml(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a module of that text in the place of nvidia-ml-py, for this process and its children."""
    place = folder / "python"
    place.mkdir(exist_ok=True)
    (place / "pynvml.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(place)
    monkeypatch.setenv("PYTHONPATH", str(place))
