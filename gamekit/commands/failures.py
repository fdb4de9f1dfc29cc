"""The one place that turns failures into a line on stderr and an exit code."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import ClassVar, TextIO

import click
from click.exceptions import Exit, NoArgsIsHelpError

from gamekit.commands.group import cli
from gamekit.commands.missing import module_missing
from gamekit.errors import GamekitError, MachineRefused, UsageFault

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
PIPE_CLOSED = 141  # 128 + SIGPIPE: the reader went away, as after `| head`


class InternalFault(GamekitError):
    """A fault of gamekit itself; its exit code is EX_SOFTWARE of sysexits.h, outside 0 to 7."""

    exit_code: ClassVar[int] = 70


def run(arguments: Sequence[str]) -> int:
    """Run the command line ``arguments`` and return the exit code; never raises.

    A failure becomes one line on stderr (one a problem, where a knowledge base has several), or
    with ``--json`` one JSON object there; stdout holds results only. ``GAMEKIT_DEBUG=1`` shows the
    traceback as well.
    """
    # A process that was started without them has None there.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - kept open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows it escaped; that is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except BaseException as error:  # whatever it was, it ends here
        return _settle(error, as_json=_asks_for_json(arguments))
    return code


def _invoke(arguments: Sequence[str]) -> int:
    try:
        # Not cli.main: on a closed pipe it exits with 1, which here means a wrong knowledge base.
        with cli.make_context("gamekit", list(arguments)) as context:
            cli.invoke(context)
    except Exit as leaving:  # how --help and --version end
        return leaving.exit_code
    return 0


def _asks_for_json(arguments: Sequence[str]) -> bool:
    options = list(arguments)
    return "--json" in (options[: options.index("--")] if "--" in options else options)


def _settle(error: BaseException, *, as_json: bool) -> int:
    if os.environ.get("GAMEKIT_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _drop(sys.stdout)
        return PIPE_CLOSED
    if isinstance(error, NoArgsIsHelpError) and not as_json:
        error.show()
        return UsageFault.exit_code
    shown = _as_gamekit_error(error)
    try:
        sys.stdout.flush()
    except OSError:  # what is left in the buffer would fail once more when Python ends
        _drop(sys.stdout)
    try:
        print(json.dumps(shown.as_dict()) if as_json else shown, file=sys.stderr, flush=True)
    except OSError:  # stderr is gone too: the exit code is all that can be told
        _drop(sys.stderr)
    return shown.exit_code


def _as_gamekit_error(error: BaseException) -> GamekitError:
    if isinstance(error, GamekitError):
        return error
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, OSError):
        return _refused(error)
    missing = module_missing(error)
    if missing is not None:
        return missing
    return InternalFault(
        f"a fault of gamekit itself: {type(error).__name__}: {error}",
        mend="report it, with what GAMEKIT_DEBUG=1 shows",
    )


def _usage(error: click.ClickException) -> UsageFault:
    context = getattr(error, "ctx", None)
    command = "gamekit" if context is None else context.command_path
    message = error.format_message().rstrip(".")
    return UsageFault(
        f"{command}: {message[:1].lower()}{message[1:]}", mend=f"see: {command} --help"
    )


def _refused(error: OSError) -> MachineRefused:
    what = error.strerror or str(error) or type(error).__name__
    return MachineRefused(what[:1].lower() + what[1:], file=error.filename)


def _drop(stream: TextIO) -> None:
    """Let what ``stream`` still holds go nowhere, so that Python's own last flush cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
