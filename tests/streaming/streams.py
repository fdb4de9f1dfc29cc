"""Streams for the tests: the recorded ones, and ones made of events at given times."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"
NAMES = sorted(
    str(path.relative_to(RECORDINGS).with_suffix("")) for path in RECORDINGS.glob("*/*.jsonl")
)
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Recording:
    request: dict[str, Any]
    reads: list[tuple[float, bytes]]


def recording(name: str) -> Recording:
    lines = (RECORDINGS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    reads = [(at, text.encode("latin-1")) for at, text in map(json.loads, lines[1:])]
    return Recording(json.loads(lines[0])["request"], reads)


def framed(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def event(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def response(*timed: tuple[float, Any], done: bool = True) -> list[tuple[float, bytes]]:
    """The reads of a response whose events (JSON values) come at given milliseconds."""
    reads = [(0.0, HEAD)]
    reads += [(at, framed(event(payload))) for at, payload in timed]
    end = timed[-1][0] if timed else 0.0
    return [*reads, (end, framed(DONE) + END)] if done else [*reads, (end, END)]


def chat(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def usage(completion_tokens: int, prompt_tokens: int = 7) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def generated(total: int, finish: str | None = None, **meta: Any) -> dict[str, Any]:
    reason = {"type": finish} if finish else None
    return {
        "text": "t" * total,
        "meta_info": {"completion_tokens": total, "finish_reason": reason, **meta},
    }
