"""What gamekit.yaml names: findings that exist and fit their place, and sections of the plan."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gamekit.bundled import layers
from gamekit.errors import ReferenceFault
from gamekit.findings import Model
from gamekit.knowledge.grades import Grades
from gamekit.knowledge.references import WITH_FIGURE, Path, unit_of
from gamekit.knowledge.standing_in import COUNTING
from gamekit.store.load import Base, Record
from gamekit.store.root import CONFIG_FILE, Config
from gamekit.strict_yaml import field_name, read_yaml

# By the name of a field, what it may name; every other place is for a figure.
_KINDS = {
    "goal": frozenset({"decision"}),
    "root_cause": frozenset({"assumption"}),
    "shown_elsewhere": frozenset({"claim"}),
    "target_model": frozenset({"model"}),
}
# By the role in the model, the unit that its formulas take it in.
_UNITS = {
    "baseline": "tok/s",
    "speculative_rate": "tok/s",
    "target_rate": "tok/s",
    "cycle_time": "ms",
    "verify_time": "ms",
    "shorter_verify": "ms",
    "accept_length": "tok/cycle",
    "break_even": "tok/cycle",
    "accuracy": "1",
}
_NO_IDS = {"schema_version", "title", "plan", "budgets"}
_SECTIONS = "plan"
_SUFFIX = ".md.j2"

CloseTo = Callable[[str, Iterable[str]], str]


def config_faults(base: Base, grades: Grades | None, close_to: CloseTo) -> list[ReferenceFault]:
    """The faults of gamekit.yaml, each with its line.

    ``grades`` is None where the findings themselves are at fault: then nothing is graded.
    """
    found = [*_of_ids(base, grades, close_to), *_of_sections(base)]
    if not found:
        return []
    document = read_yaml(base.root / CONFIG_FILE, CONFIG_FILE)
    return [
        ReferenceFault(
            f"{field_name(path)}: {what}",
            file=CONFIG_FILE,
            line=document.line_of(path),
            mend=mend,
        )
        for path, what, mend in found
    ]


def ids_in(config: Config) -> Iterator[tuple[Path, str, frozenset[str]]]:
    """Every id that the configuration names: where, and of which kinds it may be."""
    yield from _ids(config.model_dump(exclude_none=True, exclude=_NO_IDS), (), WITH_FIGURE)


def _ids(
    value: Any, path: Path, kinds: frozenset[str]
) -> Iterator[tuple[Path, str, frozenset[str]]]:
    if isinstance(value, str):
        yield path, value, kinds
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _ids(item, (*path, name), _KINDS.get(name, kinds))
    else:
        for place, item in enumerate(value):
            yield from _ids(item, (*path, place), kinds)


def _of_ids(
    base: Base, grades: Grades | None, close_to: CloseTo
) -> Iterator[tuple[Path, str, str]]:
    for path, name, kinds in ids_in(base.config):
        record = base.records.get(name)
        if record is None:
            yield path, f"there is no finding '{name}'", close_to(name, base.records)
        elif record.finding.kind not in kinds:
            fitting = f"name a finding of kind {' or '.join(sorted(kinds))}"
            yield path, f"{name} is a {record.finding.kind}", fitting
        elif path[0] == "model" and (wrong := _misfit(record, str(path[-1]))) is not None:
            yield path, *wrong
        elif grades is not None and (why := _no_number(record, grades)) is not None:
            yield path, f"{name} is {why}", "name its series, or a figure that counts"


def _misfit(record: Record, role: str) -> tuple[str, str] | None:
    """What keeps a finding from playing a role of the model, and what would fit."""
    finding = record.finding
    if isinstance(finding, Model):
        if finding.role == "target":
            return None
        return f"{record.id} is a {finding.role}", "name the model that is served, of role target"
    unit, wanted = unit_of(finding), _UNITS.get(role)
    if wanted is None or unit == wanted:
        return None
    return f"{record.id} is in {unit}", f"name a figure in {wanted}"


def _no_number(record: Record, grades: Grades) -> str | None:
    """Why a measurement is none of the numbers that a plan may lead with."""
    grade = grades.of(record)
    return None if grade is None or grade.name in (*COUNTING, "published") else str(grade)


def _of_sections(base: Base) -> Iterator[tuple[Path, str, str]]:
    named = base.config.budgets.sections
    if not named:
        return
    sections = sorted(
        {
            file.name.removesuffix(_SUFFIX)
            for folder in layers(base.root, "templates")
            for file in (folder / _SECTIONS).glob(f"*{_SUFFIX}")
        }
    )
    for name in named:
        if name not in sections:
            close = difflib.get_close_matches(name, sections, n=1)
            mend = f"did you mean {close[0]}?" if close else f"there are: {', '.join(sections)}"
            yield ("budgets", "sections", name), f"the plan has no section '{name}'", mend
