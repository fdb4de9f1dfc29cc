"""How what a run kept is put into words."""

from __future__ import annotations

from gamekit.commands.wording import percentiles


def test_percentiles_are_told_as_far_as_there_are_enough_requests() -> None:
    """Each metric is a line with its unit; one with too few requests for any has none."""
    facts = {
        "percentiles": {
            "ttft": {"n": 40, "p50": 20.31, "p50_low": 19.9, "p50_high": 20.9, "p90": 31.06},
            "decode_rate": {"n": 4},
        }
    }
    assert percentiles(facts) == ["ttft of 40 requests: p50 20.3, p90 31.1 ms"]
    assert percentiles({}) == []


def test_the_gaps_between_chunks_are_a_line_of_their_own() -> None:
    """With the percentiles that so many have, and the longest."""
    facts = {"chunk_gaps": {"n": 39, "p50": 5.031, "p90": 5.2, "longest": 200.04}}
    assert percentiles(facts) == ["39 gaps between chunks: p50 5.03, p90 5.2, longest 200 ms"]
