"""How figures and findings are put into words on a terminal; input are the dictionaries of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def figure(value: Mapping[str, Any] | None) -> str:
    """A figure with its unit, its range and what that range is; nothing for none."""
    from gamekit.numbers import middle, span, with_unit
    from gamekit.ranges import Range

    if value is None:
        return ""
    told = Range(value["low"], value["mid"], value["high"])
    details = []
    if not told.is_exact:
        kind = f", {value['interval']}" if value["interval"] else ""
        details.append(f"{span(told)}{kind}")
    if value["n"] is not None:
        details.append(f"n = {value['n']}")
    text = with_unit(middle(told), value["unit"])
    return f"{text} ({'; '.join(details)})" if details else text


def source(told: Mapping[str, Any]) -> str:
    """A source in words."""
    match told["kind"]:
        case "investigation":
            return f"investigation, messages {', '.join(told['messages'])}"
        case "run":
            return f"run {told['run']}"
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
