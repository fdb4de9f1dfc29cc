"""How figures and findings are put into words on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamekit.knowledge import Knowledge


def figure(knowledge: Knowledge, name: str) -> str:
    """The figure of a finding with its unit, its range and what that is; nothing for none.

    What was stated has the digits it was stated with: 2.0 says more than 2.
    """
    from gamekit.findings import Measurement
    from gamekit.knowledge.references import WITH_FIGURE
    from gamekit.numbers import middle, span, stated, with_unit

    if knowledge.record(name).finding.kind not in WITH_FIGURE:
        return ""
    found = knowledge.figure(name)
    if found.known is None:
        return ""
    text, ends = middle(found.known), span(found.known)
    measured = None if found.record is None else found.record.finding
    if isinstance(measured, Measurement) and measured.value.samples is None:
        value = measured.value
        if value.value is not None:
            text = stated(value)
        ends = text if value.low is None else stated(value.model_copy(update={"value": None}))
    details = []
    if text != ends:
        details.append(f"{ends}, {found.interval}" if found.interval else ends)
    if found.n is not None:
        details.append(f"all of n = {found.n} equal" if _all_equal(measured) else f"n = {found.n}")
    text = with_unit(text, found.unit)
    return f"{text} ({'; '.join(details)})" if details else text


def _all_equal(measured: object) -> bool:
    """Whether several samples of a measurement do not differ at all, so that no range is left."""
    from gamekit.findings import Measurement

    samples = measured.value.samples if isinstance(measured, Measurement) else None
    return samples is not None and len(samples) > 1 and min(samples) == max(samples)


def standing(told: Mapping[str, Any]) -> str:
    """Where a finding stands, of a row as ``query --json`` gives it.

    A series is current as long as nobody judged it, whether it has a figure or not: that would be
    read as a current figure, and is left out.
    """
    statuses = list(told["status"])
    if told["kind"] != "series":
        return ", ".join(statuses) or "not current"
    others = [one for one in statuses if one != "current"]
    return ", ".join(others if "current" in statuses else [*others, "not current"])


def engine(told: Mapping[str, Any]) -> str:
    """The engine of a run: what it is and where it was measured."""
    known = " ".join(filter(None, (told.get("name"), told.get("version")))) or "an unknown engine"
    stand_in = ", a stand-in" if told["stand_in"] else ""
    at = f" at {told['address']}" if told.get("address") else ""
    return f"{known}{at}{stand_in}"


def percentiles(facts: Mapping[str, Any]) -> list[str]:
    """A line a metric: the percentiles over requests that a case of a load has, and over gaps."""
    from gamekit.metrics import METRICS
    from gamekit.numbers import number, with_unit

    lines = []
    for metric, told in (facts.get("percentiles") or {}).items():
        seen = [
            f"{name} {number(value, 3)}"
            for name, value in told.items()
            if name.startswith("p") and name[1:].isdecimal()
        ]
        if seen:
            unit = METRICS[metric].unit if metric in METRICS else "1"
            lines.append(f"{metric} of {told['n']} requests: {with_unit(', '.join(seen), unit)}")
    if gaps := facts.get("chunk_gaps"):
        seen = [f"{name} {number(value, 3)}" for name, value in gaps.items() if name != "n"]
        lines.append(f"{counted(gaps['n'], 'gap')} between chunks: {', '.join(seen)} ms")
    return lines


def source(told: Mapping[str, Any]) -> str:
    """A source in words."""
    match told["kind"]:
        case "investigation":
            return f"investigation, messages {', '.join(told['messages'])}"
        case "run":
            return f"run {told['run']}"
        case "import":
            version = f" {told['version']}" if told.get("version") else ""
            return f"{told['file']} of {told['tool']}{version}, sha256 {told['sha256'][:12]}"
        case "publication":
            address = f", {told['address']}" if told.get("address") else ""
            return f"{told['title']}{address}, read {told['read']}"
        case _:
            return f"{told['name']}, {told['said']}"


def counted(count: int, thing: str) -> str:
    """A count of things, whose plural ends in s."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def fields(values: Mapping[str, Any]) -> str:
    """Fields as ``name=value``, nested ones as ``outer.name=value``; those without a value not."""
    parts: list[str] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            parts += [f"{name}.{inner}={inside}" for inner, inside in value.items()]
        elif isinstance(value, list):
            parts.append(f"{name}={','.join(map(str, value))}")
        elif value is not None:
            parts.append(f"{name}={value}")
    return " ".join(parts)
