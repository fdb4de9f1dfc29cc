"""``gamekit nccl``: NCCL's settings, persisted where Python reads them at its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gamekit.commands.options import Whole, as_json_option, key_value
from gamekit.commands.terminal import paragraph, print_json, say, table

if TYPE_CHECKING:
    from gamekit.findings import Finding, Setting
    from gamekit.nccl.block import Found
    from gamekit.nccl.change import Change
    from gamekit.nccl.place import Interpreter, Place
    from gamekit.nccl.processes import Engine
    from gamekit.nccl.reach import Reach

Function = TypeVar("Function", bound=Callable[..., Any])


def _place_options(function: Function) -> Function:
    for option in (
        click.option(
            "--path",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="This file, and not the one that the interpreter imports.",
        ),
        click.option(
            "--python",
            metavar="EXE",
            help="The interpreter that serves; without it, the one that runs gamekit.",
        ),
    ):
        function = option(function)
    return function


_force_option = click.option(
    "--force", is_flag=True, help="Give up what was edited by hand within the block."
)
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Write nothing; print the difference."
)


@click.group("nccl", short_help="Persist NCCL's settings, and see whom they reach.")
def command() -> None:
    """Persist NCCL's variables in the sitecustomize.py that Python imports at its start."""


@command.command("show", short_help="What is persisted, in force, and found.")
@_place_options
@as_json_option
def show(python: str | None, path: Path | None, as_json: bool) -> None:
    """Show what is persisted, which NCCL variables this process has, and the findings on them."""
    from gamekit.nccl.change import block_of
    from gamekit.nccl.place import interpreter

    asked = interpreter(sys.executable if python is None else python)
    file = path or _block_file(asked)
    block = None if file is None else block_of(file)
    effective = {n: v for n, v in sorted(os.environ.items()) if n.startswith("NCCL_")}
    settings = _settings()
    if as_json:
        print_json(
            {
                "python": asked.executable,
                "imported": asked.imported,
                "file": None if file is None else str(file),
                "block": None if block is None else _block_json(block),
                "environment": effective,
                "findings": None if settings is None else [_finding_json(one) for one in settings],
            }
        )
        return
    say(f"{asked.executable}: imports {asked.imported or 'no sitecustomize'} at its start")
    if block is None:
        say(f"no block of gamekit nccl{f' in {file}' if file else ''}")
    else:
        say(f"{file}: {'edited by hand' if block.edited else 'as written by gamekit nccl apply'}")
        _assignments(block.block.values)
        if block.block.shadowed:
            say(f"  then runs {block.block.shadowed}, which it hides")
    say("\nin this process", "strong")
    _assignments(effective)
    _tell_settings(settings)


def _assignments(values: Any) -> None:
    for name, value in values.items():
        say(f"  {name}={value}")
    if not values:
        say("  no variable of NCCL")


def _block_json(block: Found) -> dict[str, Any]:
    return {
        "values": dict(block.block.values),
        "shadowed": block.block.shadowed,
        "created": block.block.created,
        "edited": block.edited,
    }


def _finding_json(setting: Setting) -> dict[str, Any]:
    told = setting.model_dump(mode="json")
    names = ("id", "title", "variables", "candidates", "effect", "persisted_in", "reaches")
    return {name: told[name] for name in names}


def _tell_settings(settings: Sequence[Setting] | None) -> None:
    if settings is None:
        return
    say("\nfindings", "strong")
    for setting in settings:
        told = _finding_json(setting)
        say(f"{setting.id}: {setting.title}")
        for name in ("variables", "persisted_in", "effect"):
            content = told[name]
            if isinstance(content, dict) and "unknown" not in content:
                content = ", ".join(f"{key}={_known(value)}" for key, value in content.items())
            paragraph(f"{name.replace('_', ' ')}: {_known(content)}", "  ")
        for name, text in setting.candidates.items():
            paragraph(f"candidate {name}: {text}", "  ")
    if not settings:
        say("none is a setting of NCCL")


def _known(content: Any) -> Any:
    return f"unknown: {content['unknown']}" if isinstance(content, dict) else content


