"""Failures become one line and an exit code; a traceback is never shown."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gamekit import errors
from gamekit.commands import failures
from gamekit.commands.terminal import literal

GAMEKIT = [sys.executable, "-m", "gamekit"]


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> dict[str, BaseException]:
    """A command line whose only command raises what the test puts into the dictionary."""
    what: dict[str, BaseException] = {}

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json: bool) -> None:
        raise what["error"]

    monkeypatch.setattr(failures, "cli", command)
    return what


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.YamlError("bad"), 1),
        (errors.UsageFault("bad"), 2),
        (errors.DocumentsDiffer("bad"), 3),
        (errors.AnswerIsNo("bad"), 4),
        (errors.NoAnswer("bad"), 5),
        (errors.BenchmarkFailed("bad"), 6),
        (errors.MachineRefused("bad"), 7),
        (OSError(28, "No space left on device", "/x/y"), 7),
        (PermissionError(13, "Permission denied", "/x/y"), 7),
        (click.UsageError("bad"), 2),
        (ZeroDivisionError("division by zero"), 70),
        (RecursionError("too deep"), 70),
    ],
)
def test_each_failure_has_its_exit_code_and_one_line(
    raising: dict[str, BaseException],
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
) -> None:
    """Every class of failure gives its exit code, one line on stderr and nothing on stdout."""
    raising["error"] = error
    assert failures.run([]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert "Traceback" not in shown.err


def test_an_error_line_says_place_finding_fault_and_remedy(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is ``file:line: finding id: what; how to mend``."""
    raising["error"] = errors.FindingError(
        "unit: is missing", file="findings/a.yaml", line=7, finding="rate", mend="add it"
    )
    failures.run([])
    line = capsys.readouterr().err
    assert line == "findings/a.yaml:7: finding rate: unit: is missing; add it\n"


def test_json_errors_are_one_object(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``--json`` the error is one JSON object on stderr, several problems inside it."""
    problems = [errors.YamlError("a", file="f", line=1), errors.YamlError("b", file="f", line=2)]
    raising["error"] = errors.KnowledgeErrors(problems)
    assert failures.run(["--json"]) == 1
    told = json.loads(capsys.readouterr().err)
    assert [problem["line"] for problem in told["problems"]] == [1, 2]
    assert told["exit_code"] == 1


def test_usage_errors_under_json_are_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    """An option that does not exist is told as JSON when ``--json`` is there as well."""
    assert failures.run(["query", "--json", "--nonsense"]) == 2
    assert json.loads(capsys.readouterr().err)["error"] == "UsageFault"


def test_an_interrupt_ends_with_130_and_no_word(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is no failure to be explained."""
    raising["error"] = KeyboardInterrupt()
    assert failures.run([]) == 130
    assert capsys.readouterr() == ("", "")


def test_debug_shows_the_traceback(
    raising: dict[str, BaseException],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``GAMEKIT_DEBUG=1`` adds the traceback to the line."""
    monkeypatch.setenv("GAMEKIT_DEBUG", "1")
    raising["error"] = ZeroDivisionError("division by zero")
    assert failures.run([]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_giant_value_in_an_error_is_cut(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """A name of a million characters, or a million names, leave a line that one can read."""
    for giant in ("x" * 1_000_000, "x " * 1_000_000):
        raising["error"] = errors.UsageFault(f"{giant} is no name", mend=f"not {giant} but y")
        assert failures.run([]) == 2
        assert failures.run(["--json"]) == 2
        plain, as_json = capsys.readouterr().err.splitlines()
        assert max(len(plain), len(as_json)) < 10_000
        assert plain.endswith("but y")
        assert "is no name" in json.loads(as_json)["message"]


def test_hostile_text_in_an_error_stays_one_line(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """Newlines and escape sequences in a file name are shown as escapes."""
    raising["error"] = PermissionError(13, "Permission denied", "a\n\x1b[2Jb")
    failures.run([])
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "\x1b" not in line


def test_a_reader_that_goes_away_is_no_error() -> None:
    """A closed pipe, as after ``| head``, leaves stderr empty."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*GAMEKIT, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == b""


def test_a_full_disk_under_stdout_is_one_line_and_exit_7() -> None:
    """Output that cannot be written is told once, also when Python flushes at its end."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*GAMEKIT, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 7
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("module", ["httptools", "pydantic", "click"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_python_without_a_module_is_told_and_exit_7(module: str, options: list[str]) -> None:
    """The line names the module, the Python that lacks it and how to mend that."""
    program = f"import sys; sys.modules[{module!r}] = None\n"
    program += "from gamekit.__main__ import main\n"
    program += f"sys.argv = ['gamekit', 'bench', '--list', *{options!r}]\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (7, "")
    (line,) = done.stderr.splitlines()
    told = json.loads(line) if options else {}
    assert f"{sys.executable} has no module '{module}'" in told.get("message", line)
    assert f"{sys.executable} -m pip install" in told.get("mend", line)


def test_a_lost_module_of_gamekit_itself_is_its_own_fault(
    raising: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """No installation mends an import of what gamekit does not have."""
    raising["error"] = ModuleNotFoundError("No module named 'gamekit.x'", name="gamekit.x")
    assert failures.run([]) == 70
    assert "a fault of gamekit itself" in capsys.readouterr().err


def test_without_arguments_the_help_is_shown_and_the_usage_is_wrong() -> None:
    """A bare ``gamekit`` helps on stderr and exits 2, so that an empty variable is noticed."""
    done = subprocess.run(GAMEKIT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


def test_a_terminal_without_unicode_shows_escapes() -> None:
    """Text that the output encoding lacks is escaped, and the command succeeds."""
    program = "from gamekit.commands import failures, terminal; import click\n"
    program += "failures.cli = click.Command('x', callback=lambda: terminal.say('K2→K2.5'))\n"
    program += "raise SystemExit(failures.run([]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "K2\\u2192K2.5\n"


def test_text_of_findings_cannot_drive_a_terminal() -> None:
    """Escape sequences, carriage returns and reordering characters are shown as escapes."""
    assert literal("a\x1b[31mb\rc\u202ed\ne") == "a\\x1b[31mb\\rc\\u202ed\ne"


def test_closed_streams_are_no_fault(tmp_path: Path) -> None:
    """Started without stdout or stderr, a command does its work and ends with its own code."""
    for closed, code in (("--version >&-", 0), ("--version >&- 2>&-", 0), ("check >&- 2>&-", 2)):
        command = f"{shlex.join(GAMEKIT)} {closed}"
        ended = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=False)
        assert ended.returncode == code, closed
