"""The root of a knowledge base: where ``gamekit.yaml`` lies, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from gamekit.errors import UsageFault
from gamekit.findings.base import FindingId, Line, Strict
from gamekit.store.patterns import PLAN_PATTERN
from gamekit.store.validate import validated
from gamekit.strict_yaml import read_yaml

CONFIG_FILE = "gamekit.yaml"
FINDINGS_FOLDER = "findings"
MEASURED_FOLDER = "findings/measured"


class PlausibleBests(Strict):
    """The findings that say how far each lever may plausibly go; one left out is unknown."""

    shorter_verify: FindingId | None = Field(
        default=None, description="A verify time that could be reached."
    )
    accept_length: FindingId | None = Field(
        default=None,
        description="An accept length that could be reached; the best published without it.",
    )


class ModelRoles(Strict):
    """The findings that play a part in the speculation model; each may be a series or a record."""

    baseline: FindingId
    speculative_rate: FindingId
    cycle_time: FindingId
    accept_length: FindingId
    break_even: FindingId | None = None
    verify_time: FindingId | None = None
    accuracy: FindingId | None = Field(
        default=None, description="Conditional accuracy of the drafter in use."
    )
    target_rate: FindingId | None = Field(
        default=None, description="The rate that speculation should give."
    )
    target_model: FindingId | None = Field(
        default=None, description="The target, whose published drafters are options."
    )
    levers: PlausibleBests = Field(default_factory=PlausibleBests)


class Budgets(Strict):
    """Size budgets of the plan in bytes, its list of link targets not counted.

    One that is exceeded is reported, not enforced.
    """

    total: Annotated[int, Field(gt=0)] = 30_000
    sections: dict[Line, Annotated[int, Field(gt=0)]] = Field(default_factory=dict)


def _whole(version: object) -> object:
    # To Python, and so to a literal type, 1.0 and true are 1.
    if type(version) is not int:
        raise ValueError("it is not the whole number 1")
    return version


class Config(Strict):
    """``gamekit.yaml``: what the documents are called and which findings lead them."""

    schema_version: Annotated[Literal[1], BeforeValidator(_whole)] = Field(alias="schema")
    title: Line
    plan: Annotated[str, StringConstraints(pattern=PLAN_PATTERN)] = Field(
        description="File name of the plan, at the root."
    )
    goal: FindingId | None = Field(default=None, description="The decision that states the goal.")
    key_numbers: list[FindingId] = Field(default_factory=list)
    root_cause: list[FindingId] = Field(
        default_factory=list,
        description="Assumptions that say why the verify forward costs what it does.",
    )
    shown_elsewhere: list[FindingId] = Field(
        default_factory=list,
        description="Claims that the plan's list of reasons leaves out: another section has them.",
    )
    model: ModelRoles | None = None
    budgets: Budgets = Field(default_factory=Budgets)


def find_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` that holds ``gamekit.yaml``.

    Raises ``UsageFault`` when there is none.
    """
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / CONFIG_FILE).is_file():
            return folder
    raise UsageFault(
        f"no knowledge base here: neither this folder nor one above it has a {CONFIG_FILE}",
        mend="go to one, or begin one with: gamekit init DIR",
    )


def read_config(root: Path) -> Config:
    """Read and check ``gamekit.yaml``. Raises ``YamlError`` or ``FindingError`` with its line."""
    return validated(Config, read_yaml(root / CONFIG_FILE, CONFIG_FILE), CONFIG_FILE)
