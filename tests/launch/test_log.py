"""What an engine's log says, in the forms of two releases, and what is kept of it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.launch.log import EngineLog

DATA = Path(__file__).parent.parent / "data" / "recordings"
# As release 0.5.23 words them, with the ranks of two cards.
NEWER = """\
[2026-11-29 14:05:14 TP0] Capture target verify CUDA graph begin. backend=full, \
num_tokens_per_req=4, avail mem=110.64 GB
[2026-11-29 14:05:18 TP1] Capture target verify CUDA graph end. bs=[1, 2], elapsed=3.50 s, mem \
usage=0.07 GB, avail mem=110.56 GB.
[2026-11-29 14:05:18 TP0] Capture target verify CUDA graph end. bs=[1, 2], elapsed=3.97 s, mem \
usage=0.07 GB, avail mem=110.56 GB.
[2026-11-29 14:05:28 TP0] Capture draft decode CUDA graph begin. backend=full, bs=[1, 2]
[2026-11-29 14:05:30 TP0] max_total_num_tokens=123, chunked_prefill_size=8192, \
max_prefill_tokens=16384, max_running_requests=48, context_len=8192
"""


class Written:
    """A log that grows as a test writes it."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile("wb", buffering=0)  # noqa: SIM115 - the tests close it
        self.log = EngineLog(self.file.fileno())

    def write(self, text: str | bytes) -> EngineLog:
        self.file.write(text.encode() if isinstance(text, str) else text)
        return self.log


@pytest.fixture
def written() -> Iterator[Written]:
    one = Written()
    with one.file:
        yield one


def recorded(written: Written, name: str) -> EngineLog:
    return written.write((DATA / name / "server.log").read_bytes())


def test_a_real_log_tells_that_the_decode_forward_was_captured(written: Written) -> None:
    """Without speculation there is one phase; graphs of prefill are none of it."""
    log = recorded(written, "baseline")
    assert log.graphs(speculates=False) == {"decode": "captured"}
    assert log.capture_times_s() == {"target decode": 4.13}


def test_a_real_log_with_speculation_tells_all_three_phases(written: Written) -> None:
    """Verify, draft decode and draft extend were captured, each with its time."""
    log = recorded(written, "eagle3-sim2.6")
    captured = {"verify": "captured", "draft decode": "captured", "draft extend": "captured"}
    assert log.graphs(speculates=True, steps=3) == captured
    times = {"target verify": 3.97, "draft decode": 7.95, "draft extend": 2.01}
    assert log.capture_times_s() == times


def test_a_phase_without_an_end_runs_eager_where_the_log_tells_captures(written: Written) -> None:
    """The newer release's lines are read; a capture that began and did not end is none."""
    log = written.write(NEWER)
    eager = {"verify": "captured", "draft decode": "eager", "draft extend": "eager"}
    assert log.graphs(speculates=True, steps=3) == eager
    assert "draft decode" not in log.graphs(speculates=True, steps=1)
    assert log.capture_times_s() == {"target verify": 3.97}


def test_a_quiet_log_tells_nothing_of_graphs(written: Written) -> None:
    """Without the line that every scheduler logs, a missing capture may only be unsaid."""
    log = written.write("INFO: started\n")
    assert log.graphs(speculates=True, steps=3) == {}
    assert log.graphs(speculates=False) == {}


def test_decode_lines_are_read_by_key_and_the_first_after_idle_is_left_out(
    written: Written,
) -> None:
    """Of each request of the recording the first line, which spans the gap, does not count."""
    log = recorded(written, "eagle3-sim2.6")
    text = (DATA / "eagle3-sim2.6" / "server.log").read_text(encoding="utf-8")
    idle = re.sub(r"[^\n]*Prefill batch[^\n]*#running-req: 0,[^\n]*", "P", text)
    decoding = re.sub(r"[^\n]*Decode batch[^\n]*", "D", idle)
    order = "".join(line for line in decoding.split("\n") if line in ("P", "D"))
    ticks = log.ticks()
    assert len(ticks) == order.count("D") - len(re.findall("P+D", order)) == 48
    first = ticks[0]
    assert first.fields == {
        "#running-req": 1.0,
        "#token": 218.0,
        "token usage": 0.0,
        "accept len": 2.55,
        "accept rate": 0.52,
        "cuda graph": True,
        "gen throughput": 612.43,
        "#queue-req": 0.0,
    }
    assert log.has_decode_lines()
    assert first.number("gen throughput") == 612.43
    assert first.number("cuda graph") is None
    assert log.ticks(first.line) == ticks[1:]


