"""``gamekit serve``: the site, rendered again whenever a finding or a template changes."""

from __future__ import annotations

from pathlib import Path

import click

from gamekit.commands.options import Whole
from gamekit.commands.terminal import say


@click.command("serve", short_help="Serve the site, rendered again when its sources change.")
@click.option(
    "--port",
    type=Whole(1, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on.",
)
def command(port: int) -> None:
    """Serve the site to this machine, rendering again whenever its sources change.

    Needs the extra gamekit[site]. Documents edited by hand are kept, as render keeps them. It runs
    until it is interrupted.
    """
    from gamekit.render.live_site import serve
    from gamekit.store.root import find_root

    root = find_root(Path.cwd())
    serve(root, port, say)
