"""The README's reference and the commands agree, in both directions."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.testing import CliRunner

from gamekit import errors
from gamekit.commands.failures import INTERRUPTED
from gamekit.commands.group import COMMANDS, cli

REPOSITORY = Path(__file__).resolve().parent.parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `gamekit (\w+)([^`]*)` \|([^|]*)\|", re.MULTILINE)
FENCE = re.compile(r"^```(?:console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def parts(name: str) -> list[click.Command]:
    """The command, or the commands of a group."""
    found = command(name)
    return list(found.commands.values()) if isinstance(found, click.Group) else [found]


def options(name: str) -> set[str]:
    return {
        option
        for part in parts(name)
        for parameter in part.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--")
    }


def test_the_table_names_every_command_in_its_order() -> None:
    """The README's table has one row a command, in the order of ``gamekit --help``."""
    assert tuple(row[1] for row in ROW.finditer(README)) == COMMANDS


def test_the_table_names_every_option_and_no_other() -> None:
    """Each row has exactly the options of its command."""
    for row in ROW.finditer(README):
        assert set(re.findall(r"--[a-z-]+", row[3])) == options(row[1]), row[1]


def test_the_table_names_the_arguments() -> None:
    """Each row shows the arguments as the usage line does."""
    for row in ROW.finditer(README):
        context = click.Context(command(row[1]), info_name=row[1])
        shown = " ".join(command(row[1]).collect_usage_pieces(context)[1:])
        assert row[2].strip() == shown, row[1]


def test_examples_use_commands_and_options_that_exist() -> None:
    """Every gamekit call in an example of README and guides is one that the command line takes."""
    pages = [README, *(path.read_text("utf-8") for path in REPOSITORY.glob("docs/guide/*.md"))]
    calls = [
        call
        for page in pages
        for block in FENCE.findall(page)
        for call in re.findall(r"^(?:\$ )?gamekit (\w+)([^&#\n]*)", block, re.MULTILINE)
    ]
    assert len(calls) > 8
    for name, rest in calls:
        assert name in COMMANDS, name
        assert set(re.findall(r"--[a-z-]+", rest)) <= options(name), (name, rest)


def test_exit_codes_are_those_of_the_errors() -> None:
    """README and ``gamekit --help`` list the same codes in the same words, one an error class."""
    told = dict(re.findall(r"^\| (\d+) \| ([^|]+?) \|$", README, re.MULTILINE))
    helped = dict(re.findall(r"^ +(\d+)  (.+)$", cli.help or "", re.MULTILINE))
    assert told == helped
    classes = (
        *(errors.KnowledgeError, errors.UsageFault, errors.DocumentsDiffer, errors.AnswerIsNo),
        *(errors.NoAnswer, errors.BenchmarkFailed, errors.MachineRefused),
    )
    codes = ["0", *(str(one.exit_code) for one in classes), str(INTERRUPTED)]
    assert list(told) == codes


def test_every_option_has_a_help_text() -> None:
    """``--help`` explains every option and every command."""
    for name in COMMANDS:
        assert command(name).help
        for part in parts(name):
            assert part.help
            for parameter in part.params:
                told = not isinstance(parameter, click.Option) or parameter.help
                assert told, (name, parameter.name)


def test_the_readme_begins_with_the_two_commands() -> None:
    """The first thing in the README is how to run the main job and the tests."""
    first = FENCE.findall(README)[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make plan", "make test"]
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^plan:", makefile, re.MULTILINE)
    assert re.search(r"^test:", makefile, re.MULTILINE)


def test_links_of_the_readme_lead_somewhere() -> None:
    """Every relative link in README and AGENTS.md names a file of the repository."""
    for page in ("README.md", "AGENTS.md", "CHANGELOG.md"):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if not target.startswith("http"):
                assert (REPOSITORY / target).exists(), (page, target)


def test_help_fits_a_terminal_of_80_columns() -> None:
    """Every command's summary is whole, and the exit codes are a list."""
    told = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    summaries = told.partition("Commands:")[2].splitlines()[1:]
    assert [line.split()[0] for line in summaries] == list(COMMANDS)
    assert not any(line.endswith(("...", "…")) for line in summaries)
    assert "\n    0  done\n    1  the knowledge base is wrong\n" in told
