"""Servers whose counts or times cannot be true: what is measured of them is told as inadequate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from test_serving_decode import PLAIN, SPECULATING, generated
from workbench import engine

from gamekit.bench.runner import run_benchmarks
from gamekit.findings import Measurement

FEW = {
    "serving_decode": ["requests=2", "max_tokens=9", "warmup=0"],
    "speculation_cycle": ["requests=2", "max_tokens=9", "warmup=0"],
    "serving_load": ["requests=4", "concurrency=2", "repeats=1", "max_tokens=9", "warmup=0"],
}


def told(**counts: Any) -> list[dict[str, Any]]:
    """Nine tokens, one a chunk, and these counts with the last of them."""
    events = generated(9, 9)
    events[-1]["meta_info"].update(counts)
    return events


def measured(
    name: str, events: Sequence[Any], answers: dict[str, Any] = SPECULATING, gap_s: float = 0.002
) -> dict[str, Measurement]:
    with engine(answers, events, gap_s=gap_s) as url:
        (outcome,) = run_benchmarks(None, [name], urls=[url], settings=FEW[name])
    assert outcome.record is not None
    assert outcome.record.run.outcome == "done", outcome.record.run.reason
    return {one.metric: one for one in outcome.record.findings if isinstance(one, Measurement)}


@pytest.mark.parametrize("name", FEW)
def test_counts_that_contradict_each_other_are_a_flaw_of_every_figure(name: str) -> None:
    """Twenty verifies of three tokens each in an answer of nine tokens: nothing is believed."""
    found = measured(name, told(spec_verify_ct=20, spec_num_correct_drafts=40))
    assert found["accept_length"].value.samples is not None
    for one in found.values():
        assert any("answers contradict themselves, the first: 20 verifies" in f for f in one.flaws)


def test_a_count_that_falls_at_the_end_is_a_flaw() -> None:
    """Nine tokens that become four with the last chunk give a rate that is not believed."""
    found = measured("serving_decode", told(completion_tokens=4))
    assert any("fell from 8 to 4" in flaw for flaw in found["decode_rate"].flaws)


def test_verifies_of_an_engine_that_does_not_speculate_are_a_flaw() -> None:
    """What the engine says of itself and what it counts are held against each other."""
    counts = told(spec_verify_ct=8, spec_num_correct_drafts=0)
    found = measured("serving_decode", counts, PLAIN)
    assert any("said not to speculate" in flaw for flaw in found["decode_rate"].flaws)


def test_counts_that_go_together_are_no_flaw() -> None:
    """Eight verifies without a correct draft are what nine tokens one by one come of."""
    found = measured("serving_decode", told(spec_verify_ct=8, spec_num_correct_drafts=0))
    assert found["accept_length"].value.samples == [1.0, 1.0]
    assert not any("contradict" in flaw for one in found.values() for flaw in one.flaws)


@pytest.mark.parametrize(
    ("name", "bursts"),
    [*((name, 2) for name in FEW), ("serving_decode", 1), ("serving_load", 1)],
)
def test_an_answer_that_comes_in_bursts_has_no_times_to_believe(name: str, bursts: int) -> None:
    """What a proxy buffers until the end, or lets go of twice, tells when it did so."""
    events = told(spec_verify_ct=8, spec_num_correct_drafts=0)
    at_once = [events[:4], events[4:]] if bursts == 2 else [events]
    found = measured(name, at_once, gap_s=0.05)  # longer than a busy machine lets a read wait
    said = f"the first 9 chunks at {bursts} moment"
    timed = found.keys() & {"ttft", "time_per_output_token", "decode_rate", "cycle_time"}
    assert timed
    for metric in timed:
        assert any(said in flaw for flaw in found[metric].flaws), metric


def test_a_giant_count_does_not_make_the_floor_of_the_client_giant() -> None:
    """A trillion tokens in two chunks: the floor is still measured, and the figures are flawed."""
    events = [told()[0], told(completion_tokens=10**12)[-1]]
    found = measured("serving_decode", events)
    assert any("more tokens than were asked for" in flaw for flaw in found["decode_rate"].flaws)
