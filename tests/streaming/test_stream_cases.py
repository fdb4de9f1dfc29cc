"""Faults that others met in reading streams, each ruled out."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from streams import DONE, END, HEAD, chat, event, framed, generated, response, usage

from gamekit.streaming.events import count
from gamekit.streaming.figures import (
    decode_rate,
    end_to_end_rate,
    stream_figures,
)
from gamekit.streaming.reader import read_stream
from gamekit.streaming.record import LONGEST_MESSAGE, StreamRecord, TokenChunk


def content(text: str, **more: Any) -> dict[str, Any]:
    return chat({"content": text}, **more)


def usage_chunk(n: int) -> dict[str, Any]:
    return {"choices": [], "usage": usage(n)}


SEVERAL_TOKENS_A_CHUNK = {
    "chat, usage at the end": response(
        (100.0, content("a")),
        (140.0, content("bcd")),
        (180.0, content("e")),
        (180.0, usage_chunk(5)),
    ),
    "chat, usage on each": response(
        (100.0, content("a", usage=usage(1))),
        (140.0, content("bcd", usage=usage(4))),
        (180.0, content("e", usage=usage(5))),
    ),
    "generate, cumulative": response(
        (100.0, generated(1)), (140.0, generated(4)), (180.0, generated(5, "length"))
    ),
    "generate, incremental": response(
        *(
            (at, {"text": text, "meta_info": {"completion_tokens": total}})
            for at, text, total in ((100.0, "a", 1), (140.0, "bcd", 4), (180.0, "e", 5))
        )
    ),
}


@pytest.mark.parametrize("name", SEVERAL_TOKENS_A_CHUNK)
def test_chunks_of_several_tokens_are_not_counted_as_tokens(name: str) -> None:
    """Case 1: 5 tokens in 3 chunks from 100 to 180 ms are 20 ms a token and 50 tok/s."""
    record = read_stream(SEVERAL_TOKENS_A_CHUNK[name])
    figures = stream_figures(record)
    assert figures.ttft_ms == 100
    assert figures.time_per_output_token_ms == pytest.approx(20)
    assert figures.decode_rate == pytest.approx(50)
    if "usage at the end" in name:
        assert figures.first_chunk_source == "assumed"
    else:
        assert [chunk.tokens for chunk in record.chunks] == [1, 3, 1]


def test_a_first_chunk_of_several_tokens_is_taken_off_in_full() -> None:
    """The tokens of the first chunk were not decoded between first and last chunk."""
    record = read_stream(response((50.0, generated(4)), (150.0, generated(14, "length"))))
    assert decode_rate(record) == pytest.approx(100)


@pytest.mark.parametrize("empty", ["", None, "absent"])
def test_a_delta_that_only_names_the_role_is_no_token(empty: str | None) -> None:
    """Case 2: role at 5 ms, content at 214 ms: the TTFT is 214 ms."""
    delta = {"role": "assistant"} if empty == "absent" else {"role": "assistant", "content": empty}
    record = read_stream(
        response((5.0, chat(delta)), (214.0, content("Hi")), (230.0, content("!")))
    )
    assert record.first_token_ms == 214
    assert len(record.chunks) == 2


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_counts_for_the_first_token(field: str) -> None:
    """Case 3: reasoning from 100 ms, answer from 300 ms: the first token came at 100 ms."""
    record = read_stream(
        response(
            (100.0, chat({field: "Let me think", "content": None})),
            (300.0, content("42")),
            (320.0, usage_chunk(9)),
        )
    )
    figures = stream_figures(record)
    assert figures.ttft_ms == 100
    assert len(record.chunks) == 2


def test_a_tool_call_counts_as_tokens() -> None:
    """Arguments of a tool call are generated like any text."""
    call = [{"index": 0, "function": {"arguments": '{"x"'}}]
    record = read_stream(response((80.0, chat({"content": None, "tool_calls": call}))))
    assert record.first_token_ms == 80


def test_a_usage_chunk_without_choices_gives_the_count() -> None:
    """Case 4: ``choices: []`` carries usage and no token."""
    record = read_stream(
        response((10.0, content("a")), (20.0, content("b", usage=None)), (25.0, usage_chunk(2)))
    )
    assert (record.completion_tokens, record.count_source) == (2, "usage")
    assert record.prompt_tokens == 7
    assert record.last_token_ms == 20


def test_usage_on_every_chunk_is_cumulative() -> None:
    """Case 4: the last count is the count; they are not added up."""
    record = read_stream(response(*((10.0 * n, content("x", usage=usage(n))) for n in range(1, 8))))
    assert record.completion_tokens == 7
    assert [chunk.tokens for chunk in record.chunks] == [1] * 7


def test_without_usage_the_count_is_unknown_and_never_what_was_asked_for() -> None:
    """Case 4: 128 tokens were asked for, nobody counted: no count, no rate, and it is said."""
    record = read_stream(
        response(*((10.0 * n, content("x")) for n in range(1, 6))), requested_tokens=128
    )
    figures = stream_figures(record)
    assert (record.completion_tokens, record.count_source) == (None, "unknown")
    assert (figures.decode_rate, figures.end_to_end_rate) == (None, None)
    assert figures.ttft_ms == 10
    assert any("no token count" in warning for warning in figures.warnings)


def test_cached_prompt_tokens_are_read_from_usage_and_said() -> None:
    """Case 9: a prompt that hit the prefix cache marks its result."""
    told = {**usage(2), "prompt_tokens_details": {"cached_tokens": 5}}
    record = read_stream(
        response((10.0, content("a")), (20.0, content("b")), (20.0, {"choices": [], "usage": told}))
    )
    assert record.cached_tokens == 5
    assert any("5 of 7 prompt tokens" in w for w in stream_figures(record).warnings)


FAILED = {
    "error_event": response(
        (10.0, content("a")), (20.0, {"error": {"message": "out of memory", "type": "Internal"}})
    ),
    "aborted": response(
        (10.0, generated(1)),
        (
            20.0,
            {
                "text": "t",
                "meta_info": {
                    "completion_tokens": 1,
                    "finish_reason": {"type": "abort", "message": "out of memory"},
                },
            },
        ),
    ),
    "incomplete": response((10.0, content("a")), (20.0, content("out of memory")), done=False),
    "connection": response((10.0, content("a")))[:2],
    "http_status": [
        (3.0, b"HTTP/1.1 503 Busy\r\ncontent-length: 13\r\n\r\nout of memory"),
    ],
    "malformed": [(0.0, HEAD), (5.0, framed(b"data: out of memory\n\n") + framed(DONE) + END)],
    "empty": [(0.0, HEAD), (5.0, framed(event(chat({"role": "assistant"}))) + framed(DONE) + END)],
}


def test_an_answer_that_ends_with_an_error_has_failed() -> None:
    """Some engines end it with ``finish_reason`` error in place of an event of its own."""
    meta = {"completion_tokens": 9, "finish_reason": {"type": "error", "message": "CUDA oom"}}
    last = {"text": "t", "meta_info": meta}
    record = read_stream(response((10.0, generated(1)), (20.0, last)))
    assert record.failure is not None
    assert (record.failure.kind, record.failure.message) == ("aborted", "CUDA oom")


@pytest.mark.parametrize("kind", FAILED)
def test_a_stream_that_went_wrong_is_a_failure_with_its_reason(kind: str) -> None:
    """Case 5: each way of going wrong has its name, keeps what was said, and gives no figure."""
    record = read_stream(FAILED[kind])
    assert record.failure is not None
    assert record.failure.kind == kind
    if kind not in ("incomplete", "connection", "empty"):
        assert "out of memory" in record.failure.message
    with pytest.raises(ValueError, match="no figures"):
        stream_figures(record)


def test_a_stream_cut_after_its_terminator_is_complete() -> None:
    """What counts is ``[DONE]``: the last chunk of HTTP's framing carries nothing."""
    reads = response((10.0, generated(1)), (20.0, generated(3, "length")))[:-1]
    assert read_stream([*reads, (21.0, framed(DONE))]).failure is None


