"""``gamekit next``: what to do now, and which outcome leads where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import paragraph, print_json, say


@click.command("next", short_help="Say what to do now and why.")
@as_json_option
def command(as_json: bool) -> None:
    """Say what to do now and why, by which command, and which outcome leads where.

    First what makes figures doubtful: shifts of declared series without a review, key numbers that
    were not reproduced. Then evaluations that decide something open, and the first open approach,
    then questions that no open evaluation answers. Last the shifts of series that runs began,
    counted by pair of runs.
    """
    from gamekit.analysis.next_steps import next_steps
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    knowledge = build(load(find_root(Path.cwd())))
    steps = [step.as_json(knowledge) for step in next_steps(knowledge)]
    if as_json:
        print_json(steps)
    elif not steps:
        say("nothing is waiting: no open evaluation, approach, question or review")
    for number, step in enumerate([] if as_json else steps, start=1):
        _show(number, step)
    if not as_json and any(step["kind"] == "question" for step in steps):
        paragraph(
            "a question is asked until a review supersedes it, with the finding that answers it as"
            " evidence"
        )


def _show(number: int, step: Mapping[str, Any]) -> None:
    say(f"{number}. {step['title']} ({step['id']})", "strong")
    for text in step["why"]:
        paragraph(text, "   ")
    if step["command"]:
        for line in step["command"].splitlines():
            say(f"     {line}", "dim")
    for outcome in step["outcomes"]:
        leads = f" Next: {', '.join(outcome['next'])}." if outcome["next"] else ""
        paragraph(f"- {outcome['outcome']} → {outcome['then']}{leads}", "   ")
    say()
