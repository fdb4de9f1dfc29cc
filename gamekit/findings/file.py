"""The shape of a findings file, and the table of kinds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from gamekit.findings.base import Finding, Line, Strict, Text
from gamekit.findings.claims import Claim
from gamekit.findings.facts import FailedExperiment, Host, Model, Setting
from gamekit.findings.measured import Measurement, Review, Series
from gamekit.findings.planned import Approach, Assumption, Decision, Evaluation, Question
from gamekit.findings.run import Run

AnyFinding = Annotated[
    Measurement
    | Setting
    | FailedExperiment
    | Model
    | Host
    | Claim
    | Assumption
    | Approach
    | Decision
    | Evaluation
    | Question
    | Series
    | Review,
    Field(discriminator="kind"),
]

KINDS: dict[str, type[Finding]] = {
    "measurement": Measurement,
    "setting": Setting,
    "failed_experiment": FailedExperiment,
    "model": Model,
    "host": Host,
    "claim": Claim,
    "assumption": Assumption,
    "approach": Approach,
    "decision": Decision,
    "evaluation": Evaluation,
    "question": Question,
    "series": Series,
    "review": Review,
}


class FindingsFile(Strict):
    """A file under ``findings/``: a curated topic, or one run with the findings it gave."""

    schema_version: Literal[1] = Field(alias="schema", description="Version of this format.")
    title: Line | None = Field(default=None, description="Title of the topic's page.")
    about: Text | None = Field(default=None, description="What the topic is about, on its page.")
    run: Run | None = Field(
        default=None, description="Only in run files, which a benchmark writes."
    )
    aside: dict[Line, JsonValue] = Field(
        default_factory=dict,
        description="Of an imported file: what it holds besides the figures that were taken.",
    )
    findings: list[AnyFinding]
