"""What forwards and all-reduces cost is read off the runs of the machine's own benchmarks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowledge.bases import STEADY, Data, finding, known, measurement, run

from gamekit.analysis.machine_costs import all_reduces, effect_of, stacks
from gamekit.ranges import Range
from gamekit.render.machine_section import MachineSection

UNITS = {
    "forward_time": "ms",
    "floor_ratio": "1",
    "allreduce_latency": "us",
    "latency_ratio": "1",
    "bus_bandwidth": "GB/s",
}


def measured(number: int, metric: str, value: float, graphs: str | None, **parameters: Any) -> Data:
    """A run that measured one figure, and the series of its subject."""
    subject: Data = {"host": "lab", "parameters": parameters}
    if graphs is not None:
        subject["cuda_graphs"] = graphs
    unit = UNITS[metric]
    better = "higher" if metric == "bus_bandwidth" else "lower"
    samples = {"samples": [value * (1 + step / 100) for step in STEADY], "unit": unit}
    name = f"r{number}"
    return run(
        name,
        f"2026-12-{number % 27 + 1:02}T10:00:00Z",
        finding("series", f"s{number}", metric=metric, unit=unit, better=better, match=subject),
        measurement(
            f"{name}.{metric}", samples, metric=metric, series=f"s{number}", subject=subject
        ),
        engine=None,
    )


def forwards(first: int, tokens: int, graph: float, eager: float, **more: Any) -> list[Data]:
    told = {"shape": "llama-8b", "tokens": tokens, **more}
    return [
        measured(first, "forward_time", graph, "captured", **told),
        measured(first + 1, "forward_time", eager, "eager", **told),
        measured(first + 2, "floor_ratio", graph / 4, "captured", **told),
    ]


def reduces(number: int, metric: str, value: float, mode: str, size: int, **more: Any) -> Data:
    told = {"bytes": size, "mode": mode, "ranks": 2, "backend": "nccl", **more}
    return measured(number, metric, value, None, **told)


def test_a_stack_has_a_row_a_token_count_with_both_modes() -> None:
    """Graphed, eager and floor of one token count stand in one row, the counts in order."""
    knowledge = known(*forwards(1, 4, 5.0, 15.0), *forwards(4, 1, 4.4, 14.3))
    (stack,) = stacks(knowledge)
    assert (stack.host, stack.shape, stack.more) == ("lab", "llama-8b", ())
    assert [row.tokens for row in stack.rows] == [1, 4]
    last = stack.rows[-1]
    assert last.graph is not None
    assert last.eager is not None
    assert last.floor_ratio is not None
    assert last.graph.figure.mid == pytest.approx(5.0)
    assert last.floor_ratio.figure.mid == pytest.approx(1.25)
    assert last.saved == pytest.approx(3.0)


def test_other_sizes_are_other_stacks() -> None:
    """Another number of layers, or of shards, never shares a table."""
    knowledge = known(*forwards(1, 1, 4.4, 14.3), *forwards(4, 1, 1.1, 3.3, layers=4))
    assert [stack.more for stack in stacks(knowledge)] == [(), (("layers", 4),)]


def test_the_processor_s_figures_are_not_those_of_a_gpu() -> None:
    """What was measured on a CPU, over gloo, or by one rank alone is in no table."""
    knowledge = known(
        *forwards(1, 1, 4.4, 14.3, device="cpu"),
        reduces(5, "allreduce_latency", 90.0, "eager", 8192, backend="gloo"),
        reduces(6, "allreduce_latency", 4.0, "eager", 8192, ranks=1),
    )
    assert stacks(knowledge) == []
    assert all_reduces(knowledge) == []


def test_the_effect_of_a_setting_is_its_ratio_to_the_control() -> None:
    """The latencies without a setting are rows, those with one are effects beside them."""
    knowledge = known(
        reduces(1, "allreduce_latency", 9.0, "graph", 57344),
        reduces(2, "allreduce_latency", 21.0, "eager", 57344),
        reduces(3, "bus_bandwidth", 6.4, "graph", 57344),
        reduces(4, "allreduce_latency", 27.0, "graph", 57344, setting="NCCL_P2P_DISABLE=1"),
        reduces(5, "latency_ratio", 3.0, "graph", 57344, setting="NCCL_P2P_DISABLE=1"),
    )
    (group,) = all_reduces(knowledge)
    (row,) = group.rows
    assert row.graph is not None
    assert row.eager is not None
    assert row.bus_bandwidth is not None
    assert row.graph.figure.mid == pytest.approx(9.0)
    (effect,) = group.effects
    assert (effect.setting, effect.mode, effect.size, effect.effect) == (
        "NCCL_P2P_DISABLE=1",
        "graph",
        57344,
        "slower",
    )
    assert effect.latency is not None
    assert effect.latency.figure.mid == pytest.approx(27.0)


def test_a_figure_of_two_starts_reaches_over_both() -> None:
    """The interval is that of all adequate runs: what one start alone shows is no effect."""
    there = reduces(1, "latency_ratio", 1.12, "graph", 57344, setting="NCCL_ALGO=Tree")
    again = reduces(2, "latency_ratio", 1.02, "graph", 57344, setting="NCCL_ALGO=Tree")
    again["findings"] = [{**again["findings"][1], "series": "s1"}]
    (alone,) = all_reduces(known(there))
    assert alone.effects[0].effect == "slower"
    (both,) = all_reduces(known(there, again))
    (effect,) = both.effects
    assert (effect.effect, effect.ratio.starts) == ("inconclusive", 2)
    assert effect.ratio.figure.mid == pytest.approx(1.07)
    assert effect.ratio.figure.low < 1.02
    assert effect.ratio.figure.high > 1.12


def test_the_transport_is_that_of_nccl_s_log_in_the_case_that_counts() -> None:
    """It is read from the facts of the run's own case, and empty where the log said nothing."""
    logged = reduces(1, "allreduce_latency", 9.0, "graph", 57344)
    logged["run"]["cases"] = [
        {
            "subject": {"host": "lab", "parameters": {"bytes": 8192}},
            "facts": {"nccl": {"transports": {"SHM/direct": 8}}},
        },
        {
            "subject": logged["findings"][1]["subject"],
            "facts": {"nccl": {"transports": {"P2P/IPC": 4, "P2P/CUMEM": 44}}},
        },
    ]
    knowledge = known(logged, reduces(2, "allreduce_latency", 9.0, "graph", 8192))
    (group,) = all_reduces(knowledge)
    costs = {row.size: row.graph for row in group.rows}
    assert {size: cost.transport for size, cost in costs.items() if cost is not None} == {
        8192: "",
        57344: "P2P/CUMEM, P2P/IPC",
    }


