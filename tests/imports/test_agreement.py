"""What a file says twice has to agree: counts with lists, rates with times, lengths with shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gamekit.errors import UsageFault
from imports.reading import DATA, from_text

SPECULATION = {
    "spec_decode_acceptance_length": 2.8,
    "spec_decode_num_drafts": 5,
    "spec_decode_draft_tokens": 18,
    "spec_decode_accepted_tokens": 9,
    "spec_decode_per_position_acceptance_rates": [1.0, 0.6, 0.2],
}


def vllm(**changed: Any) -> str:
    data = json.loads((DATA / "vllm-serve.json").read_text("utf-8"))
    return json.dumps({**data, **SPECULATION, **changed})


def test_acceptance_that_agrees_is_taken(tmp_path: Path) -> None:
    """Counters as vllm writes them give the length and a share for each position."""
    figures = {figure.key: figure.value for figure in from_text(tmp_path, vllm()).figures}
    assert figures["accept_length"] == 2.8
    assert figures["cumulative_acceptance.3"] == 0.2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec_decode_acceptance_length", 5.0),
        ("spec_decode_acceptance_length", 1.5),
        ("spec_decode_accepted_tokens", 19),
        ("spec_decode_per_position_acceptance_rates", [0.2, 0.6, 1.0]),
        ("spec_decode_per_position_acceptance_rates", [-0.5, 0.6]),
    ],
)
def test_acceptance_that_no_run_has_is_named(tmp_path: Path, field: str, value: object) -> None:
    """Rising shares, a length that is not their sum, and more accepted than drafted are refused."""
    with pytest.raises(UsageFault, match=r"given:1: "):
        from_text(tmp_path, vllm(**{field: value}))


def test_a_length_that_its_counters_do_not_give_is_named(tmp_path: Path) -> None:
    """Also without shares by position the length follows from the counters."""
    changed = {"spec_decode_acceptance_length": 3.5}
    text = vllm(**changed, spec_decode_per_position_acceptance_rates=None)
    with pytest.raises(UsageFault, match="spec_decode_acceptance_length is not 1"):
        from_text(tmp_path, text)


@pytest.mark.parametrize("name", ["vllm-serve.json", "sglang-serving.jsonl"])
@pytest.mark.parametrize("lists", ["input_lens", "ttfts", "output_lens"])
def test_fewer_requests_in_a_list_than_completed_are_named(
    tmp_path: Path, name: str, lists: str
) -> None:
    """A list of all requests that has fewer than succeeded, or more than were sent, is refused."""
    data = json.loads((DATA / name).read_text("utf-8"))
    assert from_text(tmp_path, json.dumps({**data, lists: [1] * 4})).figures
    with pytest.raises(UsageFault, match=f"completed is not of the 3 requests in {lists}: 4"):
        from_text(tmp_path, json.dumps({**data, lists: [1] * 3}))
    with pytest.raises(UsageFault, match=f"completed is not of the 6 requests in {lists}: 4"):
        from_text(tmp_path, json.dumps({**data, "failed": 1, "num_prompts": 5, lists: [1] * 6}))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"completed": 5}, "completed is more than num_prompts allows, 4: 5"),
        ({"failed": 1}, "completed is more than num_prompts allows, 4: 4"),
        ({"completed": -4}, "completed is negative: -4"),
        ({"failed": -1}, "failed is negative: -1"),
        ({"completed": 3.5}, "completed is no whole number"),
    ],
)
def test_more_requests_than_were_sent_are_named(
    tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    """No run completes more requests than it sent, nor fewer than none."""
    with pytest.raises(UsageFault, match=f"given:1: {says}"):
        from_text(tmp_path, vllm(**changed))


@pytest.mark.parametrize("line", [0, 1])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("output_throughput", 12837.0),
        ("output_throughput", 1.2837),
        ("output_throughput", 0),
        ("output_throughput", -128.37),
        ("latency", 422.1),
        ("latency", 0.05),
        ("last_ttft", 0.4221),
        ("last_ttft", 3.0),
    ],
)
def test_a_rate_that_its_times_do_not_give_is_named(
    tmp_path: Path, line: int, field: str, value: float
) -> None:
    """A batch's rate is its tokens over the time behind the prefill: the line is told otherwise."""
    lines = [json.loads(one) for one in (DATA / "sglang-batch.jsonl").read_text().splitlines()]
    lines[line][field] = value
    with pytest.raises(UsageFault, match=rf"given:{line + 1}: (output_throughput|last_ttft) is "):
        from_text(tmp_path, "\n".join(map(json.dumps, lines)))


def test_more_successes_than_requests_of_guidellm_are_named(tmp_path: Path) -> None:
    """Of four requests not five can have succeeded."""
    data = json.loads((DATA / "guidellm.json").read_text("utf-8"))
    data["benchmarks"][0]["metrics"]["request_totals"]["successful"] = 5
    with pytest.raises(UsageFault, match=r"request_totals\.successful is more than total, 4: 5"):
        from_text(tmp_path, json.dumps(data))


def test_a_giant_version_of_nccl_is_named(tmp_path: Path) -> None:
    """A number with more digits than a version has is refused with its field."""
    data = json.loads((DATA / "nccl-tests.json").read_text("utf-8"))
    with pytest.raises(UsageFault, match="given:1: nccl_version is no version"):
        from_text(tmp_path, json.dumps({**data, "nccl_version": 2**70}))
