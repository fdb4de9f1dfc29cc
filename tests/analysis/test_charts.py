"""The data of the decision's figures: which pairs are drawn, and under which name."""

from __future__ import annotations

import pytest

from gamekit.analysis.charts import Throughput, throughput
from gamekit.analysis.options import options
from gamekit.knowledge import Knowledge

from .decisions import decided, figure

PAIR = {
    "quantization": "INT4",
    "speculation": "EAGLE3",
    "topk": 1,
    "acceptance": "natural",
    "workload": "chat",
    "concurrency": 1,
}


def drawn(knowledge: Knowledge) -> Throughput:
    chart = throughput(knowledge, options(knowledge))
    assert chart is not None
    return chart


def test_the_pair_of_the_roles_is_drawn() -> None:
    """Rate and accept length that play the parts are a measured point, though a cycle is told."""
    points = {point.label for point in drawn(decided()).measured}
    assert points == {"measured here"}


def test_every_pair_of_the_host_is_drawn_under_its_chain() -> None:
    """A pair of another drafter and more steps is a point of its own, named by what differs."""
    own = {**PAIR, "drafter": "org/theirs", "steps": 3, "draft_tokens": 4}
    knowledge = decided(
        figure("their-rate", 90, "tok/s", "decode_rate", **own),
        figure("their-length", 3.0, "tok/cycle", "accept_length", **own),
    )
    points = {point.label: point for point in drawn(knowledge).measured}
    theirs = points["measured here (3 steps, theirs)"]
    assert (theirs.accept_length.mid, theirs.rate.mid) == (3.0, 90)
    assert theirs.ids == ("their-rate", "their-length")


def test_a_timed_cycle_is_drawn_at_the_rate_that_it_gives() -> None:
    """3 tokens in a counted cycle of 40 ms are 75 tok/s."""
    own = {**PAIR, "drafter": "org/own", "steps": 2, "draft_tokens": 3}
    imposed = {**own, "acceptance": "imposed", "imposed_accept_length": 3.0}
    knowledge = decided(figure("timed", 40, "ms", "cycle_time", **imposed))
    rates = [point.rate.mid for point in drawn(knowledge).measured if point.ids == ("timed",)]
    assert rates == [pytest.approx(75)]


def test_a_pair_of_another_host_is_not_drawn() -> None:
    """What was measured elsewhere says nothing about the line of this host."""
    own = {**PAIR, "drafter": "org/own", "steps": 2, "draft_tokens": 3, "host": "other"}
    knowledge = decided(
        figure("far-rate", 90, "tok/s", "decode_rate", **own),
        figure("far-length", 3.0, "tok/cycle", "accept_length", **own),
    )
    assert all("far-rate" not in point.ids for point in drawn(knowledge).measured)
