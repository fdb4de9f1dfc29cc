"""What is kept of one streamed answer: a record without figures, made by ``stream_reader``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CountSource = Literal["meta_info", "usage", "unknown"]
# Where times come from: the kernel's stamps, the moments of reading, or some of each.
TimeSource = Literal["kernel", "reading", "mixed"]
FailureKind = Literal[
    "connection",  # refused, reset or closed before the response was complete
    "timeout",  # no byte, or no end, within the client's limits
    "http_status",  # the server answered with another status than 200
    "error_event",  # status 200, and an error inside the stream
    "aborted",  # the engine gave the request up (finish_reason abort or error)
    "incomplete",  # the stream ended without its terminator
    "malformed",  # not HTTP, not a stream, or an event that is not a JSON object
    "empty",  # a complete stream without a single token
]
# Enough of an error to recognise it; a server may answer with a whole page.
LONGEST_MESSAGE = 500


@dataclass(frozen=True)
class TokenChunk:
    """One event that brought tokens.

    ``at_ms`` is when what completed it arrived, in milliseconds since the request was sent; the
    record's ``time_source`` says who noticed. ``total`` is the cumulative number of completion
    tokens told with the chunk, ``tokens`` the number that came with it; both are None where nobody
    told.
    """

    at_ms: float
    tokens: int | None
    total: int | None


@dataclass(frozen=True)
class SpeculationCounters:
    """What the engine says of one request's speculation.

    ``correct_drafts`` counts accepted draft tokens only: neither the bonus token of each verify nor
    the token that prefill sampled. They are counted at the verify, before max_tokens cuts the
    answer. ``histogram[i]`` is the number of verifies with i correct drafts. None is not told.
    """

    verify_count: int
    correct_drafts: int | None
    proposed_drafts: int | None
    histogram: tuple[int, ...] | None


@dataclass(frozen=True)
class StreamFailure:
    """Why a stream does not count, with the beginning of what the server or the system said."""

    kind: FailureKind
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True)
class StreamRecord:
    """One request and its streamed answer; all times in milliseconds since the request was sent.

    ``first_token_ms`` is the time to the first token of any sort, reasoning included (TTFT).
    ``completion_tokens`` is what the engine counted, never what was asked for; ``requested_tokens``
    is what was asked for. None is not known. The tokens of a record with a ``failure`` do not
    count. ``fell`` says which cumulative count was told lower than before, where one was.

    ``resent``: the server closed the connection without an answer, and the request was sent once
    more; times are those since the first sending. ``unended``: the stream ended within a response
    that did not. ``token_ids``: how many ids the last event that had some brought, and how many
    all of them; the one or the other is what the answer has, as the engine was started.

    ``time_source`` *kernel*: all times are of the kernel's receipt of the last segment of each
    read, whatever the client was busy with. *reading*: of the read itself, after whatever the
    client was busy with.
    """

    status: int
    content_type: str | None
    server: str | None
    requested_tokens: int | None
    chunks: tuple[TokenChunk, ...]
    first_token_ms: float | None
    last_token_ms: float | None
    end_ms: float | None
    completion_tokens: int | None
    count_source: CountSource
    prompt_tokens: int | None
    cached_tokens: int | None
    finish_reason: str | None
    speculation: SpeculationCounters | None
    retractions: int | None
    failure: StreamFailure | None
    time_source: TimeSource = "reading"
    fell: str | None = None
    token_ids: tuple[int, int] | None = None
    resent: bool = False
    unended: bool = False
