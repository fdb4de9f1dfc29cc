"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from gamekit.typed_numbers import any_number, whole_number


class Whole(click.IntRange):
    """A whole number of an option: in ASCII digits, and within bounds where there are some."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """The number; fails as click's own does."""
        if isinstance(value, str):
            try:
                whole_number(value)
            except ValueError:
                self.fail(f"{value!r} is not a valid integer.", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number of an option, likewise."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number; fails as click's own does."""
        if isinstance(value, str):
            try:
                any_number(value)
            except ValueError:
                self.fail(f"{value!r} is not a valid float.", param, ctx)
        return super().convert(value, param, ctx)


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