def test_a_late_terminator_adds_nothing_to_the_time_per_token() -> None:
    """``[DONE]`` 200 ms after the last token is not decoding."""
    reads = response((10.0, generated(1)), (30.0, generated(3, "length")))[:-1]
    record = read_stream([*reads, (230.0, framed(DONE) + END)])
    assert stream_figures(record).time_per_output_token_ms == pytest.approx(10)
    assert record.end_ms == 230


def test_a_json_answer_in_place_of_a_stream_is_a_failure() -> None:
    """Status 200 and an object instead of events: not a stream, and its text is kept."""
    body = b'{"object":"list","hint":"wrong route"}'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    record = read_stream([(4.0, head % len(body) + body)])
    assert record.failure is not None
    assert record.failure.kind == "malformed"
    assert "wrong route" in record.failure.message


def test_an_answer_that_is_compressed_unasked_is_named() -> None:
    """What a proxy packed has no chunk of its own, whatever came out of it."""
    head = HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    packed = gzip.compress(event(generated(1, "length")) + DONE)
    record = read_stream([(1.0, head + framed(packed) + END)])
    assert record.failure is not None
    assert record.failure.message == "answered with content-encoding gzip, which was not asked for"


def test_a_long_error_page_is_kept_in_part() -> None:
    """A record stays small whatever a server sends."""
    page = b"<html>" + b"x" * 100_000
    head = b"HTTP/1.1 500 Oops\r\ncontent-length: %d\r\n\r\n" % len(page)
    record = read_stream([(4.0, head + page)])
    assert record.failure is not None
    assert len(record.failure.message) <= LONGEST_MESSAGE
    assert record.failure.message.startswith("500: <html>")