def test_a_log_is_read_on_as_it_grows(written: Written) -> None:
    """A line that comes in pieces is one line; what comes later is behind a position."""
    tick = "[t] Decode batch [7], #running-req: 2, gen throughput (token/s): 5.0, new: x y\n"
    written.write("[t] Decode batch, #running-req: 2\n" + tick[:30])
    assert written.log.ticks() == []
    position = written.log.position()
    log = written.write(tick[30:])
    (found,) = log.ticks(position)
    assert found.fields == {"#running-req": 2.0, "gen throughput": 5.0, "new": "x y"}


def test_a_progress_bar_is_its_last_state(written: Written) -> None:
    """What carriage returns overwrite, colours and control characters are not shown."""
    log = written.write("loading 0%\rloading 100%\n\x1b[31mred\x1b[0m\x07 alert\nhalf\rwhole")
    assert log.excerpt(str) == ["loading 100%", "red  alert", "whole"]
    assert log.last_line(str) == "whole"


def test_an_excerpt_has_both_ends_the_captures_and_the_errors(written: Written) -> None:
    """Of a long log the lines that matter are kept, in order, and the gaps are told."""
    lines = [f"line {number}" for number in range(1, 1001)]
    lines[299] = "Capture target verify CUDA graph end. elapsed=1.00 s"
    lines[599] = "ValueError: that is wrong"
    excerpt = written.write("\n".join(lines) + "\n").excerpt(str)
    assert excerpt[0] == "line 1"
    assert excerpt[-1] == "line 1000"
    gap = excerpt.index("Capture target verify CUDA graph end. elapsed=1.00 s")
    assert excerpt[gap - 1] == "[279 lines left out]"
    assert excerpt[gap + 1] == "[299 lines left out]"
    assert "ValueError: that is wrong" in excerpt
    assert len(excerpt) < 80


def test_of_many_errors_the_first_and_the_last_are_kept(written: Written) -> None:
    """An engine that fails all the time fills no run file."""
    text = "".join(f"Error {number}\n" for number in range(5000))
    excerpt = written.write(text).excerpt(str)
    assert excerpt[0] == "Error 0"
    assert excerpt[-1] == "Error 4999"
    assert len(excerpt) < 120


def test_what_must_not_be_recorded_is_taken_out_before_a_line_is_cut(written: Written) -> None:
    """A key that a cut would part is hidden whole, and so is one over several lines."""
    key = "secret" * 20
    log = written.write("x" * 250 + key + "\n" + "a\n" + "begin\nmiddle\nend\n")
    hidden = log.excerpt(lambda text: text.replace(key, "#").replace("begin\nmiddle\nend", "#"))
    assert hidden == ["x" * 250 + "#", "a", "#"]


def test_the_last_word_is_the_last_error_else_the_last_line(written: Written) -> None:
    """What a dying engine says of it, also where it says more behind it."""
    assert written.write("one\ntwo\n").last_word(str) == "two"
    assert written.write("RuntimeError: broken\nbye\n").last_word(str) == "RuntimeError: broken"


def test_a_log_that_nobody_can_read_through_is_skipped(written: Written) -> None:
    """Of more than 64 MiB at once only the end is read, and the excerpt says so."""
    written.write("first\n")
    assert written.log.position() == 1
    os.truncate(written.file.fileno(), 100 << 20)
    written.file.seek(100 << 20)
    log = written.write("\nlast\n")
    assert log.last_word(str) == "last"
    assert any("bytes left out" in line for line in log.excerpt(str))


@given(st.lists(st.binary(max_size=200), max_size=30))
def test_any_bytes_in_any_pieces_give_the_same_excerpt(pieces: list[bytes]) -> None:
    """However a log is read on, what is kept is the same: printable lines of bounded length."""
    whole, parts = Written(), Written()
    with whole.file, parts.file:
        for piece in pieces:
            parts.write(piece).position()
        excerpt = whole.write(b"".join(pieces)).excerpt(str)
        assert parts.log.excerpt(str) == excerpt
    assert all(line.isprintable() and line.strip() and len(line) <= 300 for line in excerpt)


def test_a_decode_line_that_does_not_count_is_one_all_the_same(written: Written) -> None:
    """A log without decode lines is told from one that has none but those behind idle times."""
    assert not written.write(NEWER).has_decode_lines()
    log = written.write("[t] Decode batch, #running-req: 1, gen throughput (token/s): 3.5\n")
    assert log.has_decode_lines()
    assert log.ticks() == []


def test_of_a_line_that_is_too_long_no_half_of_a_key_is_kept(written: Written) -> None:
    """A key at the cut loses its beginning and is no longer known: its rest is left out too."""
    log = written.write("sk-launchsecret777" + "," * (20_000 - 12) + " and the end\n")
    assert log.excerpt(str) == ["[cut] and the end"]
    whole = written.write("sk-launchsecret777" + "," * 30_000)
    assert "secret777" not in "".join(whole.excerpt(str))
