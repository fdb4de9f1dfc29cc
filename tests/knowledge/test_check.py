"""Faults between findings: each named with file, line, finding and a way to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gamekit.errors import FindingError, FormulaError, GamekitError, KnowledgeErrors, ReferenceFault
from gamekit.knowledge import build
from gamekit.strict_yaml import write_yaml

from .bases import (
    STAND_IN,
    Data,
    approach,
    base,
    claim,
    finding,
    measurement,
    review,
    run,
    series,
    steady,
)


def problems(*parts: Data, **options: Any) -> list[GamekitError]:
    with pytest.raises(KnowledgeErrors) as caught:
        build(base(*parts, **options))
    return caught.value.problems


def only(*parts: Data, **options: Any) -> GamekitError:
    found = problems(*parts, **options)
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


def line_of(text: str, *parts: Data) -> int:
    """The line of the curated file on which ``text`` first stands."""
    written = write_yaml({"schema": 1, "findings": list(parts)})
    return next(n for n, line in enumerate(written.splitlines(), 1) if text in line)


GATE = {
    "title": "Does it pay?",
    "predicate": "[gone] > 1",
    "if_holds": {"text": "Yes."},
    "if_fails": {"text": "No."},
}


@pytest.mark.parametrize(
    "part",
    [
        measurement("m", 1, series="gone"),
        measurement("m", 1, supersedes=["gone"], supersedes_because="newer"),
        measurement("m", 1, notes="As in [[gone]]."),
        measurement("m", {"unknown": "see [[gone]]", "unit": "tok/s"}),
        review("m", "disputes", ["gone"]),
        review("m", "reproduces", ["s"], evidence=["gone"]),
        claim("m", "[gone] * 2"),
        approach("m", ["load"], includes=["gone"]),
        approach("m", ["load"], depends_on=["gone"]),
        approach("m", ["load"], gates=[GATE]),
        approach(
            "m",
            ["load"],
            gates=[
                {**GATE, "predicate": "1 > 0", "if_fails": {"text": "No.", "next": ["gone"]}},
            ],
        ),
        finding("evaluation", "m", state="done", purpose="p", command="c", settles=["gone"]),
        finding("evaluation", "m", state="done", purpose="p", command="c", results=["gone"]),
        finding("evaluation", "m", state="done", purpose="p", command="c", series=["gone"]),
        finding("assumption", "m", statement="s", if_wrong="w", tested_by=["gone"]),
        finding("question", "m", question="q", why_it_matters="w", settle="s", settled_by=["gone"]),
        finding("decision", "m", decision="d", why="w", reopen_when="r", based_on=["gone"]),
        finding("model", "m", role="drafter", name="n", drafts_for="gone"),
        finding(
            "failed_experiment",
            "m",
            hypothesis="h",
            tried="t",
            outcome="o",
            reason="r",
            scope="s",
            retry_when="w",
            deciding=["gone"],
        ),
    ],
    ids=lambda part: part["kind"],
)
def test_a_dangling_id_is_refused_wherever_it_stands(part: Data) -> None:
    """An id that names nothing is one error with the line of the field it stands in."""
    parts = (series("s"), part)
    problem = only(*parts)
    assert isinstance(problem, ReferenceFault | FormulaError)
    assert "there is no finding 'gone'" in problem.message
    assert (problem.file, problem.finding) == ("findings/all.yaml", "m")
    assert problem.line == line_of("gone", *parts)
    assert problem.mend


def test_the_mend_of_a_dangling_id_names_what_is_close() -> None:
    """A misspelt id is answered with the ids that resemble it."""
    problem = only(series("baseline-rate"), measurement("m", 1, series="baseline-rat"))
    assert problem.mend == "did you mean baseline-rate?"


def test_a_dangling_run_is_refused() -> None:
    """A source that names a run which has no file is an error at the field ``source.run``."""
    problem = only(measurement("m", 1, source={"kind": "run", "run": "20261201-gone"}))
    assert "there is no run '20261201-gone'" in problem.message


def test_all_faults_are_told_together_in_the_order_of_lines() -> None:
    """Several faults come as one list, sorted by where they stand."""
    found = problems(
        claim("c1", "[gone-1] +"),
        measurement("m", 1, series="gone-2"),
        claim("c2", "[gone-3]"),
    )
    assert [problem.finding for problem in found] == ["c1", "m", "c2"]


def test_a_reference_to_an_unfitting_kind_is_refused() -> None:
    """A series field that names a claim says which kind it found and which fits."""
    problem = only(claim("c", "1"), measurement("m", 1, series="c"))
    assert "c is a claim" in problem.message
    assert problem.mend == "name a finding of kind series"


def test_a_member_of_another_metric_is_refused() -> None:
    """A measurement of another metric than its series names the fields and what both have."""
    found = problems(
        series("s"), measurement("m", {"value": 3, "unit": "ms"}, metric="ttft", series="s")
    )
    assert [problem.message for problem in found] == [
        "metric: is ttft, and series s has decode_rate",
        "value.unit: is ms, and series s has tok/s",
    ]


def test_a_member_whose_subject_contradicts_its_series_names_the_field() -> None:
    """A known field of the subject that differs from the series' match is refused by name."""
    problem = only(
        series("s", match={"steps": 2, "host": "pcie8"}),
        measurement("m", 1, series="s", subject={"steps": 3, "host": "pcie8"}),
    )
    assert problem.message == "subject.steps: is 3, and series s has 2"


