"""The stand-in engine's answers in sglang's and OpenAI's shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gamekit import __version__
from gamekit.stand_in.config import (
    ENGINE_NAME,
    MODEL_NAME,
    SimulatorConfig,
    accepted_tokens,
)

# Tokens of one width, so that the text of n tokens is a slice: they say what they are.
_WORDS = (" these", " words", " stand", " where", " model", " would", " speak")
_SENTENCE = "".join(_WORDS)
_IDS = "".join(f"{10001 + word}," for word in range(len(_WORDS)))
_WIDTH = 6
LONGEST_ANSWER = 1_000_000


@dataclass(frozen=True)
class AnswerRequest:
    """What a request asks for; ``dialect`` is generate, chat or completion."""

    dialect: str
    max_tokens: int
    prompt_tokens: int
    stream: bool
    include_usage: bool
    usage_on_each: bool


class BadRequest(ValueError):
    """A request that the engine refuses, with the reason it answers."""


def read_request(route: str, payload: Any) -> AnswerRequest:
    """Read the JSON body of a request; raises ``BadRequest``."""
    if not isinstance(payload, dict):
        raise BadRequest("the body is not a JSON object")
    if route == "/generate":
        sampling = payload.get("sampling_params") or {}
        limit = sampling.get("max_new_tokens", 128) if isinstance(sampling, dict) else None
        prompt = payload.get("input_ids", payload.get("text"))
        dialect = "generate"
    else:
        limit = payload.get("max_tokens", payload.get("max_completion_tokens", 128))
        dialect = "chat" if route.endswith("chat/completions") else "completion"
        prompt = payload.get("messages" if dialect == "chat" else "prompt")
    if not isinstance(limit, int) or not 1 <= limit <= LONGEST_ANSWER:
        raise BadRequest(f"the number of tokens must be 1 to {LONGEST_ANSWER}")
    if not prompt:
        raise BadRequest("there is no prompt")
    options = payload.get("stream_options")
    options = options if isinstance(options, dict) else {}
    return AnswerRequest(
        dialect=dialect,
        max_tokens=limit,
        prompt_tokens=_prompt_tokens(prompt),
        stream=bool(payload.get("stream")),
        include_usage=bool(options.get("include_usage")),
        usage_on_each=bool(options.get("continuous_usage_stats")),
    )


def _prompt_tokens(prompt: Any) -> int:
    """Token ids count themselves; text counts its words, for want of a tokenizer."""
    if isinstance(prompt, list) and all(isinstance(token, int) for token in prompt):
        return len(prompt)
    if isinstance(prompt, list):
        return sum(len(str(m.get("content")).split()) for m in prompt if isinstance(m, dict))
    return len(str(prompt).split())


class Answer:
    """One answer in the making: which tokens come when, and what its events say.

    ``advance()`` makes one step: the prefill's token first, then a cycle each.
    """

    def __init__(self, request: AnswerRequest, config: SimulatorConfig, identifier: str) -> None:
        self.request = request
        self.tokens = 0
        self.verifies = 0
        self.accepted = 0
        self._config = config
        self._id = identifier
        self._new = 0
        self._histogram: Counter[int] = Counter()
        self._cycles: Iterator[int] = accepted_tokens(config)

    @property
    def finished(self) -> bool:
        """Whether all tokens have come."""
        return self.tokens == self.request.max_tokens

    def advance(self) -> None:
        """One more step. The last cycle is cut at max_tokens; its verify counts in full."""
        if self.tokens == 0:
            self._new = 1
        else:
            accepted = next(self._cycles)
            self._new = min(accepted, self.request.max_tokens - self.tokens)
            if self._config.speculates:
                self.verifies += 1
                self.accepted += accepted
                self._histogram[accepted - 1] += 1
        self.tokens += self._new

    def events(self, arrived_ns: int, sent_ns: int) -> list[bytes]:
        """The events of the step just made, the end of the stream included."""
        times = f'"stand_in_arrived_ns":{arrived_ns},"stand_in_sent_ns":{sent_ns}'
        if self.request.dialect == "generate":
            events = [f"{self._generate(times, sent_ns - arrived_ns)}"]
        else:
            events = list(self._openai(times))
        if self.finished:
            events.append("[DONE]")
        return [f"data: {event}\n\n".encode() for event in events]

    def _generate(self, times: str, since_arrival_ns: int) -> str:
        ids = _slice(_IDS, 0, self.tokens)[:-1]
        finish = "null"
        final = ""
        if self.finished:
            finish = f'{{"type":"length","length":{self.tokens}}}'
            counters = {"e2e_latency": since_arrival_ns / 1e9, **self._counters()}
            final = "," + json.dumps(counters, separators=(",", ":"))[1:-1]
        return (
            f'{{"text":"{_text(0, self.tokens)}","output_ids":[{ids}],"meta_info":{{'
            f'"id":"{self._id}","finish_reason":{finish},'
            f'"prompt_tokens":{self.request.prompt_tokens},"weight_version":"default",'
            f'"num_retractions":0,"reasoning_tokens":0,"completion_tokens":{self.tokens},'
            f'"cached_tokens":0,{times}{final}}}}}'
        )

    def _counters(self) -> dict[str, Any]:
        """The counters of one request, in the names of sglang 0.5.23."""
        if not self.verifies:
            return {}
        assert self._config.steps is not None  # noqa: S101 - only speculation verifies
        correct = self.accepted - self.verifies
        proposed = self.verifies * self._config.steps
        return {
            "spec_accept_rate": correct / proposed,
            "spec_accept_length": self.tokens / self.verifies,
            "spec_num_correct_drafts": correct,
            "spec_num_proposed_drafts": proposed,
            "spec_verify_ct": self.verifies,
            "spec_correct_drafts_histogram": [
                self._histogram[drafts] for drafts in range(max(self._histogram) + 1)
            ],
        }

    def _openai(self, times: str) -> Iterator[str]:
        chat = self.request.dialect == "chat"
        usage = self._usage() if self.request.usage_on_each else "null"
        text = _text(self.tokens - self._new, self.tokens)
        kind = "chat.completion.chunk" if chat else "text_completion"
        head = f'{{"id":"{self._id}","object":"{kind}","created":0,"model":"{MODEL_NAME}",{times}'

        def event(content: str, finish: str, usage: str) -> str:
            choice = f'{{"index":0,{content},"logprobs":null,"finish_reason":{finish}}}'
            return f'{head},"choices":[{choice}],"usage":{usage}}}'

        if chat:
            if self.tokens == self._new:
                yield event('"delta":{"role":"assistant","content":""}', "null", "null")
            yield event(f'"delta":{{"content":"{text}"}}', "null", usage)
            if self.finished:
                yield event('"delta":{}', '"length"', usage)
        else:
            yield event(f'"text":"{text}"', '"length"' if self.finished else "null", usage)
        if self.finished and self.request.include_usage:
            yield f'{head},"choices":[],"usage":{self._usage()}}}'

    def _usage(self) -> str:
        prompt = self.request.prompt_tokens
        return (
            f'{{"prompt_tokens":{prompt},"completion_tokens":{self.tokens},'
            f'"total_tokens":{prompt + self.tokens},"prompt_tokens_details":{{"cached_tokens":0}}}}'
        )

    def whole(self, arrived_ns: int, sent_ns: int) -> bytes:
        """The finished answer as one JSON object, for a request without streaming."""
        times = f'"stand_in_arrived_ns":{arrived_ns},"stand_in_sent_ns":{sent_ns}'
        if self.request.dialect == "generate":
            return self._generate(times, sent_ns - arrived_ns).encode()
        text = _text(0, self.tokens)
        chat = self.request.dialect == "chat"
        content = (
            f'"message":{{"role":"assistant","content":"{text}"}}' if chat else f'"text":"{text}"'
        )
        return (
            f'{{"id":"{self._id}","object":"{"chat.completion" if chat else "text_completion"}",'
            f'"created":0,"model":"{MODEL_NAME}",{times},"choices":[{{"index":0,{content},'
            f'"finish_reason":"length"}}],"usage":{self._usage()}}}'
        ).encode()


def _text(start: int, end: int) -> str:
    return _slice(_SENTENCE, start, end)


def _slice(cycle: str, start: int, end: int) -> str:
    """Tokens ``start`` to ``end`` of an endless repetition of ``cycle``, all words once."""
    skipped, start = divmod(start, len(_WORDS))
    end -= skipped * len(_WORDS)
    return (cycle * (end // len(_WORDS) + 1))[start * _WIDTH : end * _WIDTH]


def model_info() -> dict[str, Any]:
    """The answer to /model_info."""
    return {
        "model_path": MODEL_NAME,
        "tokenizer_path": MODEL_NAME,
        "is_generation": True,
        "model_type": ENGINE_NAME,
    }


def server_info(config: SimulatorConfig) -> dict[str, Any]:
    """The fixed part of the answer to /server_info: sglang's fields, and whose they are."""
    steps = config.steps
    return {
        "engine": ENGINE_NAME,
        "version": __version__,
        "model_path": MODEL_NAME,
        "served_model_name": MODEL_NAME,
        "tp_size": 1,
        "speculative_algorithm": "SIMULATED" if config.speculates else None,
        "speculative_num_steps": steps,
        "speculative_eagle_topk": 1 if config.speculates else None,
        "speculative_num_draft_tokens": None if steps is None else steps + 1,
        "simulated": {
            "prefill_ms": config.prefill_ms,
            "cycle_ms": config.cycle_ms,
            "accept_len": config.accept_len if config.speculates else None,
            "steps": steps,
        },
    }
