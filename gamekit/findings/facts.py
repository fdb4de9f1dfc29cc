"""What is the case: settings, failed experiments, checkpoints and hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gamekit.findings.base import Finding, FindingId, Known, KnownLine, Line, Text, Unknown

Positive = Annotated[int, Field(strict=True, gt=0)]


class Setting(Finding):
    """A configuration that matters: its variables, where it is persisted, and how to check it."""

    kind: Literal["setting"]
    component: Line = Field(description="What reads it, such as NCCL.")
    # Unknown goes first: {unknown: reason} would also do as a variable of that name.
    variables: Unknown | dict[Line, Line | Unknown] = Field(
        description="Names and values as set.", union_mode="left_to_right"
    )
    candidates: dict[Line, Text] = Field(
        default_factory=dict, description="Variables worth trying, and their range."
    )
    persisted_in: KnownLine = Field(description="File or unit that sets it.")
    reaches: Known = Field(description="Which processes it reaches, and which not.")
    effect: Known = Field(description="What it does to a figure, measured.")
    verify: list[Line] = Field(
        min_length=1, description="Commands that show whether it is in force."
    )
    why: Text


class FailedExperiment(Finding):
    """What was tried and did not work, so that nobody tries it again without a new reason."""

    kind: Literal["failed_experiment"]
    hypothesis: Known
    tried: Known
    outcome: Known
    deciding: list[FindingId] = Field(default_factory=list, description="Findings that decided it.")
    reason: Known = Field(description="Why it failed, as far as it was understood.")
    scope: Known = Field(description="Where the outcome applies: host, versions, configuration.")
    retry_when: Text = Field(
        description="What would have to change for another try to be worth it."
    )


class Model(Finding):
    """Facts of a checkpoint. A field left out does not apply; one that nobody knows says so."""

    kind: Literal["model"]
    role: Literal["target", "drafter"]
    name: Line
    repository: KnownLine | None = None
    architecture: KnownLine | None = None
    parameters: KnownLine | None = None
    quantization: KnownLine | None = None
    layers: Positive | Unknown | None = None
    hidden_size: Positive | Unknown | None = None
    intermediate_size: Positive | Unknown | None = None
    attention_heads: Positive | Unknown | None = None
    fc_shape: KnownLine | None = Field(
        default=None, description="Shape of the projection of captured hidden states."
    )
    draft_vocab_size: Positive | Unknown | None = None
    drafts_for: FindingId | None = Field(
        default=None, description="Target model that it was trained for."
    )
    samples_trained: Positive | Unknown | None = None
    trained_on: KnownLine | None = None


class Host(Finding):
    """A machine by the short name that subjects use."""

    kind: Literal["host"]
    name: Line
    gpus: KnownLine
    gpu_count: Positive | Unknown
    interconnect: KnownLine
    engine: KnownLine | None = None
    engine_version: KnownLine | None = None
    driver: KnownLine | None = None
    cpu: KnownLine | None = None
