"""The current figure of a series by the rule, its predecessor, and shifts until settled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamekit.errors import UsageFault
from gamekit.findings import Environment
from gamekit.knowledge import Knowledge, compare

from .bases import (
    STAND_IN,
    Data,
    from_messages,
    known,
    measurement,
    published,
    review,
    run,
    said,
    series,
    steady,
)

BASELINE = measurement(
    "baseline",
    {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"},
    series="rate",
    source=from_messages("4912-4931"),
)
EARLY = measurement("early", 89, series="rate", source=from_messages("4900"))


def run_of(name: str, rate: float, day: int = 1, **options: Any) -> Data:
    return run(f"run-{name}", f"2026-12-{day:02}T00:00:00Z", steady(name, rate), **options)


def current(knowledge: Knowledge) -> str | None:
    found = knowledge.series("rate").current
    return None if found is None else found.id


def test_the_newest_reported_figure_counts_until_an_adequate_one_exists() -> None:
    """Reported figures go by age; one adequate run takes their place, however it compares."""
    assert current(known(series("rate"), BASELINE, EARLY)) == "baseline"
    assert current(known(series("rate"), BASELINE, EARLY, run_of("m", 70))) == "m"


def test_a_newer_report_does_not_displace_an_adequate_figure() -> None:
    """Somebody's later word is in the series and not its figure, and is told why."""
    word = measurement("word", 99, series="rate", source=said("2026-12-24"))
    knowledge = known(series("rate"), run_of("m", 70), word)
    assert current(knowledge) == "m"
    assert knowledge.standing("word").why_not == "reported, and m in series rate is adequate"
    assert knowledge.series("rate").predecessor is None


@pytest.mark.parametrize(
    "part",
    [
        run_of("m", 70, outcome="failed", reason="it hung"),
        run_of("m", 70, engine=STAND_IN),
        run("run-m", "2026-12-01T00:00:00Z", measurement("m", [70.0] * 4, series="rate")),
        run(
            "run-m",
            "2026-12-01T00:00:00Z",
            measurement("m", {"unknown": "no chunk", "unit": "tok/s"}, series="rate"),
        ),
        measurement("m", 70, series="rate", source=published("2026-12-01")),
        measurement(
            "m", {"unknown": "?", "unit": "tok/s"}, series="rate", source=said("2026-12-01")
        ),
    ],
    ids=["failed", "simulated", "inadequate", "unknown", "published", "said to be unknown"],
)
def test_what_is_no_good_figure_changes_nothing(part: Data) -> None:
    """Failed, simulated, inadequate, published and unknown members never become current."""
    knowledge = known(series("rate"), BASELINE, part)
    view = knowledge.series("rate")
    assert [member.id for member in view.members] == ["baseline", "m"]
    assert (view.current and view.current.id, view.shifted) == ("baseline", None)
    assert not knowledge.standing("m").current
    assert knowledge.standing("m").why_not


@pytest.mark.parametrize("verdict", ["supersedes", "disputes", "retracts"])
def test_a_review_moves_the_figure_back_and_its_retraction_forth(verdict: str) -> None:
    """A run that is superseded, disputed or retracted no longer counts, unless that is undone."""
    parts = (series("rate"), BASELINE, run_of("m", 70), review("no", verdict, ["m"]))
    assert current(known(*parts)) == "baseline"
    assert current(known(*parts, review("undo", "retracts", ["no"]))) == "m"
    assert current(known(*parts, review("again", "supersedes", ["no"]))) == "m"


def test_a_series_without_a_usable_member_has_no_figure() -> None:
    """A series of nothing, or of refuted members only, has no current figure."""
    assert current(known(series("rate"))) is None
    assert current(known(series("rate"), BASELINE, review("no", "disputes", ["baseline"]))) is None


def test_only_a_series_has_a_series_view() -> None:
    """Asking for the series of a measurement by its own id is a usage error."""
    with pytest.raises(UsageFault, match="is a measurement and no series"):
        known(series("rate"), BASELINE).series("baseline")


def test_a_disagreeing_run_is_shifted_with_change_direction_and_environments() -> None:
    """A run beyond both intervals marks the series, with change, direction and what differs."""
    environment = {"driver": "575", "boot": "b2", "packages": {"torch": "2.9"}}
    before = {**BASELINE, "environment": {"driver": "570", "packages": {"torch": "2.9"}}}
    shift = (
        known(series("rate"), before, run_of("m", 70, environment=environment))
        .series("rate")
        .shifted
    )
    assert shift is not None
    assert (shift.before.id, shift.after.id, shift.better) == ("baseline", "m", False)
    assert shift.change is not None
    assert shift.change.mid == pytest.approx(70 / 82.5 - 1)
    assert shift.change.low == pytest.approx(69.804 / 83 - 1, abs=1e-4)
    assert shift.environments.in_words() == (
        "driver 570 → 575; unknown before: engine, engine_version, boot"
    )


