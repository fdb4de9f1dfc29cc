"""What may stand in a series, take the place of another, or lead the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.errors import GamekitError, KnowledgeErrors
from gamekit.knowledge import build
from gamekit.knowledge.named_in_config import ids_in
from gamekit.store.root import Config

from .bases import (
    ENGINE,
    STAND_IN,
    Data,
    base,
    claim,
    finding,
    known,
    measurement,
    published,
    review,
    run,
    series,
    steady,
)

AT = "2026-12-01T00:00:00Z"
OLD = measurement("old", 80, series="rate")
REPLACES = {"supersedes": ["old"], "supersedes_because": "newer"}


def only(*parts: Data, config: Data | None = None, root: Path | None = None) -> GamekitError:
    with pytest.raises(KnowledgeErrors) as caught:
        build(base(*parts, config=config, root=root))
    assert len(caught.value.problems) == 1, str(caught.value)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (run("r", AT, steady("new", 90, **REPLACES), engine=STAND_IN), "simulated"),
        (run("r", AT, measurement("new", [90.0], series="rate", **REPLACES)), "inadequate"),
        (run("r", AT, steady("new", 90, **REPLACES), outcome="failed", reason="no"), "failed"),
        (
            measurement("new", {"unknown": "no", "unit": "tok/s"}, series="rate", **REPLACES),
            "its own figure is unknown",
        ),
        (
            measurement("new", 90, series="rate", source=published(), **REPLACES),
            "published",
        ),
        (claim("new", "1", **REPLACES), "a claim has no figure"),
        (measurement("new", 90, series="other", **REPLACES), "in series other, not rate"),
        (measurement("new", 90, **REPLACES), "in no series, not rate"),
    ],
)
def test_only_what_counts_takes_the_place_of_what_counts(part: Data, why: str) -> None:
    """A figure that cannot be current in the series supersedes no member of it by its own word."""
    problem = only(series("rate"), series("other"), OLD, part)
    assert "cannot take the place of old" in problem.message
    assert why in problem.message
    assert problem.mend is not None
    assert "review" in problem.mend


def test_what_counts_takes_the_place_of_what_counts() -> None:
    """An adequate member supersedes a reported one, and a review may say anything with a reason."""
    knowledge = known(series("rate"), OLD, run("r", AT, steady("new", 90, **REPLACES)))
    current = knowledge.series("rate").current
    assert current is not None
    assert current.id == "new"
    knowledge = known(
        series("rate"),
        OLD,
        run("r", AT, measurement("new", [90.0], series="rate")),
        review("v", "supersedes", ["old"], evidence=["new"]),
    )
    assert knowledge.standing("old").superseded_by == ["new"]
    assert knowledge.series("rate").current is None


@pytest.mark.parametrize("verdict", ["supersedes", "disputes", "retracts"])
def test_a_series_is_not_judged(verdict: str) -> None:
    """A review against a series would change nothing: its members are judged."""
    problem = only(series("rate"), OLD, review("v", verdict, ["rate"]))
    assert "rate is a series" in problem.message
    assert problem.mend == "judge its members, each by its id"


def test_a_series_is_not_superseded() -> None:
    """Nor does a finding supersede a series by its own word."""
    part = series("new", supersedes=["rate"], supersedes_because="newer")
    assert "rate is a series" in only(series("rate"), part).message


@pytest.mark.parametrize(
    "part", [steady("m", 90, None), series("s", match={"host": "x"})], ids=["figure", "series"]
)
def test_only_the_file_of_a_run_speaks_for_it(part: Data) -> None:
    """A curated figure or series that names a run as its source is refused."""
    problem = only(run("r", AT), {**part, "source": {"kind": "run", "run": "r"}})
    assert "not in the file of run r" in problem.message


def test_a_run_member_meets_every_field_of_its_series() -> None:
    """What a run does not know of its subject matches nothing; somebody's word may leave it out."""
    rate = series("rate", match={"host": "x", "concurrency": 1})
    problem = only(rate, OLD, run("r", AT, steady("m", 90, subject={"host": "x"})))
    assert problem.message == "subject.concurrency: is unknown, and series rate has 1"
    known(rate, run("r", AT, steady("m", 90, subject={"host": "x", "concurrency": 1})))


def test_random_weights_have_series_of_their_own() -> None:
    """A timing on dummy weights stands only in a series that names them."""
    member = run("r", AT, steady("m", 90, subject={"host": "x", "weights": "dummy"}))
    problem = only(series("rate", match={"host": "x"}), member)
    assert problem.message.startswith("subject.weights: is dummy")
    known(series("rate", match={"host": "x", "weights": "dummy"}), member)


CONFIG = "schema: 1\ntitle: A plan\nplan: plan.md\n"


