"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable

import click

as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON; errors are JSON on stderr then."
)


def key_value(
    context: click.Context,  # noqa: ARG001 - click's signature
    option: click.Parameter,
    pairs: Iterable[str],
) -> dict[str, str]:
    """Split ``key=value`` options; a click callback. A key that is told twice is refused."""
    told: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param=option)
        if told.setdefault(key, value) != value:
            raise click.BadParameter(f"{key} is told twice, {told[key]} and {value}", param=option)
    return told
