"""The shape of the package: layers that import downwards only, small files, each saying its reason.

The table below is the architecture; ``AGENTS.md`` explains it in words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "gamekit"

# Lowest first. A module may import what stands above it in this list, and its own layer.
LAYERS = (
    ("errors", "bundled", "ranges", "nearest_rank", "kernel_clock", "typed_numbers"),
    ("event_loop", "open_files", "statistics", "stability", "metrics"),
    ("quantity",),
    ("speculation", "numbers"),
    ("formula",),
    ("findings",),
    ("strict_yaml",),
    ("store",),
    ("knowledge",),
    ("analysis",),
    ("stand_in",),
    ("streaming",),
    ("host", "nccl"),
    ("launch", "load", "collective", "forward", "imports"),
    ("bench",),
    ("render",),
    ("commands",),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
LONGEST = 450

MODULES = sorted(PACKAGE.rglob("*.py"))
PYTHON_FILES = [
    *MODULES,
    *sorted((REPOSITORY / "benchmarks").rglob("*.py")),
    *sorted((REPOSITORY / "tests").rglob("*.py")),
    *sorted((REPOSITORY / "engine").rglob("*.py")),
]


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(source: str) -> Iterator[tuple[str, int]]:
    """The layers of gamekit that ``source`` imports anywhere in it, with the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "gamekit" and rest and not rest.startswith("__version__"):
                yield rest.partition(".")[0], node.lineno


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_import_only_downwards(path: Path) -> None:
    """No module imports a layer above its own."""
    layer = layer_of(path)
    if layer == "__init__":
        assert not list(imported_layers(path.read_text(encoding="utf-8")))
        return
    assert layer in LEVEL, f"{name_of(path)} is in no layer: add it to the table"
    for other, line in imported_layers(path.read_text(encoding="utf-8")):
        place = f"{name_of(path)}:{line} imports gamekit.{other}"
        assert LEVEL[other] <= LEVEL[layer], f"{place}, which is above gamekit.{layer}"


def test_single_modules_of_one_level_do_not_import_each_other() -> None:
    """Two modules that share a level are independent of each other."""
    for path in MODULES:
        layer = layer_of(path)
        if path.parent != PACKAGE or layer == "__init__":
            continue
        for other, line in imported_layers(path.read_text(encoding="utf-8")):
            assert LEVEL[other] < LEVEL[layer], f"{name_of(path)}:{line}"


def test_the_document_names_the_layers_of_the_table() -> None:
    """``AGENTS.md`` has every layer in the order of the table, and no other."""
    text = (REPOSITORY / "AGENTS.md").read_text(encoding="utf-8")
    section = text.partition("## Layers of the package\n")[2].partition("\n## ")[0]
    items = re.findall(r"^\d+\. ([^:]+):", section, re.MULTILINE)
    names = [name.rstrip("/") for item in items for name in re.findall(r"`([^`]+)`", item)]
    for level in LAYERS:
        told, names = names[: len(level)], names[len(level) :]
        assert sorted(told) == sorted(level)
    assert not names


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_files_are_short_and_say_their_reason(path: Path) -> None:
    """A file has a docstring that begins on its first line, and at most 450 lines."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""'), "the first thing in a file is why it exists"
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= LONGEST


@pytest.mark.parametrize("path", sorted((REPOSITORY / "tests").rglob("test_*.py")), ids=name_of)
def test_tests_say_what_they_test(path: Path) -> None:
    """Every test function has a docstring: the sentence that it proves."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test_"
        ):
            assert ast.get_docstring(node), f"{name_of(path)}:{node.lineno} {node.name}"


def test_the_layer_check_sees_an_upward_import() -> None:
    """The check itself finds imports in every form, also inside a function."""
    source = "def f():\n    from gamekit.render import plan\nimport gamekit.commands.group\n"
    assert set(imported_layers(source)) == {("render", 2), ("commands", 3)}
