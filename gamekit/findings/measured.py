"""Measurements, the series they form, and the reviews that judge records."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from gamekit.findings.base import Finding, FindingId, Line, Text
from gamekit.findings.subject import Environment, Subject
from gamekit.metrics import METRICS
from gamekit.quantity import Quantity


class Measurement(Finding):
    """A metric of a subject. Its grade is derived from its source, samples and ``flaws``."""

    kind: Literal["measurement"]
    metric: Line
    value: Quantity
    subject: Subject = Field(default_factory=Subject)
    environment: Environment = Field(
        default_factory=Environment, description="Of a run: its run file has it, not this record."
    )
    series: FindingId | None = Field(default=None, description="The series it belongs to.")
    flaws: list[Line] = Field(
        default_factory=list,
        description="Why the figure cannot count as adequate, as seen when it was taken.",
    )
    convention: Line | None = Field(
        default=None,
        description="How the source defines the metric where it differs or does not say.",
    )

    @model_validator(mode="after")
    def _unit_of_the_metric(self) -> Measurement:
        known = METRICS.get(self.metric)
        if known is not None and self.value.unit != known.unit:
            raise ValueError(f"{self.metric} is given in {known.unit}, not in {self.value.unit}")
        return self


class Series(Finding):
    """Measurements of one metric and subject; ``match`` names the fields that must agree."""

    kind: Literal["series"]
    metric: Line
    unit: Line
    better: Literal["higher", "lower"]
    match: Subject

    @model_validator(mode="after")
    def _agrees_with_the_metric(self) -> Series:
        known = METRICS.get(self.metric)
        if known is not None and (self.unit, self.better) != (known.unit, known.better):
            raise ValueError(f"{self.metric} is in {known.unit} and {known.better} is better")
        return self


Verdict = Literal["supersedes", "disputes", "retracts", "reproduces", "fails_to_reproduce"]


class Review(Finding):
    """Says something about existing records: the one way to change their standing."""

    kind: Literal["review"]
    verdict: Verdict
    of: list[FindingId] = Field(min_length=1, description="The records it speaks about.")
    evidence: list[FindingId] = Field(
        default_factory=list, description="Records that replace, contradict or reproduce them."
    )
    reason: Text
    author: Line

    @model_validator(mode="after")
    def _names_each_once(self) -> Review:
        twice = [name for place, name in enumerate(self.of) if name in self.of[:place]]
        if twice:
            raise ValueError(f"of names {twice[0]} twice")
        own = [name for name in self.evidence if name in self.of]
        if own:
            raise ValueError(f"{own[0]} is both what is judged and the evidence for it")
        return self
