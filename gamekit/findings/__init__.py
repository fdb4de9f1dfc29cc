"""The kinds of finding, as strict models."""

from gamekit.findings.base import (
    REFERENCE_IN_TEXT,
    SCHEMA_VERSION,
    Finding,
    ImportSource,
    Investigation,
    Person,
    Publication,
    RunSource,
    Unknown,
    texts_of,
)
from gamekit.findings.claims import Claim, OtherModel
from gamekit.findings.facts import FailedExperiment, Host, Model, Setting
from gamekit.findings.file import KINDS, AnyFinding, FindingsFile
from gamekit.findings.measured import Measurement, Review, Series
from gamekit.findings.planned import (
    Approach,
    Assumption,
    Decision,
    Evaluation,
    Gate,
    Outcome,
    Question,
)
from gamekit.findings.run import Case, Engine, Launch, Run
from gamekit.findings.subject import Environment, Subject

__all__ = [
    "KINDS",
    "REFERENCE_IN_TEXT",
    "SCHEMA_VERSION",
    "AnyFinding",
    "Approach",
    "Assumption",
    "Case",
    "Claim",
    "Decision",
    "Engine",
    "Environment",
    "Evaluation",
    "FailedExperiment",
    "Finding",
    "FindingsFile",
    "Gate",
    "Host",
    "ImportSource",
    "Investigation",
    "Launch",
    "Measurement",
    "Model",
    "OtherModel",
    "Outcome",
    "Person",
    "Publication",
    "Question",
    "Review",
    "Run",
    "RunSource",
    "Series",
    "Setting",
    "Subject",
    "Unknown",
    "texts_of",
]
