"""The subject of a measurement (what was measured) and its environment (what explains a shift)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from gamekit.findings.base import LINE_PATTERN, Strict

Name = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=200, pattern=LINE_PATTERN)
]
Count = Annotated[int, Field(strict=True, ge=0)]
Watts = Annotated[float, Field(ge=0, allow_inf_nan=False)]
# Longer chains nobody runs, and no formula of the model is computed for.
MOST_STEPS = 100
Setting = str | bool | int | Annotated[float, Field(allow_inf_nan=False)]


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
    steps: Annotated[int, Field(strict=True, ge=0, le=MOST_STEPS)] | None = Field(
        default=None, description="Draft steps of one cycle."
    )
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
    parameters: dict[Name, Setting] = Field(
        default_factory=dict,
        description="What else of the benchmark's parameters the figure belongs to; one that is"
        " left out has its default.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Subject:
        # A chain of steps drafts has one token more to verify: that before the first draft.
        if (
            self.topk == 1
            and self.steps is not None
            and self.draft_tokens is not None
            and self.draft_tokens != self.steps + 1
        ):
            raise ValueError(
                f"draft_tokens is {self.draft_tokens}, and with topk 1 {self.steps} steps give"
                f" {self.steps + 1}"
            )
        longest = None if self.steps is None else self.steps + 1
        imposed = self.imposed_accept_length
        if longest is not None and imposed is not None and imposed > longest:
            raise ValueError(
                f"imposed_accept_length is {imposed:g}, and {self.steps} steps give at most"
                f" {longest}"
            )
        return self

    def __hash__(self) -> int:
        return hash(frozenset(self.known().items()))

    def named(self) -> dict[str, str | int | float]:
        """The fields that are known, in the order of the model, without ``parameters``."""
        return self.model_dump(exclude_none=True, exclude={"parameters"})

    def known(self) -> dict[str, str | int | float]:
        """``named()``, then every parameter as ``parameters.NAME``."""
        parameters = {f"parameters.{name}": value for name, value in self.parameters.items()}
        return {**self.named(), **parameters}


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
    memory_gib: Count | None = None
    gpus: list[Name] | None = None
    gpu_memory_mib: list[Count | None] | None = Field(
        default=None, description="Of each GPU, as the lists below; null is unknown."
    )
    pcie: list[Name | None] | None = Field(
        default=None, description="The fastest link that GPU and slot allow, as in gen 5 x16."
    )
    power_limit_w: list[Watts | None] | None = None
    max_sm_clock_mhz: list[Count | None] | None = None
    max_memory_clock_mhz: list[Count | None] | None = None
    mig: list[Name | None] | None = Field(
        default=None, description="off, or on with the names of the devices."
    )
    numa: list[Count | None] | None = Field(default=None, description="NUMA node of each GPU.")
    topology: dict[Name, Name] = Field(
        default_factory=dict, description="How each pair, as in GPU0-GPU1, is connected."
    )
    p2p: dict[Name, Name] = Field(
        default_factory=dict,
        description="Whether each pair reads the other's memory: OK or why not.",
    )
    iommu: Name | None = None
    acs: Name | None = Field(default=None, description="Access control services of PCIe bridges.")
    driver: Name | None = None
    cuda: Name | None = Field(default=None, description="CUDA version that the driver supports.")
    cuda_torch: Name | None = Field(default=None, description="CUDA that torch was built for.")
    nccl: Name | None = Field(
        default=None,
        description="NCCL as the engine had it loaded; packages name what is installed.",
    )
    python: Name | None = None
    packages: dict[Name, Name] = Field(default_factory=dict)
    variables: dict[Name, str] = Field(
        default_factory=dict, description="Environment variables, by allow-list."
    )
    container: bool | None = None
