"""The tables of nvidia-smi topo: links, peer access and NUMA nodes by pair of GPUs."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from machines import H200, ONE_GPU, PEER_OF_ONE, install, install_text, table

from gamekit.host.capture import capture
from gamekit.host.redact import Redactor
from gamekit.host.topology import numa_nodes, pairs

# Four GPUs on two sockets, two of them with NVLink, and a card beside the second pair.
LINKS = (
    ("X", "NV18", "SYS", "SYS", "SYS"),
    ("NV18", "X", "SYS", "SYS", "SYS"),
    ("SYS", "SYS", "X", "PHB", "PXB"),
    ("SYS", "SYS", "PHB", "X", "PIX"),
    ("SYS", "SYS", "PXB", "PIX", "X"),
)
LINK = st.sampled_from(["NV18", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS"])


def test_links_are_told_by_pair_with_cards_by_their_name() -> None:
    """Each pair with a GPU in it is there once, and a NIC has the name that the legend gives it."""
    found = pairs(table(LINKS, ("0", "0", "1", "1"), cards=1))
    assert found == {
        "GPU0-GPU1": "NV18",
        "GPU0-GPU2": "SYS",
        "GPU0-GPU3": "SYS",
        "GPU0-mlx5_0": "SYS",
        "GPU1-GPU2": "SYS",
        "GPU1-GPU3": "SYS",
        "GPU1-mlx5_0": "SYS",
        "GPU2-GPU3": "PHB",
        "GPU2-mlx5_0": "PXB",
        "GPU3-mlx5_0": "PIX",
    }


def test_numa_nodes_are_those_of_the_column() -> None:
    """The node of each GPU is read; a table without one in any row tells nothing."""
    assert numa_nodes(table(LINKS, ("0", "0", "1", ""), cards=1)) == [0, 0, 1, None]
    assert numa_nodes(table(LINKS, cards=1)) is None


def test_a_recorded_single_gpu_has_a_node_and_no_pairs() -> None:
    """The table of one H200, escape codes included, has no pair; the GPU is on node 0."""
    assert pairs(ONE_GPU) == {}
    assert numa_nodes(ONE_GPU) == [0]


@given(st.data(), st.integers(1, 8))
def test_any_symmetric_table_is_read_back(data: st.DataObject, count: int) -> None:
    """What is written of each pair is what is read."""
    told = {
        (one, other): data.draw(LINK) for one in range(count) for other in range(one + 1, count)
    }
    rows = [
        ["X" if one == other else told[min(one, other), max(one, other)] for other in range(count)]
        for one in range(count)
    ]
    assert pairs(table(rows, ["0"] * count)) == {
        f"GPU{one}-GPU{other}": link for (one, other), link in told.items()
    }


@given(st.text(alphabet=" \t\nGPUNIC0123X-:\x1b[m", max_size=200))
def test_no_text_is_a_fault(text: str) -> None:
    """Whatever a driver prints, reading it raises nothing."""
    pairs(text)
    numa_nodes(text)


def test_no_escape_sequence_is_part_of_a_link() -> None:
    """What does not print is in no link, and a node that is no number is unknown."""
    text = "\tGPU0\tGPU1\tNUMA Affinity\nGPU0\t X \tP\x07HB\t²\nGPU1\tP\x1b]HB\t X \t1\n"
    assert all(value.isprintable() for value in pairs(text).values())
    assert numa_nodes(text) == [None, 1]


def test_peer_access_of_one_way_only_is_told_both_ways() -> None:
    """Where a pair reads in one direction only, both are told."""
    assert pairs(table([("X", "OK"), ("NS", "X")])) == {"GPU0-GPU1": "OK/NS"}


def test_a_capture_has_links_and_peer_access(programs: Path) -> None:
    """Topology, peer access, NUMA nodes and the driver's CUDA are fields of the environment."""
    install(
        programs,
        [H200, H200],
        table([("X", "PHB"), ("PHB", "X")], ("0", "1")),
        table([("X", "CNS"), ("CNS", "X")]),
    )
    seen = capture(Redactor())
    assert seen.environment.topology == {"GPU0-GPU1": "PHB"}
    assert seen.environment.p2p == {"GPU0-GPU1": "CNS"}
    assert seen.environment.numa == [0, 1]
    assert seen.environment.cuda == "13.0"
    assert seen.environment.pcie == ["gen 5 x16"] * 2
    assert not {"topology", "p2p", "numa", "cuda", "pcie"} & seen.unknown.keys()


def test_a_single_gpu_has_no_links_that_would_be_unknown(programs: Path) -> None:
    """Where there is no pair, none is missing; the NUMA node is unknown, with the reason."""
    install(programs, [H200], table(["X"]), PEER_OF_ONE)
    unknown = capture(Redactor()).unknown
    assert not {"topology", "p2p"} & unknown.keys()
    assert unknown["numa"] == "neither the kernel nor nvidia-smi places the GPUs"


def test_a_topology_that_fails_is_unknown_with_its_reason(programs: Path) -> None:
    """GPUs that are known, and links that the driver does not tell."""
    cells = ", ".join(H200.values())
    install_text(
        programs, f"#!/bin/sh\ncase $1 in --query*) echo '{cells}';; *) echo no; exit 3;; esac\n"
    )
    seen = capture(Redactor())
    assert seen.environment.gpus == ["NVIDIA H200"]
    assert seen.unknown["topology"] == "nvidia-smi failed (no)"
    assert seen.unknown["cuda"] == "nvidia-smi failed (no)"