@pytest.mark.parametrize(
    ("own", "matched"), [({"mib": 8}, {}), ({}, {"mib": 8}), ({"mib": 8}, {"mib": 1})]
)
def test_a_member_of_other_parameters_is_refused(own: Data, matched: Data) -> None:
    """A parameter left out has its default: only equal parameters make one series."""
    problem = only(
        series("s", match={"host": "x", "parameters": matched}),
        measurement("m", 1, series="s", subject={"host": "x", "parameters": own}),
    )
    assert problem.message.startswith("subject.parameters.mib: is ")
    build(
        base(
            series("s", match={"host": "x", "parameters": own}),
            measurement("m", 1, series="s", subject={"host": "x", "parameters": own}),
        )
    )


def figured(metric: str, unit: str, value: Data, **subject: Any) -> Data:
    return measurement("m", {**value, "unit": unit}, metric=metric, subject=subject)


@pytest.mark.parametrize(
    ("part", "field", "why"),
    [
        (figured("accept_length", "tok/cycle", {"value": 3.1}, steps=2), "value: ", "at most 3"),
        (figured("accept_length", "tok/cycle", {"value": 0.9}), "value: ", "at least 1"),
        (
            figured("accept_length", "tok/cycle", {"value": 9.0}, topk=1, draft_tokens=3),
            "value: ",
            "at most 3",
        ),
        (
            figured(
                "accept_length",
                "tok/cycle",
                {"low": 2.0, "high": 4.0, "range": "observed"},
                steps=2,
            ),
            "high: ",
            "at most 3",
        ),
        (
            figured("accept_length", "tok/cycle", {"samples": [2.5, 3.5]}, steps=2),
            "samples",
            "at most 3",
        ),
        (figured("conditional_accuracy", "1", {"value": 1.2}), "value: ", "between 0 and 1"),
        (figured("cumulative_acceptance", "1", {"value": -0.1}), "value: ", "between 0 and 1"),
        (figured("ttft", "ms", {"value": -4}), "value: ", "negative"),
        (figured("decode_rate", "tok/s", {"samples": [80.0, -80.0]}), "samples", "negative"),
        (figured("decode_rate", "tok/s", {"value": 0}), "value: ", "cannot be 0"),
        (figured("time_per_output_token", "ms", {"samples": [8.0, 0.0]}), "samples", "be 0"),
    ],
)
def test_a_figure_that_its_metric_cannot_have_is_refused(part: Data, field: str, why: str) -> None:
    """What cannot be is an error at the line of the figure, sample or end of a range."""
    problem = only(part)
    assert isinstance(problem, FindingError)
    assert why in problem.message
    written = write_yaml({"schema": 1, "findings": [part]}).splitlines()
    assert problem.line is not None
    assert field in written[problem.line - 1]


