"""The help of every command comes without loading the library behind it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import gamekit.commands
from gamekit.commands.group import COMMANDS

HEAVY = ["pydantic", "pandas", "matplotlib", "rich", "numpy", "scipy", "jinja2", "yaml", "mkdocs"]

PROGRAM = """
import json, sys
from gamekit.commands.failures import run
code = run(json.loads(sys.argv[1]))
sys.stdout.flush()
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_heavy_module(arguments: list[str]) -> None:
    """``--help`` exits 0 and imports none of the packages that are slow to load."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert "Usage: gamekit" in done.stdout
    assert not set(HEAVY) & set(modules)


def test_every_command_module_is_in_the_table() -> None:
    """A module that defines a command is listed by the group, so none can be forgotten."""
    found = {
        module.name.removesuffix("_")
        for module in pkgutil.iter_modules(gamekit.commands.__path__)
        if hasattr(importlib.import_module(f"gamekit.commands.{module.name}"), "command")
    }
    assert found == set(COMMANDS)