def _findings() -> list[Finding] | None:
    """All findings, or None where there is no knowledge base."""
    from gamekit.errors import UsageFault
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    try:
        root = find_root(Path.cwd())
    except UsageFault:
        return None
    return [record.finding for record in load(root).records.values()]


def _settings() -> list[Setting] | None:
    from gamekit.nccl.settings import nccl_settings

    findings = _findings()
    return None if findings is None else nccl_settings(findings)


def _block_file(asked: Interpreter) -> Path | None:
    """The first sitecustomize of the interpreter that has a block, else the one it imports.

    Where it imports none: what stands in its site-packages by that name, be it no file.
    """
    from gamekit.nccl.change import block_of
    from gamekit.nccl.place import NAME

    files = [Path(origin) for _, origin in asked.found]
    for file in files:
        if block_of(file) is not None:
            return file
    own = Path(asked.site_packages, NAME)
    return files[0] if files else (own if os.path.lexists(own) else None)


@command.command("apply", short_help="Persist values.")
@click.argument("name", metavar="[ID]", required=False)
@click.option(
    "--set",
    "also",
    metavar="NAME=VALUE",
    multiple=True,
    callback=key_value,
    help="A variable and its value; repeat for more. Takes the place of the finding's.",
)
@_place_options
@_dry_run_option
@_force_option
def apply(
    name: str | None,
    also: dict[str, str],
    python: str | None,
    path: Path | None,
    dry_run: bool,
    force: bool,
) -> None:
    """Persist the values of the setting ID, those of --set, or both, in a block of their own.

    The block stands at the end of the sitecustomize.py that the interpreter imports. A variable
    that is set already, by the environment or by the file itself, keeps its value. Values that were
    applied before are replaced as a whole.
    """
    from gamekit.nccl.change import applied
    from gamekit.nccl.place import interpreter, place
    from gamekit.nccl.turns import turn
    from gamekit.nccl.variables import checked

    values = _wanted(name, also)
    for warning in checked(values):
        click.echo(f"warning: {warning}", err=True)
    where = place(interpreter(sys.executable if python is None else python), path)
    with turn(where.file):
        change = applied(where, values, force=force)
        if not change.needed:
            say(f"{change.file} has these values already")
            return
        _carry_out(change, dry_run=dry_run, done="wrote")
    _hints(where, dry_run=dry_run)


def _wanted(name: str | None, also: dict[str, str]) -> dict[str, str]:
    from gamekit.errors import UsageFault
    from gamekit.nccl.settings import values_of

    if name is None:
        if not also:
            raise UsageFault("nothing to persist", mend="give the id of a setting, or --set")
        return also
    findings = _findings()
    if findings is None:
        raise UsageFault("no knowledge base here", mend="go to one, or use --set alone")
    for finding in findings:
        if finding.id == name:
            return values_of(finding, also)
    raise UsageFault(f"there is no finding {name}", mend="see: gamekit nccl show")


def _carry_out(change: Change, *, dry_run: bool, done: str) -> None:
    from gamekit.nccl.change import write

    if dry_run:
        say(change.diff())
        return
    write(change)
    say(f"{done} {change.file}")


def _hints(where: Place, *, dry_run: bool) -> None:
    if where.hidden_by:
        click.echo(f"warning: Python imports {where.hidden_by} instead of it", err=True)
    elif where.file.name not in ("sitecustomize.py", "__init__.py"):
        click.echo("warning: Python imports a file only if it is named sitecustomize.py", err=True)
    if not dry_run:
        say("processes that run already keep what they have; see: gamekit nccl verify")


@command.command("remove", short_help="Take the values out again.")
@_place_options
@_dry_run_option
@_force_option
def remove(python: str | None, path: Path | None, dry_run: bool, force: bool) -> None:
    """Take the block out: the file is byte for byte what it was, and one that was made is gone."""
    from gamekit.nccl.change import removed
    from gamekit.nccl.place import interpreter
    from gamekit.nccl.turns import turn

    file = path or _block_file(interpreter(sys.executable if python is None else python))
    if file is None:
        say("no block of gamekit nccl")
        return
    with turn(file):
        change = removed(file, force=force)
        if not change.needed:
            say(f"no block of gamekit nccl in {file}")
            return
        done = "deleted" if change.after is None else "restored"
        _carry_out(change, dry_run=dry_run, done=done)