def test_the_steps_of_a_series_bound_its_members() -> None:
    """An accept length that leaves its steps to the series is measured by those."""
    problem = only(
        series("s", metric="accept_length", unit="tok/cycle", match={"steps": 2}),
        measurement("m", {"value": 3.5, "unit": "tok/cycle"}, metric="accept_length", series="s"),
    )
    assert "at most 3" in problem.message


@pytest.mark.parametrize(
    "part",
    [
        figured("accept_length", "tok/cycle", {"value": 3.0}, steps=2),
        figured("accept_length", "tok/cycle", {"value": 7.5}),
        figured("conditional_accuracy", "1", {"value": 1.0}),
        figured("clock_offset", "ms", {"value": -3.0}),
    ],
)
def test_a_figure_at_its_limit_is_taken(part: Data) -> None:
    """Limits themselves are possible, and of an own metric nothing is assumed."""
    figure = build(base(part)).figure("m").known
    assert figure is not None
    assert figure.mid == part["value"]["value"]


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ({"steps": 3, "topk": 1, "draft_tokens": 3}, "3 steps give 4"),
        ({"steps": 2, "imposed_accept_length": 3.5}, "at most 3"),
    ],
)
def test_a_subject_that_contradicts_itself_is_refused(subject: Data, why: str) -> None:
    """A chain verifies one token more than it drafts, and imposes no more than it can bring."""
    part = measurement("m", 1, subject=subject)
    with pytest.raises(KnowledgeErrors, match=why) as caught:
        base(part)
    (problem,) = caught.value.problems
    assert isinstance(problem, FindingError)
    assert problem.line in (line_of("subject:", part), line_of("subject:", part) + 1)


def test_a_member_that_leaves_a_field_unknown_is_taken() -> None:
    """What a measurement does not say of its subject contradicts nothing."""
    knowledge = build(base(series("s", match={"steps": 2}), measurement("m", 1, series="s")))
    assert [member.id for member in knowledge.series("s").members] == ["m"]


@pytest.mark.parametrize(
    ("formula", "what"),
    [
        ("[m] +", "column"),
        ("[m] > 1", "figure"),
        ("__import__('os')", "column"),
    ],
)
def test_a_malformed_formula_is_an_error_with_its_place(formula: str, what: str) -> None:
    """A claim's formula that does not parse, or compares, is refused at its line."""
    parts = (measurement("m", 1), claim("c", formula))
    problem = only(*parts)
    assert isinstance(problem, FormulaError)
    assert what in problem.message
    assert problem.line == line_of("formula:", *parts)


def test_a_gate_that_compares_nothing_is_refused() -> None:
    """A predicate must be a comparison."""
    problem = only(
        measurement("m", 1), approach("a", ["load"], gates=[{**GATE, "predicate": "[m]"}])
    )
    assert isinstance(problem, FormulaError)
    assert "compares" in problem.message


def test_a_gate_that_compares_two_units_is_refused() -> None:
    """A rate against a time decides nothing; what is computed on a side has no unit to compare."""
    gate = {**GATE, "predicate": "[rate] >= [cycle]"}
    parts = (
        series("rate"),
        measurement("cycle", {"value": 30, "unit": "ms"}, metric="cycle_time"),
        approach("a", ["x"], gates=[gate]),
    )
    problem = only(*parts)
    assert isinstance(problem, FormulaError)
    assert "compares rate in tok/s with cycle in ms" in str(problem)
    computed = {**GATE, "predicate": "[rate] >= 1000 / [cycle]"}
    build(base(*parts[:2], approach("a", ["x"], gates=[computed])))


def test_a_review_names_each_record_once_and_other_evidence() -> None:
    """A record is neither judged twice by one review, nor evidence against itself."""
    m = measurement("m", 1)
    assert "names m twice" in str(only(m, review("r", "retracts", ["m", "m"])))
    itself = review("r", "disputes", ["m"], evidence=["m"])
    assert "both what is judged and the evidence" in str(only(m, itself))