def test_the_better_direction_is_that_of_the_metric() -> None:
    """A time that falls is better."""
    quick = {"unit": "ms", "metric": "ttft", "better": "lower"}
    first = measurement("first", {"value": 400, "unit": "ms"}, metric="ttft", series="rate")
    second = measurement(
        "second",
        {"value": 300, "unit": "ms"},
        metric="ttft",
        series="rate",
        source=from_messages("9"),
    )
    shift = known(series("rate", **quick), first, second).series("rate").shifted
    assert shift is not None
    assert shift.better


def test_figures_whose_intervals_meet_are_not_shifted() -> None:
    """A run inside the reported range, or inside a figure's rounding, is no shift."""
    assert known(series("rate"), BASELINE, run_of("m", 82.6)).series("rate").shifted is None
    rounded = measurement("old", 82, series="rate")
    assert known(series("rate"), rounded, run_of("m", 82.6)).series("rate").shifted is None
    assert known(series("rate"), rounded, run_of("m", 82.8)).series("rate").shifted is not None


def test_a_second_run_like_the_first_does_not_settle_a_shift() -> None:
    """Measuring the new figure again leaves the mark, against the figure before the first."""
    view = known(series("rate"), BASELINE, run_of("m1", 70), run_of("m2", 70.1, 2)).series("rate")
    assert view.predecessor is not None
    assert view.predecessor.id == "m1"
    assert view.shifted is not None
    assert (view.shifted.before.id, view.shifted.after.id) == ("baseline", "m2")


@pytest.mark.parametrize(
    "judgement",
    [
        review("r", "reproduces", ["m1"], evidence=["m2"]),
        review("r", "supersedes", ["baseline"], evidence=["m1"]),
        review("r", "disputes", ["baseline"], evidence=["m1"]),
    ],
)
def test_a_review_of_the_pair_settles_the_shift(judgement: Data) -> None:
    """Once somebody has judged the new figure against the old one, it is shifted no more."""
    parts = (series("rate"), BASELINE, run_of("m1", 70), run_of("m2", 70.1, 2), judgement)
    view = known(*parts).series("rate")
    assert view.shifted is None
    assert view.current is not None
    assert view.current.id == "m2"
    undone = known(*parts, review("undo", "retracts", ["r"])).series("rate")
    assert undone.shifted is not None


def test_an_older_review_does_not_settle_a_new_shift() -> None:
    """What was said of the old figure before, in other matters, settles nothing about the new."""
    earlier = review(
        "r", "supersedes", ["early"], evidence=["baseline"], source=from_messages("4931")
    )
    view = known(series("rate"), BASELINE, EARLY, earlier, run_of("m", 70)).series("rate")
    assert view.shifted is not None
    assert view.shifted.before.id == "baseline"


def test_a_review_about_something_else_settles_nothing() -> None:
    """The new figure may be evidence in another matter without being judged against the old."""
    elsewhere = review("r", "disputes", ["word"], evidence=["m"])
    word = measurement("word", 3)
    view = known(series("rate"), BASELINE, word, run_of("m", 70), elsewhere).series("rate")
    assert view.shifted is not None


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({}, {}, "no part of the environment is recorded for both"),
        ({"driver": "570"}, {"driver": "570"}, "nothing that both recorded differs"),
        (
            {"driver": "570", "cpu": "x"},
            {"driver": "570"},
            "nothing that both recorded differs; unknown after: cpu",
        ),
        (
            {"gpus": ["A", "B"], "variables": {"NCCL_ALGO": "Ring"}},
            {"gpus": ["A"], "variables": {"NCCL_ALGO": "Tree"}},
            "gpus A, B → A; variables.NCCL_ALGO Ring → Tree",
        ),
    ],
)
def test_environments_are_compared_field_by_field(before: Data, after: Data, words: str) -> None:
    """What differs is named with both values, and what only one of the two knows is told apart."""
    compared = compare(Environment.model_validate(before), Environment.model_validate(after))
    assert compared.in_words() == words


def test_a_run_tells_its_engine_where_its_environment_does_not() -> None:
    """The engine's own name and version are part of the environment of what it measured."""
    environment = known(series("rate"), run_of("m", 70)).environment("m")
    assert (environment.engine, environment.engine_version) == ("sglang", "0.5.6")


def test_a_member_that_supersedes_its_predecessor_settles_it_itself() -> None:
    """A finding that says which one it replaces, and why, is no open shift."""
    newer = measurement(
        "newer",
        70,
        series="rate",
        source=said("2026-12-01"),
        supersedes=["baseline"],
        supersedes_because="another boot",
    )
    assert known(series("rate"), BASELINE, EARLY, newer).series("rate").shifted is None


