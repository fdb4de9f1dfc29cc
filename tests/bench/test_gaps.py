"""The times between chunks: what hides behind a mean rate is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_serving_decode import PLAIN, generated
from workbench import engine

from gamekit.bench.gaps import gap_percentile
from gamekit.bench.runner import run_benchmarks
from gamekit.findings import Measurement, Run

TOKENS = 40
PAUSE_S = 0.2
SETTINGS = {
    "serving_decode": ["requests=3", f"max_tokens={TOKENS}", "warmup=0"],
    "serving_load": [
        *("requests=12", "concurrency=3", "repeats=2", f"max_tokens={TOKENS}", "warmup=0"),
    ],
}


def measured(name: str, pause_s: float, gap_s: float = 0.004) -> tuple[Run, dict[str, Measurement]]:
    """40 tokens one by one, with a pause before the 21st."""
    events = generated(TOKENS, TOKENS)
    stalled = [*events[:20], pause_s, *events[20:]]
    with engine(PLAIN, stalled, gap_s=gap_s) as url:
        (outcome,) = run_benchmarks(None, [name], urls=[url], settings=SETTINGS[name])
    assert outcome.record is not None
    assert outcome.record.run.outcome == "done", outcome.record.run.reason
    findings = outcome.record.findings
    return outcome.record.run, {x.metric: x for x in findings if isinstance(x, Measurement)}


@pytest.mark.parametrize("name", SETTINGS)
def test_an_answer_that_stands_still_is_told_beside_its_mean(name: str) -> None:
    """Half of the time of each answer is one gap: a warning says so, and the longest is a fact."""
    run, _ = measured(name, PAUSE_S)
    (case,) = run.cases
    (said,) = [one for one in case.warnings if "stood still" in one]
    assert "rates are means over that" in said
    gaps = case.facts["chunk_gaps"]
    assert gaps["longest"] == pytest.approx(1000 * PAUSE_S, rel=0.2)
    assert gaps["p50"] < 50
    kept = [one for one in case.samples["longest_gap"] if one is not None]
    assert min(map(float, kept)) == pytest.approx(1000 * PAUSE_S, rel=0.2)


def test_a_load_has_a_percentile_of_its_gaps() -> None:
    """One of 39 gaps is the pause, so that 99 % of them are not below it."""
    _, found = measured("serving_load", PAUSE_S)
    samples = found["chunk_gap_p99"].value.samples
    assert samples is not None
    assert [float(one) for one in samples] == pytest.approx([1000 * PAUSE_S] * 2, rel=0.2)
    assert found["chunk_gap_p99"].value.unit == "ms"


def test_an_even_answer_is_no_standstill() -> None:
    """A gap as long as the others is no tenth of 39."""
    # A busy machine stands still too, but not for a tenth of this.
    run, _ = measured("serving_decode", 0.0, gap_s=0.02)
    assert not [one for one in run.cases[0].warnings if "stood still" in one]


@given(st.lists(st.floats(0, 1000), max_size=300), st.sampled_from([50, 90, 95, 99]))
def test_a_percentile_has_gaps_beyond_it_or_is_none(gaps: list[float], percent: int) -> None:
    """It is one of the gaps, with at least that part of them at or below it."""
    found = gap_percentile(gaps, percent)
    if len(gaps) * (100 - percent) < 100:
        assert found is None
        return
    assert found in gaps
    assert sum(one <= found for one in gaps) * 100 >= percent * len(gaps)
    assert sum(one < found for one in gaps) * 100 < percent * len(gaps)
