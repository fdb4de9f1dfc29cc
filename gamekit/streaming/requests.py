"""The requests a benchmark sends: routes and bodies of sglang's and OpenAI's streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gamekit.errors import UsageFault


@dataclass(frozen=True)
class StreamRequest:
    """A POST whose answer is a stream; ``requested_tokens`` is the number of tokens asked for."""

    route: str
    body: bytes
    requested_tokens: int


def generate_request(
    prompt: str | Sequence[int], max_tokens: int, *, temperature: float = 0.0
) -> StreamRequest:
    """A request to sglang's ``/generate``: a text, or token ids for an engine without tokenizer.

    The end-of-text token is ignored, so that every answer has ``max_tokens`` tokens.
    """
    body: dict[str, Any] = {
        "text" if isinstance(prompt, str) else "input_ids": (
            prompt if isinstance(prompt, str) else list(prompt)
        ),
        "sampling_params": {
            "temperature": temperature,
            "max_new_tokens": max_tokens,
            "ignore_eos": True,
        },
        "stream": True,
    }
    return _request("/generate", body, max_tokens)


def chat_request(
    model: str, prompt: str, max_tokens: int, *, temperature: float = 0.0
) -> StreamRequest:
    """OpenAI's ``/v1/chat/completions`` with one user message."""
    messages = [{"role": "user", "content": prompt}]
    body = {"model": model, "messages": messages, **_openai_options(max_tokens, temperature)}
    return _request("/v1/chat/completions", body, max_tokens)


def completion_request(
    model: str, prompt: str | Sequence[int], max_tokens: int, *, temperature: float = 0.0
) -> StreamRequest:
    """OpenAI's ``/v1/completions`` for a text or for token ids."""
    sent = prompt if isinstance(prompt, str) else list(prompt)
    body = {"model": model, "prompt": sent, **_openai_options(max_tokens, temperature)}
    return _request("/v1/completions", body, max_tokens)


def _openai_options(max_tokens: int, temperature: float) -> dict[str, Any]:
    return {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "ignore_eos": True,
        "stream": True,
        # sglang and vLLM then tell the count with each chunk: the only way to know how many tokens
        # the first one held. Others ignore the second option.
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def _request(route: str, body: dict[str, Any], max_tokens: int) -> StreamRequest:
    if max_tokens < 1:
        raise UsageFault(f"max_tokens={max_tokens} asks for no token", mend="ask for at least 2")
    return StreamRequest(route, json.dumps(body, ensure_ascii=False).encode(), max_tokens)
