"""Settings of a group: what is read, what is refused, what NCCL would not do by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.collective.nccl_log import NcclLog
from gamekit.collective.setting import doubts, parse_setting, why_not_forced, without_forcing
from gamekit.errors import UsageFault
from gamekit.nccl.variables import KNOWN

NAMES = st.from_regex(r"NCCL_[A-Z][A-Z0-9_]{0,15}", fullmatch=True).filter(
    lambda name: not name.startswith("NCCL_DEBUG") and name not in KNOWN
)
VALUES = st.from_regex(r"[A-Za-z0-9^:;.]([A-Za-z0-9^:;.+-]{0,12}[a-z0-9])?", fullmatch=True)


def table(**rows: dict[str, float]) -> NcclLog:
    return NcclLog(table=rows)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_what_is_joined_is_read_back(variables: dict[str, str]) -> None:
    """Any variables joined by plus signs come out as they went in."""
    text = "+".join(f"{name}={value}" for name, value in variables.items())
    assert parse_setting(text) == variables


def test_none_sets_nothing() -> None:
    """The control has the environment of gamekit itself."""
    assert parse_setting("none") == {}


def test_a_plus_sign_may_stand_in_a_value() -> None:
    """Only a plus sign before a NAME= joins."""
    assert parse_setting("NCCL_X=1e+6+NCCL_Y=2") == {"NCCL_X": "1e+6", "NCCL_Y": "2"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NCCL_PROTO", "is no NAME=value"),
        ("NCCL_PROTO=", "is no NAME=value"),
        ("nccl_proto=LL", "is no NAME=value"),
        ("NCCL_PROTO=LL+NCCL_PROTO=Simple", "twice"),
        ("LD_PRELOAD=x.so", "no setting of a communication library"),
        ("NCCL_DEBUG=TRACE", "gamekit sets"),
        ("NCCL_ALGO=foo", "does not understand 'foo'"),
        ("NCCL_PROTO=LL,foo", "does not understand 'LL,foo'"),
        ("NCCL_MIN_NCHANNELS=4M", "does not understand '4M'"),
        ("NCCL_MIN_NCHANNELS=8+NCCL_MAX_NCHANNELS=4", "above NCCL_MAX_NCHANNELS"),
        ("NCCL_DEBUG_FILE=/tmp/x", "gamekit sets"),
    ],
)
def test_what_is_no_setting_is_refused(text: str, why: str) -> None:
    """With the reason, before anything is started."""
    with pytest.raises(UsageFault, match=why):
        parse_setting(text)


def test_what_forces_is_taken_apart_from_the_rest() -> None:
    """The table that says what is allowed is that of the group without forcing."""
    variables = parse_setting("NCCL_P2P_DISABLE=1+NCCL_PROTO=LL128+NCCL_ALGO=Ring")
    assert without_forcing(variables) == {"NCCL_P2P_DISABLE": "1"}


PCIE = table(
    Ring={"LL": 5.0, "LL128": 0.0, "Simple": 11.0},
    Tree={"LL": 4.0, "LL128": 0.0, "Simple": 0.0},
    NVLS={"LL": 0.0, "LL128": 0.0, "Simple": 0.0},
)


@pytest.mark.parametrize("setting", ["NCCL_PROTO=LL128", "NCCL_PROTO=ll128", "NCCL_ALGO=NVLS"])
def test_what_the_table_has_disabled_is_not_forced(setting: str) -> None:
    """NCCL would take LL128 by force over a link that may tear it."""
    why = why_not_forced(parse_setting(setting), PCIE)
    assert why is not None
    assert "NCCL's own table allows" in why


@pytest.mark.parametrize(
    "setting",
    [
        "none",
        "NCCL_PROTO=Simple",
        "NCCL_PROTO=LL128,ll",
        "NCCL_PROTO=^LL128",
        "NCCL_ALGO=allreduce:nvls",
        "NCCL_ALGO=Ring+NCCL_PROTO=LL",
        "NCCL_MAX_NCHANNELS=1",
    ],
)
def test_what_the_table_allows_is_measured(setting: str) -> None:
    """One of a list is enough; lists that exclude and parts by collective are NCCL's to judge."""
    assert why_not_forced(parse_setting(setting), PCIE) is None


def test_without_a_table_nothing_is_forbidden() -> None:
    """A log without a table, as that of gloo, says nothing against a setting."""
    assert why_not_forced(parse_setting("NCCL_PROTO=LL128"), NcclLog()) is None


def test_what_the_log_does_not_confirm_is_doubted() -> None:
    """A variable that NCCL does not name, or names with another value, is told."""
    wanted = parse_setting("NCCL_A=1+NCCL_B=2+NCCL_C=SYS+CUDA_X=1")
    missing, other = doubts(wanted, {"NCCL_B": "3", "NCCL_C": "sys"})
    assert "NCCL_A" in missing
    assert "as 3, not as 2" in other
