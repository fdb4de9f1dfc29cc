"""``gamekit render``: writes the documents, or judges them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamekit.commands.terminal import Tone, paragraph, say
from gamekit.errors import DocumentsDiffer, UsageFault

if TYPE_CHECKING:
    from gamekit.render.documents import Difference, RenderReport

_STATES = {
    "stale": "stale: not what the findings say now",
    "missing": "missing",
    "edited": "edited by hand",
    "orphaned": "orphaned: nothing renders it any more",
}
_TONES: dict[str, Tone] = {"+": "good", "-": "bad", "@": "dim"}


@click.command("render")
@click.option("--check", is_flag=True, help="Write nothing; exit 3 when a document differs.")
@click.option(
    "--diff",
    is_flag=True,
    help="Write nothing; show what rendering would change (exit 0; with --check, 3).",
)
@click.option(
    "--force", is_flag=True, help="Replace documents edited by hand; the edit is put aside."
)
def command(check: bool, diff: bool, force: bool) -> None:
    """Write the plan and the site's pages from the findings.

    Only what changed is written, and conclusions that moved are named. A document that was edited
    by hand is kept and its edit shown (exit 3), unless --force is given. --check tells stale,
    missing, orphaned and edited documents apart; pages that git ignores are judged only where they
    exist.
    """
    from gamekit.render import documents
    from gamekit.store.root import find_root

    if force and (check or diff):
        raise UsageFault("--force writes, and --check and --diff do not", mend="give one of them")
    root = find_root(Path.cwd())
    if check or diff:
        _judge(documents.check(root), diff=diff, check=check)
    else:
        report = documents.render(root, force=force)
        _report(report)
        _say_what_is_not_shown(root)


def _judge(differences: list[Difference], *, diff: bool, check: bool) -> None:
    _list(differences, with_diff=diff)
    if not differences:
        say("every document is as the findings say")
    elif check:
        raise _differ(differences)


def _report(report: RenderReport) -> None:
    for path in report.written:
        say(f"wrote     {path}")
    for path in report.removed:
        say(f"removed   {path}, which nothing renders any more")
    say(f"unchanged {len(report.unchanged)} documents")
    for change in report.changes:
        say(f"conclusion: {change.in_words()}", "strong")
    for warning in report.warnings:
        say(f"warning: {warning}")
    _list(report.kept, with_diff=True)
    if report.kept:
        raise _differ(report.kept)


def _say_what_is_not_shown(root: Path) -> None:
    """How what was measured comes into the plan, as long as gamekit.yaml names nothing."""
    from gamekit.analysis.unnamed import unnamed
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import CONFIG_FILE

    found = unnamed(build(load(root)))
    if found is None:
        return
    shows = f"the plan shows what {CONFIG_FILE} names, and that names no finding yet"
    if not found.series:
        paragraph(
            f"{shows}: what the stand-in engine gave is in no plan; measure a real one with --url"
        )
        return
    paragraph(f"{shows}: to lead the plan with what was measured, put there, and render again")
    say("key_numbers:")
    for name in found.series:
        say(f"  - {name}")


def _list(differences: Iterable[Difference], *, with_diff: bool) -> None:
    """One line a document, followed by its diff where that is asked for or holds a hand edit."""
    for difference in differences:
        say(f"{difference.state:9} {difference.path}", "strong")
        if with_diff or difference.state == "edited":
            for line in difference.diff.splitlines():
                say(line, _TONES.get(line[:1]))


def _differ(differences: Sequence[Difference]) -> DocumentsDiffer:
    edited = [difference for difference in differences if difference.state == "edited"]
    mend = "put the edit into a finding or a template, then: gamekit render --force"
    if not edited:
        mend = "write them with: gamekit render"
    if len(differences) == 1:
        return DocumentsDiffer(_STATES[differences[0].state], file=differences[0].path, mend=mend)
    counts = Counter(_STATES[difference.state].partition(":")[0] for difference in differences)
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    return DocumentsDiffer(f"{len(differences)} documents differ: {told}", mend=mend)
