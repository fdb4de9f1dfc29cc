"""Two engines that one call measured in turn are compared pair by pair."""

from __future__ import annotations

from pathlib import Path

from test_serving_decode import PLAIN, generated
from workbench import engine, knowledge_base

from gamekit.analysis.comparison import compare
from gamekit.bench.runner import run_benchmarks
from gamekit.knowledge import build
from gamekit.store.load import load


def test_samples_of_two_engines_pair_by_turn(tmp_path: Path) -> None:
    """A failed request of one engine takes the other's beside it along: three pairs of four."""
    root = knowledge_base(tmp_path)
    with (
        engine(PLAIN, generated(9, 9), gap_s=0.001) as sound,
        engine(PLAIN, generated(9, 9), gap_s=0.001, fails=2) as failing,
    ):
        outcomes = run_benchmarks(
            root,
            ["serving_decode"],
            urls=[sound, failing],
            settings=["requests=4", "warmup=0", "max_tokens=18"],
            command=["gamekit", "bench"],
            append=True,
        )
    ids = [one.record.run.id for one in outcomes if one.record is not None]
    told = compare(build(load(root)), *ids)
    rates = [one.judged for one in told.metrics if one.metric == "decode_rate"]
    assert [one.basis for one in rates] == ["pairs"]
    assert "3 pairs of samples taken in turn" in rates[0].reason