@given(st.floats(0.1, 10), st.floats(0, 1))
def test_an_effect_needs_its_whole_interval_beyond_five_per_cent(
    middle: float, half: float
) -> None:
    """An interval that reaches into 0.95 to 1.05 is inconclusive, whatever its middle."""
    ratio = Range(middle * (1 - half / 2), middle, middle * (1 + half))
    effect = effect_of(ratio)
    assert (effect == "inconclusive") == (ratio.low <= 1.05 and ratio.high >= 0.95)
    assert effect in ("inconclusive", "slower" if middle > 1 else "faster")


def test_the_plan_s_words_give_ranges_over_the_token_counts() -> None:
    """One sentence part a stack: token counts, both times, and how far from the floor."""
    section = MachineSection(known(*forwards(1, 1, 4.4, 14.3), *forwards(4, 8, 5.0, 15.0)))
    (stack,) = section.stacks
    assert section.tokens(stack) == "1 to 8 tokens"
    assert section.graphed(stack) == "4.4 to 5 ms"
    assert section.eager(stack) == "14.3 to 15 ms"
    assert section.floor(stack) == "1.1 to 1.25"
    assert section.saved(stack) == "3 to 3.25"


def test_the_decode_step_s_message_speaks_for_the_group() -> None:
    """The row nearest to 57 kB is the one of the plan, with the graphed effects of that size."""
    section = MachineSection(
        known(
            reduces(1, "allreduce_latency", 6.0, "graph", 8192),
            reduces(2, "allreduce_latency", 9.0, "graph", 65536),
            reduces(3, "latency_ratio", 0.5, "graph", 65536, setting="NCCL_PROTO=LL"),
            reduces(4, "latency_ratio", 0.6, "eager", 65536, setting="NCCL_PROTO=LL"),
            reduces(5, "latency_ratio", 2.0, "graph", 8192, setting="NCCL_PROTO=LL"),
        )
    )
    (group,) = section.all_reduces
    row = section.decode_row(group)
    assert row is not None
    assert row.size == 65536
    assert section.size(row.size) == "66 kB"
    assert re.fullmatch(
        r"faster: NCCL_PROTO=LL 0\.5\d* \(0\.4\d+ to 0\.5\d+\)", section.effects_in_words(group)
    )