def test_a_chain_longer_than_formulas_reach_is_refused() -> None:
    """No figure of the model exists beyond 100 steps, so that no finding may be of more."""
    build(base(measurement("m", 1, subject={"steps": 100})))
    assert "steps" in str(only(measurement("m", 1, subject={"steps": 101})))


def test_a_formula_over_what_has_no_figure_is_refused() -> None:
    """A formula may name measurements, series and claims, and nothing else."""
    problem = only(finding("model", "k", role="target", name="K"), claim("c", "[k] * 2"))
    assert problem.message == "formula: k is a model and has no figure"


@pytest.mark.parametrize(
    ("parts", "item"),
    [
        (
            [
                measurement("a", 1, supersedes=["b"], supersedes_because="r"),
                measurement("b", 1, supersedes=["a"], supersedes_because="r"),
            ],
            "- b",
        ),
        ([review("a", "retracts", ["b"]), review("b", "retracts", ["a"])], "- b"),
        ([review("a", "retracts", ["a"])], "- a"),
        ([approach("a", ["x"], includes=["b"]), approach("b", ["y"], includes=["a"])], "- b"),
        ([approach("a", ["x"], includes=["b"]), approach("b", ["y"], depends_on=["a"])], "- b"),
        ([claim("a", "[b]"), claim("b", "[a] + 1")], "formula"),
    ],
)
def test_references_in_a_circle_are_refused(parts: list[Data], item: str) -> None:
    """A circle is one error that draws it, at the field that leads into it."""
    problem = only(*parts)
    assert "in a circle: a → " in problem.message
    assert problem.message.endswith("→ a")
    assert problem.line == line_of(item, *parts)


def test_reviews_that_replace_each_other_by_evidence_are_refused() -> None:
    """Evidence that supersedes what supersedes it is a circle as well, unless one is undone."""
    parts = (
        measurement("a", 1),
        measurement("b", 1),
        review("r1", "supersedes", ["a"], evidence=["b"]),
        review("r2", "supersedes", ["b"], evidence=["a"]),
    )
    assert "in a circle: a → b → a" in only(*parts).message
    build(base(*parts, review("r3", "retracts", ["r2"])))


def test_a_simulated_measurement_cannot_replace_a_real_one() -> None:
    """What was measured on the stand-in supersedes only its own kind."""
    problem = only(
        series("rate"),
        measurement("old", 80, series="rate"),
        run(
            "r1",
            "2026-12-01T00:00:00Z",
            steady("new", 90, supersedes=["old"], supersedes_because="newer"),
            engine=STAND_IN,
        ),
    )
    assert "cannot take the place of old: it is simulated" in problem.message


def test_a_finding_in_a_run_file_comes_from_that_run() -> None:
    """A measurement beside a run that names another source is refused."""
    part = run("r1", "2026-12-01T00:00:00Z", measurement("m", 1))
    part["findings"][0]["source"] = {"kind": "investigation", "messages": ["1"]}
    assert "in the file of run r1" in only(part).message


def test_a_finding_with_the_id_of_a_run_is_refused() -> None:
    """Ids of findings and of runs are one set, since both are asked for by id."""
    problem = only(run("r1", "2026-12-01T00:00:00Z"), measurement("r1", 1))
    assert "a run has this id" in problem.message


def test_ids_in_the_configuration_are_checked_with_their_line(tmp_path: Path) -> None:
    """A key number that names nothing is an error of gamekit.yaml, at its line."""
    (tmp_path / "gamekit.yaml").write_text(
        "schema: 1\ntitle: A plan\nplan: plan.md\ngoal: m\nkey_numbers:\n  - m\n  - gone\n"
    )
    found = problems(
        measurement("m", 1), config={"goal": "m", "key_numbers": ["m", "gone"]}, root=tmp_path
    )
    assert [(problem.file, problem.line) for problem in found] == [
        ("gamekit.yaml", 4),
        ("gamekit.yaml", 7),
    ]
    assert found[0].mend == "name a finding of kind decision"
