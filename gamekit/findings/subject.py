"""The subject of a measurement (what was measured) and its environment (what explains a shift)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gamekit.findings.base import Strict

Name = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=200, pattern=r"^[^\r\n]+$")
]
Count = Annotated[int, Field(strict=True, ge=0)]


class Subject(Strict):
    """What a figure is a figure of. A field left out is unknown, and unknown matches nothing.

    Series are told apart by these fields; engine and driver versions belong to the environment, so
    that an upgrade stays in its series and shows as a shift.
    """

    target: Name | None = Field(default=None, description="The model that is served.")
    quantization: Name | None = Field(
        default=None, description="Of the target's weights; 'none' for full precision."
    )
    weights: Literal["real", "dummy"] | None = Field(
        default=None, description="'dummy': random weights, timing only."
    )
    speculation: Name | None = Field(default=None, description="Algorithm (EAGLE3, ...) or 'none'.")
    drafter: Name | None = Field(default=None, description="The draft model, or 'none'.")
    steps: Count | None = Field(default=None, description="Draft steps of one cycle.")
    topk: Count | None = None
    draft_tokens: Count | None = Field(
        default=None, description="Tokens that one verify forward takes."
    )
    acceptance: Literal["natural", "imposed"] | None = Field(
        default=None,
        description="'imposed': the engine drew accept lengths instead of comparing tokens.",
    )
    imposed_accept_length: Annotated[float, Field(ge=1)] | None = None
    cuda_graphs: Literal["captured", "eager"] | None = Field(
        default=None, description="Of the verify (or decode) forward."
    )
    attention_mode: Name | None = None
    workload: Name | None = Field(default=None, description="Prompt set or benchmark.")
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    concurrency: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Requests in flight."
    )
    api: Name | None = Field(
        default=None, description="The route measured through: sglang or openai."
    )
    host: Name | None = Field(default=None, description="Short name of the machine.")

    def known(self) -> dict[str, str | int | float]:
        """The fields that are known, in the order of the model."""
        return self.model_dump(exclude_none=True)


class Environment(Strict):
    """What surrounded a measurement without being its subject. A field left out is unknown."""

    engine: Name | None = None
    engine_version: Name | None = None
    boot: Name | None = Field(default=None, description="Which boot of the host or container.")
    start: Name | None = Field(
        default=None,
        description="Which start of the engine; figures of one start share it.",
    )
    kernel: Name | None = None
    cpu: Name | None = None
    cpu_count: Count | None = None
    gpus: list[Name] | None = None
    driver: Name | None = None
    python: Name | None = None
    packages: dict[Name, Name] = Field(default_factory=dict)
    variables: dict[Name, str] = Field(
        default_factory=dict, description="Environment variables, by allow-list."
    )
    container: bool | None = None
