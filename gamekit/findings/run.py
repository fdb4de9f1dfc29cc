"""The record of one execution of a benchmark, as a run file holds it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from gamekit.findings.base import FindingId, Line, Strict, Text, UtcTime, utc_time
from gamekit.findings.subject import Environment, Subject
from gamekit.findings.table import Scalar, table_columns

_Columns = dict[Line, list[Scalar]]


def _columns(samples: Any) -> Any:
    return table_columns(samples) if isinstance(samples, str) else samples


class Engine(Strict):
    """The engine as it described itself; ``stand_in`` marks ``gamekit simulate``."""

    name: Line | None = None
    version: Line | None = None
    stand_in: bool
    address: Line | None = Field(
        default=None,
        description="Where it was measured: host:port, and the path before its routes.",
    )
    description: dict[str, JsonValue] = Field(
        default_factory=dict, description="Resolved arguments and facts that the engine told."
    )


class Launch(Strict):
    """How gamekit started the engine that it measured, and what is kept of the engine's log."""

    command: Text = Field(description="Without what must not be recorded.")
    parameters: dict[Line, Scalar] = Field(
        default_factory=dict, description="What the placeholders of the command stood for."
    )
    log: list[Line] = Field(
        default_factory=list,
        description="First and last lines, those of graph captures and of errors.",
    )


class Case(Strict):
    """One configuration that a run measured (a sweep has several), with its raw samples."""

    parameters: dict[Line, Scalar] = Field(default_factory=dict)
    subject: Subject = Field(default_factory=Subject)
    samples: Annotated[
        _Columns, BeforeValidator(_columns, json_schema_input_type=str | _Columns)
    ] = Field(
        default_factory=dict,
        description="One row a replicate: a table of comma-separated lines, the first with the"
        " names, or columns of equal length.",
    )
    facts: dict[Line, JsonValue] = Field(
        default_factory=dict, description="What was seen besides samples."
    )
    warnings: list[Line] = Field(default_factory=list)

    @model_validator(mode="after")
    def _columns_are_a_table(self) -> Case:
        lengths = {name: len(column) for name, column in self.samples.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"sample columns differ in length: {lengths}")
        return self


class Run(Strict):
    """Command, parameters, environment, raw samples and outcome of one execution."""

    id: FindingId
    benchmark: Line
    command: list[str]
    gamekit_version: Line
    started: UtcTime
    finished: UtcTime
    outcome: Literal["done", "failed", "interrupted"]
    reason: Text | None = Field(default=None, description="Why a run failed or was interrupted.")
    engine: Engine | None = Field(default=None, description="Absent for what needs no engine.")
    launch: Launch | None = Field(
        default=None, description="Absent for an engine that ran already."
    )
    facts: dict[Line, JsonValue] = Field(
        default_factory=dict,
        description="What was seen of the engine's start: start_up_s (s), memory_gib, graphs.",
    )
    environment: Environment
    state_before: dict[str, JsonValue] = Field(default_factory=dict)
    state_after: dict[str, JsonValue] = Field(default_factory=dict)
    cases: list[Case] = Field(default_factory=list)

    @model_validator(mode="after")
    def _reason_for_failure(self) -> Run:
        if (self.outcome == "done") != (self.reason is None):
            raise ValueError("a run that is not done gives its reason, and a done one has none")
        if utc_time(self.finished) < utc_time(self.started):
            raise ValueError("finished lies before started")
        return self
