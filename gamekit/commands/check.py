"""``gamekit check``: validates the whole knowledge base and says what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import paragraph, print_json, say
from gamekit.commands.wording import counted

if TYPE_CHECKING:
    from gamekit.analysis.summary import Summary


@click.command("check")
@as_json_option
def command(as_json: bool) -> None:
    """Validate every finding, reference, review, formula and gate.

    A contradicted claim is a result and no error, and so is one over an unknown. Each error is one
    line with file, line and how to mend it.
    """
    from gamekit.analysis.summary import summarize
    from gamekit.bench.discovery import discover, raise_problems
    from gamekit.errors import KnowledgeError, KnowledgeErrors
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    root = find_root(Path.cwd())
    benchmarks = discover(root)
    try:
        summary = summarize(build(load(root)))
    except KnowledgeError as error:
        if not benchmarks.problems:
            raise
        wrong = error.problems if isinstance(error, KnowledgeErrors) else [error]
        raise KnowledgeErrors([*wrong, *benchmarks.problems]) from error
    if as_json:
        print_json(summary.as_json())
    else:
        _tell(summary)
    raise_problems(benchmarks)
    if not as_json:
        say("no errors", "good")


def _tell(summary: Summary) -> None:
    findings = counted(sum(summary.kinds.values()), "finding")
    files, runs = counted(summary.files, "file"), counted(summary.runs, "run")
    say(f"{findings} in {files}, {runs}", "strong")
    _counts("kinds", summary.kinds)
    _counts("measurements", summary.grades)
    _counts("claims", {verdict: len(ids) for verdict, ids in summary.claims.items()})
    _counts("gates", {outcome: len(ids) for outcome, ids in summary.gates.items()})
    for warning in summary.warnings:
        paragraph(f"warning: {warning}")


def _counts(name: str, counts: Mapping[str, int]) -> None:
    if counts:
        paragraph(f"{name}: {', '.join(f'{count} {what}' for what, count in counts.items())}")
