"""``gamekit init``: begins a knowledge base."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from gamekit.commands.terminal import say


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Begin a knowledge base in DIR.

    DIR is made when it does not exist; its plan and pages are rendered at once. Files that are
    in DIR already are left as they are; a DIR that holds a knowledge base is refused (exit 2).
    """
    from gamekit.render.documents import render
    from gamekit.store.begin import begin

    begun = begin(folder)
    for path in begun.written:
        say(f"wrote {path}")
    for path in begun.kept:
        say(f"kept  {path}, which was there")
    report = render(folder.resolve())
    for path in report.written:
        say(f"wrote {path}, which is derived")
    there = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))}, then: "
    say(f"\nnext: {there}gamekit bench --append; gamekit render")