def test_end_to_end_and_decode_rate_are_two_figures() -> None:
    """Case 8: prefill 400 ms, 100 more tokens in 400 ms: 126.25 and 250 tok/s."""
    record = read_stream(
        response(
            *((400.0 + 4 * i, generated(i + 1, "length" if i == 100 else None)) for i in range(101))
        )
    )
    assert end_to_end_rate(record) == pytest.approx(126.25)
    assert decode_rate(record) == pytest.approx(250)


def test_a_server_that_stops_early_is_warned_of_and_its_own_count_used() -> None:
    """Case 9: 57 of 128 tokens: the rate is that of 57."""
    timed = [(100.0 + 10 * i, generated(i + 1, "stop" if i == 56 else None)) for i in range(57)]
    record = read_stream(response(*timed), requested_tokens=128)
    figures = stream_figures(record)
    assert figures.completion_tokens == 57
    assert figures.decode_rate == pytest.approx(100)
    assert any("57 of 128" in warning for warning in figures.warnings)


@pytest.mark.parametrize(
    "names",
    [
        ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_correct_drafts_histogram"),
        ("spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"),
    ],
    ids=["0.5.23", "0.5.15 aliases"],
)
def test_speculation_counters_are_read_under_the_names_of_both_releases(
    names: tuple[str, str, str],
) -> None:
    """Accept length is 1 + correct/verifies, the cycle (last - first)/verifies."""
    told = {"spec_verify_ct": 4, names[0]: 6, names[1]: 8, names[2]: [1, 0, 3]}
    record = read_stream(response((10.0, generated(1)), (90.0, generated(11, "length", **told))))
    figures = stream_figures(record)
    assert figures.accept_length == 2.5
    assert figures.cycle_ms == 20


def test_the_histogram_stands_in_for_correct_drafts_that_are_not_told() -> None:
    """Index times count adds up to the correct drafts."""
    told = {"spec_verify_ct": 4, "spec_correct_drafts_histogram": [1, 0, 3]}
    record = read_stream(response((10.0, generated(1)), (90.0, generated(11, "length", **told))))
    assert stream_figures(record).accept_length == 2.5


def test_an_accept_length_nobody_told_is_unknown() -> None:
    """Tokens over verifies has the prefill token in it and is not used instead."""
    told = {"spec_verify_ct": 4, "spec_accept_length": 2.75}
    record = read_stream(response((10.0, generated(1)), (90.0, generated(11, "length", **told))))
    figures = stream_figures(record)
    assert figures.accept_length is None
    assert figures.cycle_ms == 20


def test_figures_of_another_type_are_not_told() -> None:
    """A string, a boolean, a negative or an absurd number where a count belongs is no count."""
    assert count(10**30) is None
    odd = {"completion_tokens": "5", "prompt_tokens": True, "cached_tokens": -1}
    record = read_stream(
        response((10.0, {"text": "a", "meta_info": {**odd, "spec_verify_ct": 1.5}}))
    )
    assert (record.completion_tokens, record.prompt_tokens, record.cached_tokens) == (None,) * 3
    assert record.speculation is None
    assert record.failure is None


FIELDS = ["choices", "delta", "content", "usage", "meta_info", "finish_reason", "error", "text"]
FIELDS += ["completion_tokens", "spec_verify_ct", "prompt_tokens_details", "type"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
@example([{"error": ""}])
@example([{"error": {"message": " "}}])
def test_no_event_of_any_shape_breaks_the_reader(payloads: list[Any]) -> None:
    """A server may send any JSON: there is a record, and figures or a failure, never a crash."""
    record = read_stream(response(*((10.0 * i, value) for i, value in enumerate(payloads))))
    if record.failure is not None:
        assert record.failure.message
        return
    # A record that did not fail holds tokens, and no figure of it runs backwards in time.
    figures = stream_figures(record)
    assert figures.ttft_ms is not None
    assert figures.ttft_ms >= 0
    assert record.chunks


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """A server that speaks no HTTP at all is a failure."""
    assert read_stream([(1.0, data)]).failure is not None


def test_a_stop_token_without_a_chunk_is_warned_of() -> None:
    """Usage counts a stop token that no chunk brought: the rate may be one token high."""
    record = read_stream(
        response(
            (10.0, content("a")),
            (20.0, content("b")),
            (30.0, chat({}, "stop")),
            (31.0, usage_chunk(3)),
        )
    )
    assert any("stop token" in warning for warning in stream_figures(record).warnings)


def test_a_single_chunk_has_no_decode_rate() -> None:
    """One moment has no rate."""
    record: StreamRecord = read_stream(response((10.0, generated(1, "length"))))
    assert record.chunks == (TokenChunk(at_ms=10.0, tokens=1, total=1),)
    assert decode_rate(record) is None
    assert end_to_end_rate(record) == pytest.approx(100)