@command.command("verify", short_help="See which processes the values reach.")
@click.option(
    "--python",
    "pythons",
    metavar="EXE",
    multiple=True,
    help="An interpreter to ask; repeat for more. Without it, the one that runs gamekit.",
)
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file whose values are meant, and not the one that the interpreter imports.",
)
@click.option("--pid", type=Whole(1), help="Also the running engine of this process id.")
@as_json_option
def verify(pythons: tuple[str, ...], path: Path | None, pid: int | None, as_json: bool) -> None:
    """Start children of the interpreter in several ways, and tell which of them have the values.

    Children start with no variable of NCCL set. Exit code 0: a plain child has all values, and so
    has the engine where asked; 4: not so; 5: of the engine that cannot be told.
    """
    from gamekit.nccl.processes import engine
    from gamekit.nccl.reach import reaches

    executables = pythons or (sys.executable,)
    file, values = _persisted(executables, path)
    seen = [one for executable in executables for one in reaches(executable, values)]
    running = None if pid is None else engine(pid, values)
    if as_json:
        print_json(_reach_json(file, values, seen, running))
    else:
        say(f"{file}: {' '.join(f'{name}={value}' for name, value in values.items())}")
        table(
            ("python", "started", "reached", "why not"),
            [(one.python, one.started, "yes" if one.reached else "no", one.why) for one in seen],
        )
        if running is not None:
            _tell_engine(running)
    _settle(seen, running)


def _persisted(executables: Sequence[str], path: Path | None) -> tuple[Path, dict[str, str]]:
    from gamekit.errors import AnswerIsNo
    from gamekit.nccl.change import block_of
    from gamekit.nccl.place import interpreter

    files = [path] if path else [_block_file(interpreter(one)) for one in executables]
    for file in files:
        block = None if file is None else block_of(file)
        if file is not None and block is not None and block.block.values:
            return file, dict(block.block.values)
    raise AnswerIsNo(
        f"no values are persisted for {', '.join(executables) if path is None else path}",
        mend="first: gamekit nccl apply",
    )


def _tell_engine(running: Engine) -> None:
    say()
    table(
        ("pid", "parent", "name", "started with"),
        [
            (
                str(one.pid),
                str(one.parent),
                one.name,
                " ".join(f"{n}={v}" for n, v in one.different.items()) or _STATES[one.state],
            )
            for one in running.processes
        ],
    )
    answer = {True: "reached", False: "not reached", None: "cannot be told"}[running.reached]
    paragraph(f"engine: {answer}: {running.why}")


_STATES = {
    "set": "the values",
    "absent": "not all of the values",
    "overwritten": "unknown: its title was written over it",
    "unreadable": "unknown: it may not be read",
}


def _reach_json(
    file: Path, values: dict[str, str], seen: Sequence[Reach], running: Engine | None
) -> dict[str, Any]:
    return {
        "file": str(file),
        "values": values,
        "interpreters": [
            {
                "python": one.python,
                "started": one.started,
                "reached": one.reached,
                "imported": one.imported,
                "import_error": one.import_error,
                "missing": list(one.missing),
                "different": dict(one.different),
                "why": one.why or None,
            }
            for one in seen
        ],
        "engine": None
        if running is None
        else {
            "reached": running.reached,
            "why": running.why,
            "processes": [
                {
                    "pid": one.pid,
                    "parent": one.parent,
                    "name": one.name,
                    "state": one.state,
                    "different": dict(one.different),
                }
                for one in running.processes
            ],
        },
    }


def _settle(seen: Sequence[Reach], running: Engine | None) -> None:
    """End by the exit code that the answer has."""
    from gamekit.errors import AnswerIsNo, NoAnswer
    from gamekit.nccl.reach import DECISIVE

    for one in seen:
        if one.started in DECISIVE and not one.reached:
            raise AnswerIsNo(f"not reached: {one.python}, {one.started}: {one.why}")
    if running is not None and running.reached is not True:
        kind = NoAnswer if running.reached is None else AnswerIsNo
        raise kind(f"engine: {running.why}")
