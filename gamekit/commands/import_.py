"""``gamekit import``: takes what other tools measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamekit.commands import wording
from gamekit.commands.options import as_json_option
from gamekit.commands.terminal import paragraph, print_json, say

if TYPE_CHECKING:
    from gamekit.bench.imported import Prepared


@click.command("import", short_help="Take what other tools measured.")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--append", is_flag=True, help="Record the figures in a new file of findings.")
@click.option(
    "--subject",
    multiple=True,
    metavar="KEY=VALUE",
    help="What was measured, where the file does not say; such as host=NAME. Repeat for more.",
)
@click.option(
    "--series",
    multiple=True,
    metavar="ID",
    help="The series to join; one for each metric, also where the tool defines it in its own way.",
)
@as_json_option
def command(
    file: Path, append: bool, subject: tuple[str, ...], series: tuple[str, ...], as_json: bool
) -> None:
    """Take the figures out of FILE, which another tool wrote, and print what would be recorded.

    Reads files of sglang's bench_serving and bench_one_batch_server, vllm bench serve, guidellm,
    aiperf, nccl-tests (JSON and text), logs of sglang's server and SpecForge's evaluations.
    Imported figures are reported, not adequate: gamekit did not see them measured. The same file is
    taken once.
    """
    from gamekit.bench.imported import prepare, recorded
    from gamekit.errors import UsageFault
    from gamekit.store.root import find_root

    try:
        root = find_root(Path.cwd())
    except UsageFault:
        if append:
            raise
        root = None
    prepared = prepare(root, file, subject, series)
    written = None
    if append and root is not None and not prepared.already:
        written = recorded(root, prepared)
    if as_json:
        print_json(_as_json(prepared, written))
    else:
        _tell(prepared, written, append=append)


def _as_json(prepared: Prepared, written: str | None) -> dict[str, Any]:
    record = prepared.record
    return {
        "tool": record.source.tool,
        "version": record.source.version,
        "sha256": record.source.sha256,
        "file": written,
        "already": [one.id for one in prepared.already],
        "not_taken": list(record.left_out),
        "findings": _rows(prepared, written),
    }


def _rows(prepared: Prepared, written: str | None) -> list[dict[str, Any]]:
    knowledge = prepared.knowledge()
    rows = [knowledge.as_json(name) for name in prepared.ids]
    there = written is not None or prepared.already
    return rows if there else [{**row, "file": None, "line": None} for row in rows]


def _tell(prepared: Prepared, written: str | None, *, append: bool) -> None:
    record = prepared.record
    version = f" {record.source.version}" if record.source.version else ""
    say(f"{record.source.file}: {record.source.tool}{version}", "strong")
    if prepared.already:
        first = prepared.already[0]
        say(f"imported before, as {first.file}: nothing is written")
        paragraph(
            f"if its subject is wrong: git rm {first.file} (rm where it was never committed),"
            " then import again with the right --subject"
        )
    _tell_figures(prepared)
    for text in record.left_out:
        paragraph(f"not taken: {text}", "  ")
    if written:
        say(f"wrote {written}")
    elif not append and not prepared.already:
        say("nothing was written; --append records it")


def _tell_figures(prepared: Prepared) -> None:
    """Each figure in a line, below the subject that it shares with others."""
    from gamekit.bench.imported import OWN_WAY

    knowledge = prepared.knowledge()
    rows = [knowledge.as_json(name) for name in prepared.ids]
    before = None
    for row in rows:
        if row["subject"] != before:
            before = row["subject"]
            paragraph(f"of {wording.fields(before) or 'an unknown subject'}")
        grade = f", {row['grade']}" if row["grade"] else ""
        shown = wording.figure(knowledge, row["id"])
        say(f"  {row['metric']}: {shown}{grade}")
        how = prepared.how.get(row["id"], OWN_WAY)
        if how != OWN_WAY and not prepared.already:  # it joined, or began, its series before
            paragraph(how, "    ")
    own = [row["metric"] for row in rows if prepared.how.get(row["id"]) == OWN_WAY]
    if own and not prepared.already:
        paragraph(f"{OWN_WAY}: {', '.join(dict.fromkeys(own))}")
