"""Published drafters as options: their rates here, and what these assume."""

from __future__ import annotations

import pytest

from gamekit.analysis.options import Option, as_json, options

from .decisions import THREE_STEPS, card, decided, figure


def by_id(found: list[Option]) -> dict[str, Option]:
    return {option.model.id: option for option in found}


def test_only_published_drafters_of_the_target_are_options() -> None:
    """Drafters of another target, and ours, which nobody published, are none."""
    assert set(by_id(options(decided()))) == {"theirs", "other"}


def test_an_accept_length_of_another_target_is_not_carried_over() -> None:
    """A drafter of our target that was published with another target adds nothing."""
    found = options(decided(card("theirs-y", "theirs", 3.9, "chat", target="model-y")))
    assert len(by_id(found)["theirs"].workloads) == 2


def test_an_unknown_cycle_is_taken_as_unchanged_and_named_with_its_limit() -> None:
    """Without the 3-step cycle the rate is at the 2-step one, with the longest that still pays."""
    option = by_id(options(decided(THREE_STEPS)))["theirs"]
    assert (option.cycle.id, option.cycle.is_measured, option.cycle.series) == (
        *("cycle", False, "cycle-3"),
    )
    best, chat = option.workloads
    assert (best.name, chat.name) == ("code", "chat")
    assert best.rate.known is not None
    assert best.longest_cycle.known is not None
    assert best.rate.known.mid == pytest.approx(3.5 / 0.040)
    # At the longest cycle the rate is the baseline.
    assert 3.5 / (best.longest_cycle.known.mid / 1000) == pytest.approx(75)
    assert (best.against_baseline, chat.against_baseline) == ("above", "below")
    assert [row.name for row in option.paying] == ["code"]


def test_the_cycle_of_their_chain_counts_once_it_is_measured() -> None:
    """A figure of the 3-step series takes the place of the assumption."""
    measured = {**figure("cycle-3-now", 50, "ms", "cycle_time", steps=3), "series": "cycle-3"}
    option = by_id(options(decided(THREE_STEPS, measured)))["theirs"]
    assert (option.cycle.id, option.cycle.is_measured) == ("cycle-3", True)
    assert option.workloads[0].rate.known is not None
    assert option.workloads[0].rate.known.mid == pytest.approx(3.5 / 0.050)
    assert option.workloads[0].against_baseline == "below"


def test_another_architecture_is_an_obstacle_in_the_words_of_its_model() -> None:
    """What does not fit the drafter in use says how it differs and what the model notes."""
    found = by_id(options(decided()))
    assert found["theirs"].obstacles == ()
    assert "EAGLE-3 with MLA" in found["other"].obstacles[0]
    assert found["other"].obstacles[1] == "Needs another engine."


def test_an_unknown_baseline_leaves_the_limit_unknown() -> None:
    """No baseline: the rate stays, and whether it pays is unknown."""
    unknown = figure("base", 1, "tok/s", "decode_rate")
    unknown["value"] = {"unit": "tok/s", "unknown": "nobody measured it"}
    option = by_id(options(decided(unknown, without=("base",))))["theirs"]
    row = option.workloads[0]
    assert row.against_baseline == "unknown against"
    assert row.longest_cycle.known is None
    assert "unknown because [base]: nobody measured it" in (row.longest_cycle.why_not or "")
    assert as_json(option)["workloads"][0]["longest_cycle"] is None


def test_without_a_model_there_are_no_options() -> None:
    """A knowledge base that names no target has none, and no error."""
    assert options(decided(target_model=None)) == []


def test_a_rate_of_the_drafter_measured_here_takes_the_place_of_what_is_carried_over() -> None:
    """The rate that stands for each workload counts; one on another host or imposed does not."""
    own = {"drafter": "org/theirs", "steps": 3}
    found = by_id(
        options(
            decided(
                figure("old", 60, "tok/s", "decode_rate", workload="chat", **own),
                {
                    **figure("new", 90, "tok/s", "decode_rate", workload="chat", **own),
                    "supersedes": ["old"],
                    "supersedes_because": "Measured again.",
                },
                figure("code", 70, "tok/s", "decode_rate", workload="code", **own),
                figure("away", 99, "tok/s", "decode_rate", **{**own, "host": "other"}),
                figure("drawn", 98, "tok/s", "decode_rate", acceptance="imposed", **own),
            )
        )
    )
    measured = found["theirs"].measured
    assert [(one.workload, one.record.id, one.against_baseline) for one in measured] == [
        ("code", "code", "below"),
        ("chat", "new", "above"),
    ]
    assert found["other"].measured == ()
    told = as_json(found["theirs"])["measured"][1]
    assert (told["id"], told["rate"]["mid"]) == ("new", 90)
