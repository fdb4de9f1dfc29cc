"""``gamekit init``: begins a knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from gamekit.commands.terminal import say


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Begin a knowledge base in DIR.

    DIR is made when it does not exist; the new knowledge base passes check at once. Files that are
    in DIR already are left as they are; a DIR that holds a knowledge base is refused (exit 2).
    """
    from gamekit.store.begin import begin

    begun = begin(folder)
    for path in begun.written:
        say(f"wrote {path}")
    for path in begun.kept:
        say(f"kept  {path}, which was there")
    say(f"\nnext: cd {folder}, then gamekit check, gamekit render, gamekit bench --append")
