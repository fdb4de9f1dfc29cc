"""``gamekit query``: asks the knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from gamekit.commands.options import as_json_option, key_value
from gamekit.commands.terminal import print_json, say, table
from gamekit.commands.wording import figure, standing


@click.command("query", short_help="List the findings that meet all conditions.")
@click.argument("text", nargs=-1)
@click.option("--kind", metavar="K", help="Only findings of this kind, such as measurement.")
@click.option("--status", metavar="S", help="Only those of this standing, such as superseded.")
@click.option("--grade", metavar="G", help="Only measurements of this grade, such as inadequate.")
@click.option("--metric", metavar="M", help="Only measurements and series of this metric.")
@click.option(
    "--subject",
    metavar="KEY=VALUE",
    multiple=True,
    callback=key_value,
    help="Only those of this subject, such as host=NAME; repeat for more fields.",
)
@as_json_option
def command(
    text: tuple[str, ...],
    kind: str | None,
    status: str | None,
    grade: str | None,
    metric: str | None,
    subject: dict[str, str],
    as_json: bool,
) -> None:
    """List the findings that meet all conditions; without any, all findings.

    Every word of TEXT must occur in a finding's id, title, texts or subject. Where a terminal is
    too narrow for all columns, some are left out; ids are always whole.
    """
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    knowledge = build(load(find_root(Path.cwd())))
    found = knowledge.query(
        " ".join(text), kind=kind, status=status, metric=metric, subject=subject, grade=grade
    )
    rows = [knowledge.as_json(record.id) for record in found]
    if as_json:
        print_json(rows)
    elif not rows:
        say("nothing found")
    else:
        table(
            ("id", "kind", "status", "grade", "value", "title"),
            [
                (
                    row["id"],
                    row["kind"],
                    standing(row),
                    row["grade"] or "",
                    figure(knowledge, row["id"]),
                    row["title"],
                )
                for row in rows
            ],
            dropped=("grade", "kind", "status", "title"),
        )
