"""What every finding has: an id, a title, a source; and the parts that several kinds share."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

SCHEMA_VERSION = 1

ID_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,119}$"
FindingId = Annotated[str, StringConstraints(pattern=ID_PATTERN, strict=True)]
# Something to read, and not blanks alone.
TEXT_PATTERN = r"\S"
LINE_PATTERN = r"^[^\r\n]*[^\s][^\r\n]*$"
Text = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=20_000, pattern=TEXT_PATTERN)
]
Line = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=300, pattern=LINE_PATTERN)
]
DATE_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MESSAGES_PATTERN = r"^[0-9]{1,9}(-[0-9]{1,9})?$"


def _real_date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f'{text!r} is no date: {error}; write it as "2026-11-29"') from None
    return text


Date = Annotated[
    str, StringConstraints(strict=True, pattern=DATE_PATTERN), AfterValidator(_real_date)
]


def utc_time(text: str) -> datetime:
    """The moment that a ``UtcTime`` names; as texts, "00.5Z" would sort before "00Z"."""
    return datetime.fromisoformat(text.removesuffix("Z") + "+00:00")


def _real_time(text: str) -> str:
    try:
        utc_time(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no UTC time: {error}") from None
    return text


UtcTime = Annotated[
    str,
    StringConstraints(
        strict=True,
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$",
    ),
    AfterValidator(_real_time),
]


class Strict(BaseModel):
    """Base of all models here: no unknown field, no silent conversion, no change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Unknown(Strict):
    """What nobody knows, with the reason: ``{unknown: "the texts do not say"}``."""

    unknown: Text


Known = Text | Unknown
KnownLine = Line | Unknown


class Investigation(Strict):
    """A source: messages of the investigation's record, as numbers or first-last ranges."""

    kind: Literal["investigation"]
    messages: Annotated[
        list[Annotated[str, StringConstraints(strict=True, pattern=MESSAGES_PATTERN)]],
        Field(min_length=1, description='Message numbers, quoted: "4930" or "4912-4931".'),
    ]

    @model_validator(mode="after")
    def _ranges_ascend(self) -> Investigation:
        for span in self.messages:
            first, _, last = span.partition("-")
            if last and int(last) < int(first):
                raise ValueError(f"messages {span} run backwards")
        return self

    @property
    def newest(self) -> int:
        """The highest message number named."""
        return max(int(number) for span in self.messages for number in span.split("-"))


class RunSource(Strict):
    """A source: a benchmark run, by its id. Its file holds command, environment and samples."""

    kind: Literal["run"]
    run: FindingId


class Publication(Strict):
    """A source: something published, its address, and the day it was read."""

    kind: Literal["publication"]
    title: Line
    address: Line | None = None
    read: Date


class Person(Strict):
    """A source: somebody's word, on a day."""

    kind: Literal["person"]
    name: Line
    said: Date


class ImportSource(Strict):
    """A source: a file that another tool wrote about what it measured, read by gamekit import."""

    kind: Literal["import"]
    tool: Line = Field(description="What measured, such as sglang bench_serving.")
    version: Line | None = Field(default=None, description="Its version, where the file tells.")
    file: Line = Field(description="Name of the file that it wrote, without its folder.")
    sha256: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
    measured: UtcTime | None = Field(
        default=None, description="When it was measured, where the file tells."
    )
    written: UtcTime | None = Field(
        default=None, description="When the file was last written: it was measured by then."
    )
    imported: UtcTime
    stand_in: bool = Field(
        default=False, description="Whether gamekit's own stand-in engine was measured."
    )

    @property
    def moment(self) -> str:
        """When it was measured, or at the latest."""
        return self.measured or self.written or self.imported


Source = Annotated[
    Investigation | RunSource | Publication | Person | ImportSource, Field(discriminator="kind")
]


class Finding(Strict):
    """One record of the knowledge base, never rewritten: a ``review`` speaks about it instead.

    Texts are plain text and are shown literally, except ``[[id]]``, which becomes that finding's
    figure (or title) with a link to it.
    """

    id: FindingId = Field(description="Unique in the whole knowledge base; never reused.")
    kind: str
    title: Line = Field(description="One line that says what this record is.")
    notes: Text | None = Field(default=None, description="What a reader has to know besides.")
    source: Source
    supersedes: list[FindingId] = Field(
        default_factory=list, description="Records that this one replaces."
    )
    supersedes_because: Text | None = Field(default=None, description="Why they are replaced.")

    @model_validator(mode="after")
    def _reason_for_superseding(self) -> Finding:
        if bool(self.supersedes) != (self.supersedes_because is not None):
            raise ValueError("supersedes and supersedes_because go together")
        if self.id in self.supersedes:
            raise ValueError("a finding cannot supersede itself")
        return self


REFERENCE_IN_TEXT = re.compile(r"\[\[([a-z0-9][a-z0-9._-]*)\]\]")


def texts_of(value: Any) -> list[str]:
    """Every string inside a finding's dumped data, in order: where ``[[id]]`` may stand."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts_of(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts_of(item)]
    return []
