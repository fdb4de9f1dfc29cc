"""The ``gamekit`` command group, which loads a command's module when the command is named."""

from __future__ import annotations

import importlib
import keyword
from typing import cast

import click

from gamekit import __version__

# In the order of work: begin, fill, derive, ask, serve. A command `name` is the function `command`
# of the module gamekit.commands.<name>; a word of Python has a "_" behind it there.
COMMANDS = (
    *("init", "check", "render", "bench", "import"),
    *("query", "show", "compare", "predict", "next"),
    *("host", "nccl", "simulate", "serve"),
)


class LazyGroup(click.Group):
    """A group whose commands are modules, imported only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of all commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, or None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        ending = "_" if keyword.iskeyword(cmd_name) else ""
        module = importlib.import_module(f"gamekit.commands.{cmd_name}{ending}")
        return cast(click.Command, module.command)


@click.group(
    cls=LazyGroup,
    name="gamekit",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gamekit")
def cli() -> None:
    """Keep measured findings, and derive every document from them.

    Commands work on the knowledge base of the current folder: the nearest one, here or above, that
    holds gamekit.yaml.

    \b
    Exit codes:
      0  done
      1  the knowledge base is wrong
      2  wrong usage, also an id that does not exist
      3  documents are stale or edited by hand
      4  the answer is no
      5  there is no answer yet
      6  a benchmark failed, or nothing was measured
      7  the machine refused (disk, permission, network)
      130  interrupted (Ctrl-C, SIGTERM, SIGHUP)
    """  # noqa: D301 - click looks for the backspace itself, which a raw text would not have
