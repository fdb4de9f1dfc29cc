"""The wheel, installed into an empty environment, works outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *options, str(REPOSITORY)], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``gamekit`` command of an environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    # Of what it depends on, little is imported: compiling all of it takes longer than the rest.
    subprocess.run([*pip, "install", "--quiet", "--no-compile", str(wheel)], check=True)
    return folder / "bin" / "gamekit"


def test_the_wheel_carries_templates_benchmarks_and_starter(wheel: Path) -> None:
    """Every template, benchmark and starter file of the checkout is in the wheel, and no cache."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "benchmarks"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"gamekit/_bundled/{path.relative_to(REPOSITORY).as_posix()}" in names
    assert "gamekit/_starter/gamekit.yaml" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_an_installed_gamekit_begins_and_keeps_a_knowledge_base(
    installed: Path, tmp_path: Path
) -> None:
    """init, check, render, render --check, bench --list and query run from the wheel alone."""
    base = tmp_path / "base"

    def gamekit(*arguments: str, folder: Path = base) -> str:
        done = subprocess.run(
            [installed, *arguments],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    gamekit("init", str(base), folder=tmp_path)
    gamekit("check")
    gamekit("render")
    gamekit("render", "--check")
    assert "serving_decode" in gamekit("bench", "--list")
    assert "question-baseline" in gamekit("query", "--kind", "question")
    assert (base / "game-plan.md").is_file()
