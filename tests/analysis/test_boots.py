"""Which key numbers rest on a boot that is gone."""

from __future__ import annotations

from typing import Any

from knowledge.bases import Data, claim, known, measurement, run, series, steady

from gamekit.analysis.boots import boots_of, boots_of_key_numbers
from gamekit.knowledge import Knowledge

HOST = {"host": "box"}


def on(boot: str | None, name: str, day: int, *findings: Data, **fields: Any) -> Data:
    environment = {"python": "3.12"} | ({} if boot is None else {"boot": boot})
    return run(name, f"2026-12-{day:02}T00:00:00Z", *findings, environment=environment, **fields)


def standing(knowledge: Knowledge, name: str) -> tuple[str | None, str]:
    found = boots_of(knowledge, name)
    return found.standing, found.in_words()


def test_a_figure_of_the_last_boot_is_of_the_newest_known() -> None:
    """Nothing newer is known of the host: its boot may still be there."""
    knowledge = known(series("rate", match=HOST), on("b1", "r1", 1, steady("m1", 90, subject=HOST)))
    assert standing(knowledge, "rate") == ("newest", "m1: of the newest boot known of box")
    assert standing(knowledge, "m1") == ("newest", "of the newest boot known of box")


def test_a_later_boot_of_the_host_makes_an_earlier_one_gone() -> None:
    """Whatever was measured on the later boot, also in another series, shows that it came."""
    knowledge = known(
        series("rate", match=HOST),
        on("b1", "r1", 1, steady("m1", 90, subject=HOST)),
        on("b2", "r2", 2, steady("other", 5, None, subject=HOST)),
    )
    assert standing(knowledge, "m1") == (
        "gone",
        "of an earlier boot of box than the newest known, on which other was measured",
    )


def test_a_boot_of_another_host_says_nothing() -> None:
    """Hosts have boots of their own."""
    knowledge = known(
        series("rate", match=HOST),
        on("b1", "r1", 1, steady("m1", 90, subject=HOST)),
        on("b2", "r2", 2, steady("other", 5, None, subject={"host": "elsewhere"})),
    )
    assert standing(knowledge, "m1")[0] == "newest"


def test_what_was_not_recorded_is_unknown_with_its_reason() -> None:
    """A run without a boot, and one without a host, are told apart."""
    knowledge = known(
        series("rate", match=HOST),
        on(None, "r1", 1, steady("m1", 90, subject=HOST)),
        on("b1", "r2", 2, steady("m2", 90, None)),
    )
    assert standing(knowledge, "m1") == ("unknown", "its boot was not recorded")
    assert standing(knowledge, "m2") == ("unknown", "its host was not recorded")


def test_a_boot_that_somebody_stated_counts() -> None:
    """A reported figure may say on which boot it was seen; a later run shows that that is gone."""
    stated = measurement("old", 89, series="rate", environment={"boot": "the first"})
    alone = known(series("rate", match=HOST), stated)
    assert standing(alone, "old")[0] == "newest"
    later = known(
        series("rate", match=HOST), stated, on("b1", "r1", 1, steady("m1", 60, subject=HOST))
    )
    assert standing(later, "old")[0] == "gone"


def test_a_claim_rests_on_the_boots_of_all_it_is_computed_from() -> None:
    """One part of a boot that is gone decides, and is named."""
    knowledge = known(
        series("rate", match=HOST),
        on("b1", "r1", 1, steady("early", 90, None, subject=HOST)),
        on("b2", "r2", 2, steady("m2", 60, subject=HOST)),
        claim("gain", "[early] / [rate]"),
        config={"key_numbers": ["gain", "rate"]},
    )
    gain, rate = boots_of_key_numbers(knowledge)
    assert (gain.name, gain.standing, rate.standing) == ("gain", "gone", "newest")
    assert [part.record.id for part in gain.deciding] == ["early"]
    assert gain.as_json()["rests_on"][1]["standing"] == "newest"


def test_the_figures_of_others_rest_on_no_boot_of_ours() -> None:
    """A published figure has none, and that is no unknown."""
    source = {"kind": "publication", "title": "A card", "read": "2026-11-29"}
    knowledge = known(measurement("card", 3, source=source))
    assert standing(knowledge, "card") == (
        None,
        "it has no figure, or rests on nothing that was measured on a host",
    )
