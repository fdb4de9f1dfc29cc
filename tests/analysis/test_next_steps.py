"""What to do next follows from what is open, and says which outcome leads where."""

from __future__ import annotations

from typing import Any

from knowledge.bases import (
    Data,
    approach,
    finding,
    from_messages,
    known,
    measurement,
    review,
    run,
    series,
    steady,
)

from gamekit.analysis.next_steps import NextStep, next_steps
from gamekit.analysis.summary import summarize

GATE = {
    "title": "Is the probe faster?",
    "predicate": "[probe] > [rate]",
    "if_holds": {"text": "Go on.", "next": ["b"]},
    "if_fails": {"text": "Stop here.", "next": ["boots"]},
}
PARTS = (
    series("rate"),
    series("probe"),
    measurement("baseline", 80, series="rate"),
    approach("b", ["train"], includes=["a"]),
    approach("a", ["load", "measure"], gates=[GATE]),
)


def evaluation(name: str, **fields: Any) -> Data:
    return finding(
        "evaluation",
        name,
        **{"state": "planned", "purpose": f"Purpose of {name}.", "command": "run it", **fields},
    )


BOOTS = evaluation("boots")
PROBE = evaluation("probing", series=["probe"])


def named(steps: list[NextStep]) -> list[tuple[str, str]]:
    return [(step.kind, step.id) for step in steps]


def test_an_approach_comes_before_the_evaluation_that_decides_its_gate() -> None:
    """What is to be measured has to be there; one that decides nothing is left out."""
    steps = next_steps(known(*PARTS, BOOTS, PROBE))
    assert named(steps) == [("approach", "a"), ("evaluation", "probing")]
    assert [(lead.then, lead.next) for lead in steps[1].leads] == [
        ("Go on.", ("b",)),
        ("Stop here.", ("boots",)),
    ]
    assert steps[1].command == "run it"
    # Told once: the approach does not repeat what the evaluation decides.
    assert steps[0].leads == ()


def test_what_is_done_or_decided_is_not_next() -> None:
    """Once the probe is measured and its evaluation done, what the gate leads to comes first."""
    decided = measurement("measured", 90, series="probe", source=from_messages("2"))
    steps = next_steps(
        known(*PARTS, BOOTS, evaluation("probing", series=["probe"], state="done"), decided)
    )
    assert named(steps) == [("gate", "a"), ("approach", "a")]
    assert steps[0].title == "Is the probe faster? Yes: Go on."
    assert steps[0].why[-1] == "Go on with [[b]]."


def test_a_gate_that_fails_says_where_that_leads() -> None:
    """The other outcome of a decided gate is left out."""
    slow = measurement("slow", 60, series="probe", source=from_messages("2"))
    steps = next_steps(known(*PARTS, BOOTS, slow))
    assert steps[0].title == "Is the probe faster? No: Stop here."
    assert "[[boots]]" in steps[0].why[-1]


def test_an_undecided_gate_asks_for_any_figure_it_rests_on() -> None:
    """Ranges that meet leave a gate open, and either side measured anew may decide it."""
    wide = measurement(
        "wide", {"low": 70, "high": 95, "range": "observed", "unit": "tok/s"}, series="probe"
    )
    again = evaluation("again", series=["rate"])
    steps = next_steps(known(*PARTS, BOOTS, wide, again))
    assert named(steps) == [("approach", "a"), ("evaluation", "again")]


def test_work_that_an_approach_done_before_brought_is_not_repeated() -> None:
    """With A done, B begins at its own item."""
    parts = (*PARTS[:3], approach("a", ["load", "measure"], state="done"), PARTS[3], BOOTS)
    steps = next_steps(known(*parts))
    assert named(steps) == [("approach", "b")]
    assert "train" in steps[0].title


def test_assumptions_and_questions_say_what_they_decide() -> None:
    """An assumption leads to what follows if it is wrong, a question is named as answered."""
    assumed = finding(
        "assumption", "guess", statement="So it is.", if_wrong="Then not.", tested_by=["boots"]
    )
    asked = finding(
        "question",
        "asked",
        question="Why?",
        why_it_matters="It does.",
        settle="Look.",
        settled_by=["boots"],
    )
    (step,) = next_steps(known(BOOTS, assumed, asked))
    assert step.settles == ("guess", "asked")
    assert [lead.then for lead in step.leads] == ["Then not."]
    assert any("Title of asked" in text for text in step.why)


def test_shifts_of_series_that_runs_began_are_counted_in_one_step() -> None:
    """By pair of runs, the pair with most of them first, behind the shifts of declared series."""
    begun = [series(name) for name in ("s1", "s2", "s3")]
    first = [steady(f"{name}.1", 80, name) for name in ("s1", "s2", "s3")]
    second = [steady(f"{name}.2", 60, name) for name in ("s1", "s2")]
    shifted = known(
        series("rate"),
        measurement("baseline", 80, series="rate"),
        run("r1", "2026-12-01T00:00:00Z", *begun, *first),
        run("r2", "2026-12-02T00:00:00Z", *second, steady("m", 70)),
        run("r3", "2026-12-03T00:00:00Z", steady("s3.2", 60, "s3")),
    )
    declared, of_runs = next_steps(shifted)
    assert (declared.kind, declared.id) == ("review", "rate")
    assert (of_runs.kind, of_runs.id) == ("review", "r2")
    assert "3 series that runs began" in of_runs.title
    assert of_runs.why == ("2 from r1 to r2.", "1 from r1 to r3.")
    assert of_runs.command == "gamekit compare r1 r2\ngamekit compare r1 r3"
    assert next_steps(shifted, of_runs=False) == [declared]
    assert [text for text in summarize(shifted).warnings if "gamekit compare" in text] == [
        "2 series that runs began have shifted from r1 to r2: gamekit compare r1 r2",
        "1 series that a run began has shifted from r1 to r3: gamekit compare r1 r3",
    ]


def test_a_shift_and_a_number_not_reproduced_come_first() -> None:
    """A shifted series asks for a review; a key number that did not come back, for a run."""
    shifted = (
        *PARTS,
        BOOTS,
        PROBE,
        run("r1", "2026-12-01T00:00:00Z", steady("m", 70)),
    )
    steps = next_steps(known(*shifted))
    assert named(steps)[0] == ("review", "rate")
    assert "[[m]] disagrees with [[baseline]]" in steps[0].why[0]
    doubted = known(
        *PARTS,
        BOOTS,
        PROBE,
        review("doubt", "fails_to_reproduce", ["baseline"]),
        config={"key_numbers": ["rate"]},
    )
    steps = next_steps(doubted)
    assert named(steps)[0] == ("measure again", "rate")


def test_as_json_texts_name_figures_and_ids() -> None:
    """For agents, ``[[id]]`` in a text is the figure with its id."""
    probing = evaluation("probing", series=["probe"], purpose="Beat [[rate]].")
    knowledge = known(*PARTS, BOOTS, probing)
    told = next_steps(knowledge)[1].as_json(knowledge)
    assert told["why"][0] == "Beat 80 tok/s [rate]."
    assert told["outcomes"][0]["next"] == ["b"]


def test_nothing_open_is_nothing_to_do() -> None:
    """Findings alone ask for nothing."""
    assert next_steps(known(*PARTS[:3])) == []
