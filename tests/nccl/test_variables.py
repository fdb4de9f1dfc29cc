"""Names and values are judged as NCCL reads them."""

from __future__ import annotations

import pytest

from gamekit.errors import UsageFault
from gamekit.nccl.variables import KNOWN, checked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_DISABLE", "1"),
        ("NCCL_P2P_LEVEL", "PHB"),
        ("NCCL_P2P_LEVEL", "5"),
        ("NCCL_ALGO", "^Tree"),
        ("NCCL_ALGO", "ring;allreduce:tree,collnetdirect;broadcast:ring"),
        ("NCCL_PROTO", "LL,LL128"),
        ("NCCL_NTHREADS", "0x100"),
        ("NCCL_BUFFSIZE", "4194304"),
        ("NCCL_DEBUG", "info"),
        ("NCCL_DEBUG_SUBSYS", "INIT,ENV"),
        ("NCCL_NVLS_ENABLE", "2"),
    ],
)
def test_what_nccl_reads_is_taken(name: str, value: str) -> None:
    """A known name with a possible value passes without a warning."""
    assert name in KNOWN
    assert checked({name: value}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_DISABLE", "yes"),
        ("NCCL_P2P_LEVEL", "sys"),  # NCCL compares letters, and reads others as the number 0
        ("NCCL_P2P_LEVEL", "6"),
        ("NCCL_ALGO", "Rings"),
        ("NCCL_ALGO", "Ring,"),
        ("NCCL_ALGO", "gather:ring"),
        ("NCCL_PROTO", "LL64"),
        ("NCCL_NTHREADS", "32"),
        ("NCCL_NTHREADS", "100"),
        ("NCCL_NTHREADS", "1024"),
        ("NCCL_BUFFSIZE", "4M"),  # of which NCCL would take 4
        ("NCCL_BUFFSIZE", "-1"),
        ("NCCL_MIN_NCHANNELS", "0"),
        ("NCCL_DEBUG_FILE", "a\nb"),
        ("NCCL_DEBUG_FILE", ""),
        ("LD_PRELOAD", "1"),
        ("NCCL_", "1"),
        ("nccl_algo", "Ring"),
    ],
)
def test_what_nccl_would_not_understand_is_refused(name: str, value: str) -> None:
    """An impossible value, and a name that is not NCCL's, are refused and named."""
    with pytest.raises(UsageFault, match=name):
        checked({name: value})


def test_an_unknown_name_is_warned_of() -> None:
    """A name of NCCL's form that is not in the table passes, with one warning."""
    (warning,) = checked({"NCCL_FUTURE": "1", "NCCL_ALGO": "Ring"})
    assert "NCCL_FUTURE" in warning


def test_channels_that_leave_none_are_refused() -> None:
    """The least number of channels may not be above the greatest."""
    with pytest.raises(UsageFault, match="NCCL_MIN_NCHANNELS is 16"):
        checked({"NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_NCHANNELS": "0x8"})
