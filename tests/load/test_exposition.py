"""Prometheus's text format: what is written is read, and differences are never negative."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.load.exposition import counted_between, gauge_sum, samples_of

TOTAL = "sglang:generation_tokens_total"
CREATED = "sglang:generation_tokens_created"

NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("tp_rank", "pp_rank")
)
# What a label may hold: anything but a lone surrogate. A line feed is written as an escape; other
# line ends of Unicode are none of the format.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LABELS = st.dictionaries(NAMES, TEXTS, max_size=3)
COUNTS = st.integers(0, 2**53)


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def line(name: str, labels: dict[str, str], value: object) -> str:
    inner = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inner}}} {value}" if labels else f"{name} {value}"


@given(st.lists(st.tuples(LABELS, st.floats(allow_nan=False)), max_size=6))
def test_what_is_written_is_read(samples: list[tuple[dict[str, str], float]]) -> None:
    """Labels with any text and values of any size come back, in order, whatever stands around."""
    lines = [f"# HELP {TOTAL} 'of {TOTAL} 5'", f"# TYPE {TOTAL} counter", ""]
    for labels, value in samples:
        lines.append(line(f"{TOTAL}_other", labels, 1))
        lines.append(line(TOTAL, labels, value))
    found = samples_of("\n".join(lines) + "\n", TOTAL)
    assert [(dict(one.labels), one.value) for one in found] == samples


Engines = list[tuple[dict[str, str], int, int]]
ENGINES = st.lists(
    st.tuples(LABELS, COUNTS, COUNTS),
    min_size=1,
    max_size=5,
    unique_by=lambda one: frozenset(one[0].items()),
)


@given(ENGINES, st.randoms(use_true_random=False))
def test_the_difference_is_the_sum_of_what_each_engine_counted(
    engines: Engines, random: Random
) -> None:
    """In whatever order the engines are told, and with `_created` gauges beside the totals."""
    before = [line(TOTAL, labels, count) for labels, count, _ in engines]
    after = [line(TOTAL, labels, count + more) for labels, count, more in engines]
    born = [line(CREATED, labels, 1.7e9 + n) for n, (labels, _, _) in enumerate(engines)]
    random.shuffle(after)
    counted = counted_between("\n".join(before + born), "\n".join(born + after), TOTAL)
    assert counted.why is None
    assert counted.value == math.fsum(
        float(count + more) - float(count) for _, count, more in engines
    )


@given(ENGINES, st.data())
def test_a_counter_that_fell_makes_the_difference_unknown(
    engines: Engines, data: st.DataObject
) -> None:
    """One engine that restarted is enough, however much the others counted; never below 0."""
    victim = data.draw(st.integers(0, len(engines) - 1))
    before = [line(TOTAL, labels, count + 1) for labels, count, _ in engines]
    after = [
        line(TOTAL, labels, 0 if n == victim else count + more + 1)
        for n, (labels, count, more) in enumerate(engines)
    ]
    counted = counted_between("\n".join(before), "\n".join(after), TOTAL)
    assert counted.value is None
    assert counted.why is not None
    assert "began anew" in counted.why


def test_a_restart_that_the_count_does_not_show_is_seen_by_its_birth() -> None:
    """A counter that is past its old value again, with another `_created`, began anew."""
    before = f"{TOTAL} 100\n{CREATED} 1000\n"
    assert counted_between(before, f"{TOTAL} 150\n{CREATED} 1000\n", TOTAL).value == 50
    assert counted_between(before, f"{TOTAL} 150\n{CREATED} 2000\n", TOTAL).value is None


def test_engines_that_come_and_go() -> None:
    """One that was not there before began at 0; one that is gone makes the difference unknown."""
    one, other = f'{TOTAL}{{e="0"}} 5\n', f'{TOTAL}{{e="1"}} 7\n'
    assert counted_between(one, one + other, TOTAL).value == 7
    assert "gone" in (counted_between(one + other, one, TOTAL).why or "")
    assert "not told" in (counted_between("", "", TOTAL).why or "")
    assert "no number" in (counted_between(one, f'{TOTAL}{{e="0"}} NaN', TOTAL).why or "")


def test_ranks_of_one_engine_count_once() -> None:
    """Each rank of a tensor-parallel engine tells the whole; engines of data parallelism add up."""
    ranks = "\n".join(f'g{{tp_rank="{tp}",dp_rank="{dp}"}} 8' for tp in range(4) for dp in range(2))
    assert gauge_sum(ranks, "g") == 16
    assert gauge_sum("", "g") is None
    assert gauge_sum("g NaN", "g") is None


def test_time_stamps_and_exemplars_are_dropped() -> None:
    """OpenMetrics may add both behind the value."""
    text = 'a{x="}"} 3 1700000000\nb 4 # {trace="1"} 0.5 1.5\r\nc +Inf\n'
    assert [samples_of(text, name)[0].value for name in "abc"] == [3, 4, math.inf]


@pytest.mark.parametrize(
    "broken",
    ["a", "a{", 'a{x="1" 5', "a{x=1} 5", "a five", "a 1_0", "a 1 2 3", 'a{x="1",x="2"} 5'],
)
def test_a_broken_line_names_its_place(broken: str) -> None:
    """Half a line is refused with its number; of other metrics nobody asks."""
    with pytest.raises(ValueError, match="line 2:"):
        samples_of(f"b 1\n{broken}\n", "a")
    assert samples_of(f"b 1\n{broken}\n", "b")[0].value == 1
