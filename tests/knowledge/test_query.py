"""Questions by text, kind, status, metric and subject; and the JSON of a finding."""

from __future__ import annotations

import pytest

from gamekit.errors import UsageFault
from gamekit.knowledge import Knowledge

from .bases import (
    STAND_IN,
    claim,
    finding,
    known,
    measurement,
    review,
    run,
    series,
    steady,
)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return known(
        series("rate", match={"host": "pcie8", "steps": 0}, notes="Decode without speculation."),
        measurement(
            "baseline",
            {"low": 82, "high": 83, "range": "observed", "unit": "tok/s"},
            series="rate",
            subject={"host": "pcie8", "steps": 0, "temperature": 0.0},
            supersedes=["early"],
            supersedes_because="It did not come back.",
        ),
        measurement("early", 89, series="rate", subject={"host": "pcie8"}),
        measurement("ttft-told", {"value": 400, "unit": "ms"}, metric="ttft"),
        claim("double", "[rate] * 2", "tok/s"),
        claim("nothing", "accuracy_for(9, 2)"),
        finding("model", "drafter-own", role="drafter", name="A drafter for DECODE"),
        review("doubt", "disputes", ["ttft-told"]),
        run(
            "r1",
            "2026-12-01T00:00:00Z",
            steady("sim", 70, None, subject={"host": "laptop"}),
            engine=STAND_IN,
        ),
    )


def ids(found: list) -> list[str]:
    return [record.id for record in found]


def test_all_words_must_occur_in_either_case(knowledge: Knowledge) -> None:
    """Text is searched in ids, titles, texts and subject; every word has to be there."""
    assert ids(knowledge.query("decode SPECULATION")) == ["rate"]
    assert ids(knowledge.query("back come")) == ["baseline"]
    assert ids(knowledge.query("host=laptop")) == ["sim"]
    assert knowledge.query("decode nowhere") == []


def test_the_best_match_comes_first(knowledge: Knowledge) -> None:
    """A word in the id or title outweighs one in the texts, and an exact id all."""
    assert ids(knowledge.query("drafter"))[0] == "drafter-own"
    assert ids(knowledge.query("rate"))[0] == "rate"


def test_filters_are_joined(knowledge: Knowledge) -> None:
    """Kind, metric, status and subject must all fit."""
    assert ids(knowledge.query(kind="claim")) == ["double", "nothing"]
    assert ids(knowledge.query(metric="ttft")) == ["ttft-told"]
    assert ids(knowledge.query(metric="decode_rate", kind="series")) == ["rate"]
    assert ids(knowledge.query(status="superseded")) == ["early"]
    assert ids(knowledge.query(status="disputed", kind="measurement")) == ["ttft-told"]


def test_an_unknown_subject_field_matches_nothing(knowledge: Knowledge) -> None:
    """Only a field that is known is compared, numbers as numbers and words in either case."""
    assert ids(knowledge.query(subject={"steps": "0"})) == ["rate", "baseline"]
    assert ids(knowledge.query(subject={"host": "PCIE8", "temperature": "0"})) == ["baseline"]
    assert knowledge.query(subject={"steps": "two"}) == []


@pytest.mark.parametrize(
    ("question", "mend"),
    [
        ({"kind": "measurment"}, "did you mean measurement?"),
        ({"status": "curent"}, "did you mean current?"),
        ({"subject": {"hots": "x"}}, "did you mean host?"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(
    knowledge: Knowledge, question: dict, mend: str
) -> None:
    """A kind, status or subject field that does not exist is refused with the nearest name."""
    with pytest.raises(UsageFault) as caught:
        knowledge.query(**question)
    assert caught.value.mend == mend


def test_an_unknown_id_is_a_usage_error_with_close_ones(knowledge: Knowledge) -> None:
    """Asking for a finding that does not exist names those of similar ids."""
    with pytest.raises(UsageFault) as caught:
        knowledge.record("baselin")
    assert caught.value.mend == "did you mean baseline?"


def test_the_json_of_a_measurement_has_the_keys_of_the_contract(knowledge: Knowledge) -> None:
    """Every key is there, the value with its ends, unit, count and kind of interval."""
    assert knowledge.as_json("baseline") == {
        "id": "baseline",
        "kind": "measurement",
        "title": "Title of baseline",
        "status": ["current"],
        "grade": "reported",
        "current": True,
        "why_not": None,
        "metric": "decode_rate",
        "value": {
            "low": 82,
            "mid": 82.5,
            "high": 83,
            "unit": "tok/s",
            "n": None,
            "interval": "observed",
        },
        "subject": {"host": "pcie8", "steps": 0, "temperature": 0.0},
        "series": "rate",
        "source": {"kind": "investigation", "messages": ["1"]},
        "supersedes": ["early"],
        "superseded_by": [],
        "file": "findings/all.yaml",
        "line": knowledge.record("baseline").line,
    }


def test_series_and_claims_have_their_computed_value(knowledge: Knowledge) -> None:
    """A series has its current figure and grade, a claim what its formula gives."""
    rate, double = knowledge.as_json("rate"), knowledge.as_json("double")
    assert (rate["grade"], rate["value"]["mid"], rate["metric"]) == (
        "reported",
        82.5,
        "decode_rate",
    )
    assert (double["value"]["low"], double["value"]["high"], double["grade"]) == (164, 166, None)
    assert double["value"]["interval"] == "observed"


def test_what_does_not_apply_is_null(knowledge: Knowledge) -> None:
    """A model has no metric, value, subject or series, and an impossible claim no value."""
    model = knowledge.as_json("drafter-own")
    assert [key for key, value in model.items() if value is None] == [
        "grade",
        "why_not",
        "metric",
        "value",
        "subject",
        "series",
    ]
    assert knowledge.as_json("nothing")["value"] is None


def test_a_simulated_figure_is_not_current(knowledge: Knowledge) -> None:
    """The JSON of what the stand-in gave says its grade and why it does not count."""
    told = knowledge.as_json("sim")
    assert (told["grade"], told["current"]) == ("simulated", False)
    assert told["why_not"] == "simulated: measured on the stand-in engine"
    assert told["source"] == {"kind": "run", "run": "r1"}
