"""Counts of one answer that cannot be true at once, and those that can though they look odd."""

from __future__ import annotations

from typing import Any

import pytest
from streams import NAMES, chat, generated, recording, response, usage

from gamekit.stand_in.answers import Answer, AnswerRequest
from gamekit.stand_in.config import SimulatorConfig
from gamekit.streaming.contradictions import contradictions
from gamekit.streaming.reader import read_stream
from gamekit.streaming.record import StreamRecord


def answered(*totals: int, **meta: Any) -> StreamRecord:
    """sglang's answer that tells these totals one after another, and ``meta`` with the last."""
    events = [(10.0 * n, generated(total)) for n, total in enumerate(totals, 1)]
    last = (10.0 * len(totals), generated(totals[-1], "length", **meta))
    return read_stream(response(*events[:-1], last))


def verified(verifies: int, correct: int, **more: Any) -> dict[str, Any]:
    return {"spec_verify_ct": verifies, "spec_num_correct_drafts": correct, **more}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_real_engine_said_contradicts_nothing(name: str) -> None:
    """None of the recorded streams has a contradiction."""
    assert contradictions(read_stream(recording(name).reads)) == []


@pytest.mark.parametrize("max_tokens", range(1, 40))
@pytest.mark.parametrize(("accept_len", "steps"), [(1.0, 1), (2.5, 3), (3.9, 3), (8.0, 7)])
def test_an_answer_of_the_stand_in_contradicts_nothing(
    max_tokens: int, accept_len: float, steps: int
) -> None:
    """Wherever max_tokens cuts the last cycle, the counts of the stand-in go together."""
    asked = AnswerRequest("generate", max_tokens, 9, True, False, False)
    config = SimulatorConfig(prefill_ms=1, cycle_ms=1, accept_len=accept_len, steps=steps)
    answer = Answer(asked, config, "a")
    body = b""
    while not answer.finished:
        answer.advance()
        body += b"".join(answer.events(0, 1))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    record = read_stream([(1.0, head + body)])
    assert record.completion_tokens == max_tokens
    assert contradictions(record) == []


@pytest.mark.parametrize(
    "record",
    [
        answered(1, 4, 7, **verified(2, 4)),
        answered(1, 4, 5, **verified(2, 4, spec_num_proposed_drafts=6)),
        answered(1, 4, 8, **verified(2, 4), num_retractions=1),
        answered(3, 6, **verified(2, 4)),
        answered(7),
    ],
    ids=["whole", "cut", "retracted", "prefill's token not counted", "no speculation"],
)
def test_counts_that_only_look_odd_are_believed(record: StreamRecord) -> None:
    """A last cycle cut at max_tokens, a second prefill and another way to count are no lies."""
    assert contradictions(record) == []


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (answered(1, 9, 3), "the count of tokens fell from 9 to 3"),
        (answered(1, 4, 9, **verified(2, 4)), "make 7 tokens, and 9 came"),
        (answered(1, 2, 3, **verified(2, 40)), "make 43 tokens, and 3 came"),
        (
            answered(1, 2, 3, **verified(2, 6, spec_num_proposed_drafts=6)),
            "make 9 tokens, and 3 came",
        ),
        (answered(1, 2, 3, spec_verify_ct=10**9), "1000000000 verifies gave 3 tokens"),
        (answered(1, 2, 3, 4, **verified(1, 2)), "1 verifies gave 4 chunks"),
        (
            answered(1, 4, 7, **verified(2, 4, spec_num_proposed_drafts=3)),
            "4 of 3 proposed drafts were correct",
        ),
        (
            answered(1, 4, 7, **verified(2, 4, spec_correct_drafts_histogram=[0, 0, 3])),
            "the histogram has 3 of 2 verifies",
        ),
        (
            answered(1, 4, 7, **verified(2, 4, spec_correct_drafts_histogram=[1, 1])),
            "the histogram has 1 of 4 correct drafts",
        ),
        (answered(1, 3, cached_tokens=9, prompt_tokens=8), "9 of 8 prompt tokens"),
    ],
)
def test_counts_that_cannot_be_true_at_once_are_named(record: StreamRecord, said: str) -> None:
    """Each relation between two counts that does not hold is said with both numbers."""
    assert any(said in one for one in contradictions(record))


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize(("tokens", "silent"), [(9, 0), (9, 1)])
def test_the_ids_of_an_answer_are_as_many_as_its_tokens(
    incremental: bool, tokens: int, silent: int
) -> None:
    """Ids come cumulatively or each once, and the stop token's may be missing."""
    events = []
    for n in range(1, tokens + 1):
        sent = min(n, tokens - silent)
        ids = [7] * (int(sent == n) if incremental else sent)
        finish = "stop" if n == tokens else None
        events.append((10.0 * n, {**generated(n, finish), "output_ids": ids}))
    assert contradictions(read_stream(response(*events))) == []


def test_ids_that_are_not_as_many_as_the_tokens_are_named() -> None:
    """An engine that counts four tokens for each id it sends is not believed."""
    events = [(10.0 * n, {**generated(4 * n), "output_ids": [7] * n}) for n in range(1, 9)]
    last = (90.0, {**generated(36, "length"), "output_ids": [7] * 9})
    said = contradictions(read_stream(response(*events, last)))
    assert said == ["36 tokens were counted, and 9 ids came"]


def test_what_a_last_cycle_may_lose_is_bounded_by_the_steps() -> None:
    """Five tokens too many could be of one cycle of sixteen steps, and not of one of three."""
    record = answered(1, 3, 5, 7, **verified(4, 7))
    assert contradictions(record) == []
    assert contradictions(record, steps=3) == [
        "4 verifies with 7 correct drafts make 12 tokens, and 7 came"
    ]
    assert contradictions(record, steps=1)[0] == "4 verifies of 1 steps had 7 correct drafts"


def test_counters_of_speculation_that_fall_are_named() -> None:
    """Verifies and correct drafts are cumulative as tokens are."""
    verifies = (
        (10.0, generated(3, **verified(2, 1))),
        (20.0, generated(5, "length", **verified(1, 1))),
    )
    drafts = (
        (10.0, generated(3, **verified(1, 3))),
        (20.0, generated(5, "length", **verified(2, 2))),
    )
    assert "verifies fell from 2 to 1" in contradictions(read_stream(response(*verifies)))[0]
    assert "correct drafts fell from 3 to 2" in contradictions(read_stream(response(*drafts)))[0]


def test_a_final_usage_below_what_the_chunks_brought_is_named() -> None:
    """OpenAI's usage at the end is held against the chunks, with or without counts of their own."""
    silent = [(10.0 * n, chat({"content": "x"})) for n in range(1, 6)]
    counted = [(10.0 * n, chat({"content": "x"}, usage=usage(n))) for n in range(1, 6)]
    final = (60.0, {"choices": [], "usage": usage(3)})
    assert contradictions(read_stream(response(*silent, final))) == [
        "3 tokens were counted, and 5 chunks brought some"
    ]
    assert "fell from 5 to 3" in contradictions(read_stream(response(*counted, final)))[0]
