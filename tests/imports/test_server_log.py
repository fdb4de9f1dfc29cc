"""Of sglang's log one start and one scheduler are imported, and others are told with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.errors import UsageFault
from imports.reading import RECORDINGS, from_text

READY = "[2026-01-01 00:00:00] The server is fired up and ready to roll!\n"


def arguments(steps: int = 3) -> str:
    return (
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m',"
        f" speculative_algorithm='EAGLE3', speculative_num_steps={steps}, dp_size=2)\n"
    )


def decodes(rate: float, *, rank: str = "", running: object = 1, before: str = "") -> str:
    line = (
        f"{before}[2026-01-01 00:00:01{rank}] Decode batch, #running-req: {running}, #token: 9,"
        f" accept len: 2.0, gen throughput (token/s): {rate}, #queue-req: 0\n"
    )
    return line * 4


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (arguments() + decodes(100) + arguments() + decodes(50), 6),
        (arguments() + arguments(steps=5) + decodes(100), 2),
        (arguments() + READY + arguments() + decodes(100), 3),
        (READY + decodes(100) + READY + decodes(50), 6),
        (decodes(100) + arguments() + decodes(50), 5),
    ],
)
def test_a_second_start_in_one_log_is_told(tmp_path: Path, text: str, line: int) -> None:
    """Its rates and arguments are those of another server: the line at which it begins is told."""
    with pytest.raises(UsageFault, match=rf"given:{line}: a second start of a server"):
        from_text(tmp_path, text)


def test_a_real_log_that_was_appended_to_is_told(tmp_path: Path) -> None:
    """The recordings of two real servers behind each other are two starts."""
    first, second = (
        (RECORDINGS / name / "server.log").read_bytes() for name in ("baseline", "eagle3-sim2.6")
    )
    line = first.count(b"\n") + second.split(b"server_args=")[0].count(b"\n") + 1
    with pytest.raises(UsageFault, match=rf"given:{line}: a second start of a server"):
        from_text(tmp_path, first + second)


def test_arguments_and_readiness_that_are_told_twice_are_one_start(tmp_path: Path) -> None:
    """A start may log its arguments again, and each of several tokenizers that it is ready."""
    text = arguments() + arguments() + READY + READY + decodes(100)
    assert len(from_text(tmp_path, text).figures) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [(" DP0", " DP1"), (" DP0 TP0", " DP1 TP1"), ("", " DP0"), (" PP0", " PP1")],
)
@pytest.mark.parametrize("before", ["", "engine-1  | "])
def test_lines_of_several_schedulers_are_not_of_one(
    tmp_path: Path, first: str, second: str, before: str
) -> None:
    """Each has requests and rates of its own: the line of the second one is told."""
    text = decodes(100, rank=first, before=before) + decodes(50, rank=second, before=before)
    with pytest.raises(UsageFault, match=r"given:5: .* decodes here, and .* before"):
        from_text(tmp_path, text)


def test_a_data_parallel_rank_alone_says_that_it_is_one(tmp_path: Path) -> None:
    """Its figures are of that rank, and say so; a tensor-parallel rank speaks for the engine."""
    (rate, _) = from_text(tmp_path, arguments() + decodes(100, rank=" DP1 TP1")).figures
    assert rate.parameters == {"rank": "DP1"}
    assert "of DP1 alone" in rate.convention
    (rate, _) = from_text(tmp_path, arguments() + decodes(100, rank=" TP0")).figures
    assert not rate.parameters


@pytest.mark.parametrize("running", ["1e400", "nan", "9" * 5000, 10**30])
def test_requests_in_flight_that_nothing_has_are_told(tmp_path: Path, running: object) -> None:
    """A number that no scheduler has is refused with its line and field, whatever its size."""
    with pytest.raises(UsageFault, match=r"given:2: #running-req is "):
        from_text(tmp_path, decodes(100, running=running))