def configured(root: Path, more: str) -> Path:
    (root / "gamekit.yaml").write_text(CONFIG + more, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (run("r", AT, steady("m", 90), engine=STAND_IN), "m is simulated"),
        (run("r", AT, measurement("m", [90.0], series="rate"), engine=ENGINE), "m is inadequate"),
        (run("r", AT, steady("m", 90), outcome="failed", reason="no"), "m is failed"),
    ],
)
def test_what_does_not_count_leads_no_plan(tmp_path: Path, part: Data, why: str) -> None:
    """Key numbers and roles of the model name no simulated, inadequate or failed record."""
    root = configured(tmp_path, "key_numbers: [rate, m]\n")
    problem = only(series("rate"), part, config={"key_numbers": ["rate", "m"]}, root=root)
    assert why in problem.message
    assert (problem.file, problem.line) == ("gamekit.yaml", 4)
    roles = {"baseline": "rate", "speculative_rate": "m", "cycle_time": "cycle"}
    model = {"model": {**roles, "accept_length": "length"}}
    rest = (claim("cycle", "1000 / [rate]", "ms"), claim("length", "[rate] * 0", "tok/cycle"))
    assert why in only(series("rate"), part, *rest, config=model, root=root).message


@pytest.mark.parametrize(
    ("role", "name", "what", "mend"),
    [
        ("baseline", "cycle", "cycle is in ms", "name a figure in tok/s"),
        ("cycle_time", "length", "length is in tok/cycle", "name a figure in ms"),
        ("break_even", "rate", "rate is in tok/s", "name a figure in tok/cycle"),
        ("accuracy", "rate", "rate is in tok/s", "name a figure in 1"),
        ("target_model", "own", "own is a drafter", "name the model that is served"),
    ],
)
def test_a_role_of_the_model_takes_a_figure_of_its_unit(
    tmp_path: Path, role: str, name: str, what: str, mend: str
) -> None:
    """What is in another unit would be computed with as if it were in the role's own."""
    root = configured(tmp_path, f"model:\n  {role}: {name}\n")
    roles = {
        "baseline": "rate",
        "speculative_rate": "rate",
        "cycle_time": "cycle",
        "accept_length": "length",
        role: name,
    }
    problem = only(
        series("rate"),
        claim("cycle", "1000 / [rate]", "ms"),
        claim("length", "[rate] * 0", "tok/cycle"),
        finding("model", "own", role="drafter", name="org/own"),
        config={"model": roles},
        root=root,
    )
    assert what in problem.message
    assert mend in problem.mend
    assert problem.line == 5


def test_a_lever_takes_a_time(tmp_path: Path) -> None:
    """An accept length in place of a shorter verify is refused where it is written."""
    root = configured(tmp_path, "model:\n  levers: {shorter_verify: length}\n")
    roles = {
        "baseline": "rate",
        "speculative_rate": "rate",
        "cycle_time": "cycle",
        "accept_length": "length",
        "levers": {"shorter_verify": "length"},
    }
    parts = (claim("cycle", "1000 / [rate]", "ms"), claim("length", "[rate] * 0", "tok/cycle"))
    problem = only(series("rate"), *parts, config={"model": roles}, root=root)
    assert "model.levers.shorter_verify: length is in tok/cycle" in problem.message


def test_a_root_cause_is_an_assumption_that_exists(tmp_path: Path) -> None:
    """Ids of every field of gamekit.yaml are looked up, and their kind must fit."""
    root = configured(tmp_path, "root_cause: [gone]\n")
    assert "no finding 'gone'" in only(config={"root_cause": ["gone"]}, root=root).message
    problem = only(series("rate"), config={"root_cause": ["rate"]}, root=root)
    assert problem.mend == "name a finding of kind assumption"
    good = finding("assumption", "a", statement="s", if_wrong="w")
    known(good, config={"root_cause": ["a"]})


def test_every_id_of_the_configuration_is_found() -> None:
    """Lists, roles and levers all count."""
    config = Config.model_validate(
        {
            "schema": 1,
            "title": "T",
            "plan": "p.md",
            "goal": "g",
            "root_cause": ["r"],
            "model": {
                "baseline": "b",
                "speculative_rate": "s",
                "cycle_time": "c",
                "accept_length": "a",
                "target_model": "t",
                "levers": {"shorter_verify": "v"},
            },
        }
    )
    assert [name for _, name, _ in ids_in(config)] == ["g", "r", "b", "s", "c", "a", "t", "v"]


def test_a_budget_is_of_a_section_that_the_plan_has(tmp_path: Path) -> None:
    """A misspelt section would be weighed by nobody."""
    root = configured(tmp_path, "budgets:\n  sections:\n    gaol: 5\n")
    problem = only(config={"budgets": {"sections": {"gaol": 5, "model": 5}}}, root=root)
    assert problem.message == "budgets.sections.gaol: the plan has no section 'gaol'"
    assert (problem.line, problem.mend) == (6, "did you mean goal?")
