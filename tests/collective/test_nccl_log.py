"""What gamekit reads in NCCL's own log, over the releases that print it differently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.collective.nccl_log import Chosen, NcclLog, transport_of

LOGS = Path(__file__).resolve().parent.parent / "data" / "nccl_logs"


def read(name: str) -> NcclLog:
    log = NcclLog()
    log.read((LOGS / name).read_text(encoding="utf-8"))
    return log


def test_shared_memory_of_an_old_release_is_read() -> None:
    """Without peer access each channel goes through shared memory, in both directions."""
    log = read("2.18-shm.log")
    assert log.version == "2.18.5+cuda12.2"
    assert log.transports == {"SHM/direct/direct": 4}
    assert (log.channels, log.nvls_channels) == (2, 0)
    assert log.settings == {"NCCL_P2P_LEVEL": "LOC"}
    assert log.protocols_allowed() == []


def test_peer_access_and_numbered_choices_are_read() -> None:
    """Kinds of peer access are told apart, and numbers of algorithms become their names."""
    log = read("2.21-p2p.log")
    assert log.transports == {"P2P/direct pointer": 2, "P2P/IPC": 2}
    assert log.settings == {"NCCL_MIN_NCHANNELS": "4"}
    assert log.chosen == {8192: Chosen("RING", "LL"), 1048576: Chosen("TREE", "SIMPLE")}


def test_both_ends_of_a_network_connection_count_once() -> None:
    """A connection that sender and receiver tell of is one, whatever device each has."""
    log = read("2.21-network.log")
    assert log.transports == {"NET/IB/GDRDMA": 1, "NET/Socket": 1, "P2P/CUMEM": 1}


def test_the_tuning_of_a_new_release_is_read() -> None:
    """The table says what is allowed; choices come with their channels, of all-reduces alone."""
    log = read("2.28-nvlink.log")
    assert log.version == "2.28.9+cuda13.0"
    assert log.transports == {"P2P/CUMEM": 3}
    assert log.channels == 24
    assert log.protocols_allowed() == ["LL", "LL128", "Simple"]
    assert log.algorithms_allowed() == ["Tree", "Ring"]
    assert log.table["Ring"]["LL128"] == 336.4
    assert log.chosen == {
        8192: Chosen("RING", "LL", 4),
        4194304: Chosen("TREE", "SIMPLE", 24),
        65536: Chosen("SYMMETRIC", "AllReduce_AGxLL_R", 4),
    }
    assert str(log.chosen[8192]) == "RING/LL, 4 channels"


def test_what_is_not_allowed_and_warnings_are_read() -> None:
    """A protocol without bandwidth is not allowed; the matrix of what was forced is no table."""
    log = read("2.28-pcie.log")
    assert log.settings == {"NCCL_P2P_DISABLE": "1", "NCCL_PROTO": "LL,Simple"}
    assert log.protocols_allowed() == ["LL", "Simple"]
    assert log.warnings == ["something that matters"]
    assert log.transports == {"SHM/direct": 1}
    assert log.facts()["protocols_allowed"] == ["LL", "Simple"]
    assert "version" not in log.facts()


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.glob("*.log")))
def test_a_log_read_again_says_the_same(name: str) -> None:
    """Lines that come twice, as from several ranks or a file read again, change nothing."""
    log = read(name)
    before = log.facts()
    log.read((LOGS / name).read_text(encoding="utf-8"))
    assert log.facts() == before


@given(st.text(max_size=300))
def test_any_text_can_stand_in_a_log(text: str) -> None:
    """Nothing in a log makes reading it fail, or what it says unfit for a run file."""
    log = NcclLog()
    log.read(f"x NCCL INFO   Algorithm   | Tree |\nProtocol | LL |\nAllReduce |{text}|\n{text}")
    assert json.loads(json.dumps(log.facts())) == log.facts()


@given(st.integers(0, 99), st.sampled_from(["IB", "Socket"]))
def test_the_device_of_a_network_is_no_transport(number: int, kind: str) -> None:
    """Channels over several devices of one kind are of one transport."""
    assert transport_of(f"NET/{kind}/{number}") == f"NET/{kind}"
