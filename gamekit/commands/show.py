"""``gamekit show``: one finding with its history, or one run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamekit.commands import wording
from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import paragraph, print_json, say, table

if TYPE_CHECKING:
    from gamekit.knowledge import Knowledge

# Fields of a record that have lines of their own, or are told by the head.
_TOLD = {
    *("id", "kind", "title", "source", "metric", "value", "unit", "subject", "match"),
    *("environment", "series", "gates"),
}


@click.command("show", short_help="Show a finding with its history, or a run.")
@click.argument("name", metavar="ID")
@as_json_option
def command(name: str, as_json: bool) -> None:
    """Show the finding ID with its history, reviews and what depends on it; or the run ID."""
    from gamekit.analysis.detail import detail
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    knowledge = build(load(find_root(Path.cwd())))
    told = detail(knowledge, name)
    if as_json:
        print_json(told)
    elif told["kind"] == "run":
        _show_run(knowledge, told)
    else:
        _show_finding(knowledge, told)


def _show_finding(knowledge: Knowledge, told: Mapping[str, Any]) -> None:
    _head(knowledge, told)
    for name, content in _spelled(knowledge, told["finding"]).items():
        if name == "command" and isinstance(content, str):
            _verbatim(content)
        elif name not in _TOLD:
            _content(name, content)
    if told["gates"]:
        say("gates:")
    for number, gate in enumerate(told["gates"] or (), start=1):
        _gate(number, _spelled(knowledge, gate))
    if told["shifted"]:
        _shifted(told["shifted"])
    if told["history"]:
        say("\nhistory, oldest first", "strong")
        _rows(knowledge, told["history"])
    for review in told["reviews"]:
        say(f"\n{review['verdict'].replace('_', ' ')}: {review['id']}, by {review['author']}")
        paragraph(_spelled(knowledge, review["reason"]), "  ")
    _dependents(told["dependents"])


def _spelled(knowledge: Knowledge, content: Any) -> Any:
    """``content`` with every ``[[id]]`` of its texts as a figure or title, then the id."""
    from gamekit.analysis.texts import plain

    if isinstance(content, str):
        return plain(knowledge, content)
    if isinstance(content, Mapping):
        return {name: _spelled(knowledge, value) for name, value in content.items()}
    if isinstance(content, list):
        return [_spelled(knowledge, value) for value in content]
    return content


def _verbatim(command: str) -> None:
    """A command, line by line as it is: wrapped, it could not be run."""
    say("command:")
    for line in command.splitlines():
        say(f"  {line}")


def _gate(number: int, gate: Mapping[str, Any]) -> None:
    say(f"  {number}. {gate['title']} {gate['outcome']}")
    paragraph(f"{gate['predicate']}: {gate['explanation']}", "     ")
    figures = [f"{name} is {text or 'unknown'}" for name, text in gate["figures"].items()]
    paragraph("; ".join(figures), "     ")
    for name in ("if_holds", "if_fails"):
        outcome = gate[name]
        leads = f" Next: {', '.join(outcome['next'])}." if outcome["next"] else ""
        paragraph(f"{name.replace('_', ' it ')}: {outcome['text']}{leads}", "     ")


def _head(knowledge: Knowledge, told: Mapping[str, Any]) -> None:
    """What is the same for all kinds: where it stands, its figure, grade, source and subject."""
    say(f"{told['id']}: {told['title']}", "strong")
    standing = wording.standing(told)
    say(f"{told['kind']} in {told['file']}:{told['line']}{f'; {standing}' if standing else ''}")
    if told["why_not"]:
        paragraph(_spelled(knowledge, f"not current: {told['why_not']}"))
    say()
    value = wording.figure(knowledge, told["id"])
    if value or told["metric"]:
        say(
            f"{told['metric'] or 'figure'}: {value or _why_no_value(knowledge, told)}",
            "strong",
        )
    if told["grade"]:
        why = f" ({'; '.join(told['grade_why'])})" if told["grade_why"] else ""
        _field("grade", f"{told['grade']}{why}")
    # Of an inadequate one the grade says so already.
    if told["unstable"] and told["grade"] != "inadequate":
        _field("unstable", f"it {'; it '.join(told['unstable'])}")
    if told["claim"]:
        _field("verdict", f"{told['claim']['verdict']}. {told['claim']['explanation']}")
    _field("source", wording.source(told["source"]))
    for name in ("subject", "environment"):
        if told[name]:
            _field(name, wording.fields(told[name]))
    if told["boots"]:
        _field("boot", told["boots"]["words"])
    if told["series"]:
        _field("series", told["series"])


def _why_no_value(knowledge: Knowledge, told: Mapping[str, Any]) -> str:
    if told["kind"] == "series":
        why = _spelled(knowledge, knowledge.figure(told["id"]).why_not)
        return f"no current figure: {why}"
    unknown = told["finding"].get("value", {}).get("unknown")
    return f"unknown: {_spelled(knowledge, unknown)}" if unknown else "no figure"


def _field(name: str, text: str) -> None:
    paragraph(f"{name}: {text}")


def _content(name: str, content: Any, indent: str = "") -> None:
    """One field of a record: texts as they are, lists and mappings below the field's name.

    What lies within a field is named as it is: NCCL_ALGO is a variable.
    """
    label = f"{indent}{name if indent else name.replace('_', ' ')}:"
    if isinstance(content, Mapping):
        say(label)
        for inner, value in content.items():
            _content(str(inner), value, f"{indent}  ")
    elif isinstance(content, list):
        say(label)
        for number, value in enumerate(content, start=1):
            if isinstance(value, Mapping):
                _content(str(number), value, f"{indent}  ")
            else:
                paragraph(f"- {value}", f"{indent}  ")
    else:
        paragraph(f"{label.strip()} {content}", indent)


def _shifted(shift: Mapping[str, Any]) -> None:
    change = shift["change"]
    share = f" by {change['mid']:+.1%}" if change else ""
    direction = "better" if shift["better"] else "worse"
    paragraph(
        f"{shift['series']} shifted{share} ({direction}): {shift['before']} → {shift['after']}"
    )
    paragraph(f"environments: {shift['environments']}", "  ")


def _rows(knowledge: Knowledge, rows: Sequence[Mapping[str, Any]]) -> None:
    table(
        ("id", "value", "grade", "status"),
        [
            (
                row["id"],
                wording.figure(knowledge, row["id"]),
                row["grade"] or "",
                wording.standing(row),
            )
            for row in rows
        ],
        dropped=("grade", "status"),
    )


def _dependents(dependents: Sequence[Mapping[str, Any]]) -> None:
    if not dependents:
        return
    say("\nwhat depends on it", "strong")
    table(
        ("id", "kind", "by", "through", "title"),
        [
            (
                item["id"],
                item["kind"],
                f"{item['by']}{', computed' if item['computed'] else ''}",
                item["through"] or "",
                item["title"],
            )
            for item in dependents
        ],
        dropped=("title", "kind", "through"),
    )


def _show_run(knowledge: Knowledge, told: Mapping[str, Any]) -> None:
    run = told["run"]
    say(f"{told['id']}: run of {run['benchmark']}, {run['outcome']}", "strong")
    say(f"{told['file']}; {run['started']} to {run['finished']}")
    if run.get("reason"):
        _field("reason", run["reason"])
    _verbatim(shlex.join(run["command"]))
    if run.get("engine"):
        _field("engine", wording.engine(run["engine"]))
    if run.get("launch"):
        _field("launched as", run["launch"]["command"])
    if run.get("facts"):
        _field("its start", wording.fields(run["facts"]))
    _field("environment", wording.fields(run["environment"]))
    for case in run.get("cases", []):
        _field("case", wording.fields(case.get("parameters", {})) or "no parameters")
        for line in wording.percentiles(case.get("facts", {})):
            _field("percentiles", line)
        for warning in case.get("warnings", []):
            paragraph(f"warning: {warning}", "  ")
    say("\nfindings", "strong")
    _rows(knowledge, told["findings"])