def test_later_boots_that_disagree_make_a_figure_unreproduced() -> None:
    """A run is unreproduced when adequate runs on other boots disagree, and none of them agrees."""
    boots = [{"boot": "b1"}, {"boot": "b2"}, {"boot": "b3"}]
    first, second = (
        run_of("m1", 90, 1, environment=boots[0]),
        run_of("m2", 70, 2, environment=boots[1]),
    )
    knowledge = known(series("rate"), first, second)
    assert knowledge.standing("m1").statuses == ["unreproduced"]
    assert knowledge.standing("m2").statuses == ["current"]
    again = run_of("m3", 90.1, 3, environment=boots[2])
    assert "unreproduced" not in known(series("rate"), first, second, again).standing("m1").statuses
    same_boot = run_of("m2", 70, 2, environment=boots[0])
    assert "unreproduced" not in known(series("rate"), first, same_boot).standing("m1").statuses
    unknown_boot = run_of("m2", 70, 2)
    assert "unreproduced" not in known(series("rate"), first, unknown_boot).standing("m1").statuses


def test_a_boot_that_was_there_before_is_no_later_one() -> None:
    """What a host gives on a boot that it had before the figure does not contradict the figure."""
    before = run_of("m0", 70.1, 1, environment={"boot": "b2"})
    figure = run_of("m1", 90, 2, environment={"boot": "b1"})
    after = run_of("m2", 70, 3, environment={"boot": "b2"})
    knowledge = known(series("rate"), before, figure, after)
    assert "unreproduced" not in knowledge.standing("m1").statuses
    later = run_of("m3", 70, 4, environment={"boot": "b3"})
    knowledge = known(series("rate"), before, figure, after, later)
    assert "unreproduced" in knowledge.standing("m1").statuses


def test_boots_of_another_host_do_not_contradict() -> None:
    """A series without a host takes figures of several; each host has boots of its own."""
    here, there = (
        run(
            name,
            f"2026-12-0{day}T00:00:00Z",
            steady(f"m{day}", rate, subject={"host": host}),
            environment={"boot": f"b{day}"},
        )
        for name, day, rate, host in (("r1", 1, 90, "one"), ("r2", 2, 70, "two"))
    )
    assert known(series("rate"), here, there).standing("m1").statuses == []


def test_a_stated_boot_is_of_the_host_of_its_series() -> None:
    """A reported figure that names its boot alone is contradicted by later boots of that host."""
    early = measurement("early", 90, series="rate", environment={"boot": "an earlier boot"})
    later = run(
        "r2",
        "2026-12-02T00:00:00Z",
        steady("m2", 70, subject={"host": "box"}),
        environment={"boot": "b2"},
    )
    knowledge = known(series("rate", match={"host": "box"}), early, later)
    assert "unreproduced" in knowledge.standing("early").statuses


def test_a_review_decides_whether_a_figure_was_reproduced() -> None:
    """It says so where no later boot did, and it takes back what later boots say."""
    first = run_of("m1", 90, 1, environment={"boot": "b1"})
    second = run_of("m2", 70, 2, environment={"boot": "b2"})
    failed = review("failed", "fails_to_reproduce", ["m1"])
    assert "unreproduced" in known(series("rate"), first, failed).standing("m1").statuses
    came_back = review("came-back", "reproduces", ["m1"])
    standing = known(series("rate"), first, second, came_back).standing("m1")
    assert "unreproduced" not in standing.statuses
    assert "reproduced" in standing.statuses


KINDS = st.sampled_from(["adequate", "reported", "inadequate", "simulated", "failed"])
JUDGEMENTS = st.sampled_from([None, None, "supersedes", "disputes", "retracts", "reproduces"])


def member(name: str, kind: str, rate: int, place: int) -> Data:
    at = f"2026-12-01T00:00:{place:02}Z"
    if kind == "reported":
        return measurement(name, rate, series="rate", source=from_messages(str(place)))
    if kind == "inadequate":
        return run(f"run-{name}", at, measurement(name, [float(rate)], series="rate"))
    options: Data = {"simulated": {"engine": STAND_IN}}.get(kind, {})
    if kind == "failed":
        options = {"outcome": "failed", "reason": "it hung"}
    return run(f"run-{name}", at, steady(name, rate), **options)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(KINDS, st.integers(60, 70), JUDGEMENTS), max_size=8),
    st.randoms(use_true_random=False),
)
def test_the_current_figure_follows_the_rule_for_any_members(specs: list, random) -> None:
    """It is the newest adequate member that stands, else the newest such reported one, always."""
    parts = [series("rate")]
    for place, (kind, rate, judgement) in enumerate(specs):
        parts.append(member(f"m{place}", kind, rate, place + 1))
        if judgement is not None:
            parts.append(review(f"r{place}", judgement, [f"m{place}"]))
    standing = {
        wanted: [
            f"m{place}"
            for place, (kind, _, judgement) in enumerate(specs)
            if kind == wanted and judgement in (None, "reproduces")
        ]
        for wanted in ("adequate", "reported")
    }
    best = standing["adequate"] or standing["reported"]
    random.shuffle(parts)
    knowledge = known(*parts)
    view = knowledge.series("rate")
    assert current(knowledge) == (best[-1] if best else None)
    marked = [one.id for one in view.members if knowledge.standing(one.id).current]
    assert marked == best[-1:]
    if view.shifted is not None:
        assert view.current is not None
        assert view.shifted.after.id == view.current.id
        assert knowledge.order_key(view.shifted.before.id) < knowledge.order_key(view.current.id)
