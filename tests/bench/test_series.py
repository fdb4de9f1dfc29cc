"""Series: which one a measurement joins, and when it begins its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from workbench import knowledge_base, series_file

from gamekit.bench.module import Measures
from gamekit.bench.series import Joined, join, told_series
from gamekit.errors import UsageFault
from gamekit.findings import Person, Series, Subject
from gamekit.store.load import Base, Record, Topic, load

RATE = Measures("decode_rate")
KIMI = {"target": "Kimi-K2.5", "host": "kimi-pcie8", "concurrency": 1}
BASELINE = {"id": "baseline", "match": {**KIMI, "speculation": "none"}}
GENERAL = {"id": "general", "match": {"target": "Kimi-K2.5"}}
ROUTE = {"id": "route", "match": {"target": "Kimi-K2.5", "api": "sglang"}}
OTHER = {"id": "other-metric", "metric": "end_to_end_rate", "match": {"target": "Kimi-K2.5"}}
EMPTY = {"id": "empty", "match": {"target": "GLM", "host": "x"}}


def base_of(folder: Path, *series: Any) -> Base:
    root = knowledge_base(folder)
    series_file(root, *series)
    return load(root)


def joined(base: Base | None, told: dict[str, Series] | None = None, **subject: Any) -> Joined:
    return join(RATE, Subject(**subject), base, told or {}, "20261130-120000-x-000000")


@pytest.mark.parametrize(
    ("subject", "series"),
    [
        ({**KIMI, "speculation": "none"}, "baseline"),
        ({**KIMI, "speculation": "none", "api": "openai"}, "baseline"),
        ({**KIMI, "speculation": "EAGLE3"}, "general"),
        (KIMI, "general"),
        ({"target": "kimi_k2.5"}, "general"),
        ({"target": "Kimi-K2.5", "api": "sglang"}, "route"),
    ],
)
def test_the_most_specific_series_whose_fields_are_met_is_joined(
    tmp_path: Path, subject: dict[str, Any], series: str
) -> None:
    """All fields of the series must be met; an unknown field of the subject meets none."""
    found = joined(base_of(tmp_path, BASELINE, GENERAL, ROUTE, OTHER, EMPTY), **subject)
    assert (found.series, found.begins) == (series, None)


def test_the_subject_takes_the_spelling_of_its_series(tmp_path: Path) -> None:
    """A member agrees with its series to the letter."""
    found = joined(base_of(tmp_path, GENERAL), target="kimi_k2.5", host="h")
    assert found.subject == Subject(target="Kimi-K2.5", host="h")


def test_two_series_of_which_neither_is_more_specific_are_refused(tmp_path: Path) -> None:
    """The error says how to choose."""
    base = base_of(tmp_path, BASELINE, ROUTE)
    with pytest.raises(UsageFault, match="--series baseline or --series route"):
        joined(base, **KIMI, speculation="none", api="sglang")


def test_the_series_told_is_joined(tmp_path: Path) -> None:
    """--series decides where several would do."""
    base = base_of(tmp_path, BASELINE, ROUTE)
    told = told_series(base, ["route"], ["decode_rate"])
    found = joined(base, told, **KIMI, speculation="none", api="sglang")
    assert found.series == "route"


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["nothing"], "no finding of that id"),
        (["other-metric"], "not measured here"),
        (["baseline", "route"], "both of decode_rate"),
    ],
)
def test_a_series_that_cannot_be_told_is_refused(tmp_path: Path, ids: list[str], says: str) -> None:
    """An unknown id, a series of another metric, and two of one metric are usage errors."""
    base = base_of(tmp_path, BASELINE, ROUTE, OTHER)
    with pytest.raises(UsageFault, match=says):
        told_series(base, ids, ["decode_rate", "ttft"])


def test_a_finding_that_is_no_series_is_refused(tmp_path: Path) -> None:
    """--series with the id of another kind is a usage error."""
    root = knowledge_base(tmp_path)
    (root / "findings/h.yaml").write_text(
        "schema: 1\nfindings:\n  - {id: h, kind: host, title: h, name: h, gpus: g, gpu_count: 8,"
        " interconnect: pcie, source: {kind: person, name: p, said: '2026-11-01'}}\n"
    )
    with pytest.raises(UsageFault, match="is no series"):
        told_series(load(root), ["h"], ["decode_rate"])


def test_without_a_series_a_new_one_is_begun() -> None:
    """The new series matches exactly what is known of the subject; its id derives from that."""
    found = joined(None, **KIMI)
    assert found.begins is not None
    assert found.series == found.begins.id
    assert found.begins.match == Subject(**KIMI)
    assert joined(None, **KIMI).series == found.series
    two = joined(None, **{**KIMI, "concurrency": 2}).series
    assert two is not None
    assert two.startswith("decode-rate-kimi-k2.5-kimi-pcie8-2-in-flight-")


@pytest.mark.parametrize(
    "field",
    [
        {"output_tokens": 2},
        {"input_tokens": 1024},
        {"concurrency": 2},
        {"steps": 2},
        {"drafter": "another"},
        {"topk": 4, "draft_tokens": 16},
        {"api": "openai"},
        {"temperature": 0.7},
        {"quantization": "fp8"},
        {"cuda_graphs": "eager"},
        {"imposed_accept_length": 2.5, "acceptance": "imposed"},
        {"parameters": {"output_tokens": 2}},
    ],
)
def test_titles_tell_the_series_of_one_base_apart(field: dict[str, Any]) -> None:
    """Whatever field differs is in the title, with what its number is a number of."""
    usual = {"target": "m", "host": "h", "speculation": "EAGLE3", "topk": 1}
    usual |= {"steps": 3, "draft_tokens": 4, "drafter": "one", "output_tokens": 128}
    one, other = joined(None, **usual), joined(None, **(usual | field | _fitting(field)))
    assert one.begins is not None
    assert other.begins is not None
    assert one.begins.title == "decode rate, m, EAGLE3, drafter one, 3 steps, 128 tokens out, h"
    assert other.begins.title != one.begins.title
    assert not re.search(r", [0-9.]+(,|$)", other.begins.title)


def _fitting(field: dict[str, Any]) -> dict[str, Any]:
    return {"draft_tokens": field["steps"] + 1} if "steps" in field else {}


def test_a_subject_without_anything_unusual_has_a_title_that_says_it() -> None:
    """A title is never a metric with nothing behind it."""
    begun = joined(None, concurrency=1).begins
    assert begun is not None
    assert begun.title == "decode rate, concurrency 1"


def test_a_begun_series_is_joined_by_the_same_subject_only(tmp_path: Path) -> None:
    """A later run of the same subject joins; one of which more is known begins its own."""
    begun = joined(None, **KIMI).begins
    assert begun is not None
    root = knowledge_base(tmp_path)
    base = load(root)
    known = Base(root, base.config, (), {begun.id: _record(begun)}, {})
    assert (joined(known, **KIMI).series, joined(known, **KIMI).begins) == (begun.id, None)
    assert joined(known, **KIMI, speculation="EAGLE3").begins is not None


def test_random_weights_join_no_series_that_does_not_ask_for_them(tmp_path: Path) -> None:
    """A series that says nothing of weights is none of timings on random ones."""
    root = knowledge_base(tmp_path)
    base = load(root)
    declared = joined(None, **KIMI).begins
    assert declared is not None
    series = declared.model_copy(
        update={"source": Person(kind="person", name="Ann", said="2026-12-01")}
    )
    known = Base(root, base.config, (), {series.id: _record(series)}, {})
    assert joined(known, **KIMI, weights="real").series == series.id
    assert joined(known, **KIMI, weights="dummy").begins is not None


def test_nothing_known_joins_nothing() -> None:
    """A subject of which nothing is known has no series, and the reason says what to do."""
    found = joined(None)
    assert (found.series, found.begins) == (None, None)
    assert "--subject" in found.how


def _record(series: Series) -> Any:

    return Record(series, Topic("findings/measured/x.yaml", "x", None), 1, {})
