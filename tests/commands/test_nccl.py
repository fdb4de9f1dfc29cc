"""``gamekit nccl`` persists, shows, verifies and removes on real interpreters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gamekit.commands.failures import run

SETTING = """\
schema: 1
title: NCCL
findings:
  - id: nccl-good
    kind: setting
    title: What was fast
    component: NCCL
    variables: {NCCL_ALGO: Ring, NCCL_PROTO: LL}
    persisted_in: nowhere
    reaches: {unknown: not tried}
    effect: {unknown: not measured}
    verify: [env]
    why: It was fast.
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: nccl-half
    kind: setting
    title: What is half known
    component: NCCL
    variables: {NCCL_ALGO: {unknown: nobody wrote it down}}
    persisted_in: nowhere
    reaches: {unknown: not tried}
    effect: {unknown: not measured}
    verify: [env]
    why: It was fast.
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""


@pytest.fixture
def venv(tmp_path: Path) -> str:
    """The Python of a fresh virtual environment."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        # Under PYTHONDONTWRITEBYTECODE nobody would see a compiled file that is left behind.
        if name.startswith("NCCL_") or name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            monkeypatch.delenv(name)


def every_byte(folder: Path) -> dict[str, object]:
    """All that lies below the folder, with mode and content."""
    return {
        str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("own", [None, b"import os\nos.environ['MINE'] = '1'"])
def test_apply_verify_remove_leaves_every_byte_as_it_was(
    venv: str, gamekit, own: bytes | None
) -> None:
    """On a virtual environment, with and without a user's sitecustomize, which keeps running."""
    folder = Path(venv).parent.parent
    (packages,) = folder.glob("lib/*/site-packages")
    if own is not None:
        (packages / "sitecustomize.py").write_bytes(own)
    before = every_byte(folder)
    shown = gamekit("nccl", "apply", "--python", venv, "--set", "NCCL_ALGO=Ring", "--dry-run")
    assert "+    values = {'NCCL_ALGO': 'Ring'}" in shown
    assert every_byte(folder) == before
    gamekit("nccl", "apply", "--python", venv, "--set", "NCCL_ALGO=Ring")
    applied = every_byte(folder)
    assert applied != before
    told = json.loads(gamekit("nccl", "verify", "--python", venv, "--json"))
    assert told["values"] == {"NCCL_ALGO": "Ring"}
    assert {one["started"]: one["reached"] for one in told["interpreters"]}["plain"]
    assert every_byte(folder) == applied
    mine = "import os; print(os.environ.get('MINE'), os.environ['NCCL_ALGO'])"
    answer = subprocess.run(
        [venv, "-B", "-c", mine], capture_output=True, text=True, check=True
    ).stdout
    assert answer.split() == ["None" if own is None else "1", "Ring"]
    assert "already" in gamekit("nccl", "apply", "--python", venv, "--set", "NCCL_ALGO=Ring")
    gamekit("nccl", "remove", "--python", venv)
    assert every_byte(folder) == before
    assert "no block" in gamekit("nccl", "remove", "--python", venv)


def test_a_real_interpreters_file_is_extended_and_restored(
    tmp_path: Path, gamekit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter that runs gamekit, with what it imports: no byte is left over."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_bytes(b'"""Mine."""\r\nMINE = 1\r\n')
    monkeypatch.setenv("PYTHONPATH", str(folder))
    before = every_byte(folder)
    gamekit("nccl", "apply", "--python", sys.executable, "--set", "NCCL_PROTO=LL")
    gamekit("nccl", "verify")
    shown = json.loads(gamekit("nccl", "show", "--json"))
    assert shown["file"] == shown["imported"] == str(folder / "sitecustomize.py")
    assert shown["block"]["values"] == {"NCCL_PROTO": "LL"}
    gamekit("nccl", "remove")
    assert every_byte(folder) == before


def test_a_setting_gives_its_values(base: Path, gamekit, refused, tmp_path: Path) -> None:
    """A finding's variables are persisted; --set replaces one, and fills one that is unknown."""
    (base / "findings" / "nccl.yaml").write_text(SETTING)
    file = str(tmp_path / "sitecustomize.py")
    gamekit("nccl", "apply", "nccl-good", "--set", "NCCL_PROTO=Simple", "--path", file)
    shown = json.loads(gamekit("nccl", "show", "--path", file, "--json"))
    assert shown["block"]["values"] == {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    assert [one["id"] for one in shown["findings"]] == ["nccl-good", "nccl-half"]
    assert "nobody wrote it down" in refused(2, "nccl", "apply", "nccl-half", "--path", file)
    gamekit("nccl", "apply", "nccl-half", "--set", "NCCL_ALGO=Tree", "--path", file)
    assert "no setting of NCCL" in refused(2, "nccl", "apply", "rate", "--path", file)
    assert "there is no finding" in refused(2, "nccl", "apply", "nothing", "--path", file)
    assert "nccl-good: What was fast" in gamekit("nccl", "show", "--path", file)


def test_a_sitecustomize_that_fails_is_told_with_its_error(
    venv: str, gamekit, refused, capsys
) -> None:
    """Where a user's own code raises, verify names the file and the error, and ends with 4."""
    (packages,) = Path(venv).parent.parent.glob("lib/*/site-packages")
    file = packages / "sitecustomize.py"
    file.write_text('raise RuntimeError("mine")\n')
    gamekit("nccl", "apply", "--python", venv, "--set", "NCCL_ALGO=Ring")
    told = refused(4, "nccl", "verify", "--python", venv)
    assert f"{file} fails: RuntimeError: mine" in told
    assert run(("nccl", "verify", "--python", venv, "--json")) == 4
    plain, *_ = json.loads(capsys.readouterr().out)["interpreters"]
    assert (plain["imported"], plain["import_error"]) == (str(file), "RuntimeError: mine")


def test_what_does_not_fit_is_one_line(venv: str, tmp_path: Path, refused) -> None:
    """Wrong values, names and places end with their exit codes, and nothing is written."""
    file = str(tmp_path / "sitecustomize.py")
    assert "NCCL_NTHREADS" in refused(
        2, "nccl", "apply", "--path", file, "--set", "NCCL_NTHREADS=7"
    )
    assert "PATH" in refused(2, "nccl", "apply", "--path", file, "--set", "PATH=/")
    assert "nothing to persist" in refused(2, "nccl", "apply", "--path", file)
    assert "--path" in refused(
        7, "nccl", "apply", "--path", "/sys/sitecustomize.py", "--set", "NCCL_ALGO=Ring"
    )
    # An empty variable of a script is not the interpreter that runs gamekit.
    assert "is empty" in refused(2, "nccl", "remove", "--python", "", "--dry-run")
    no_python = refused(2, "nccl", "apply", "--python", "/bin/ls", "--set", "NCCL_ALGO=Ring")
    assert "no working Python 3" in no_python
    assert "import" not in no_python
    assert "first: gamekit nccl apply" in refused(4, "nccl", "verify", "--python", venv)
    assert not Path(file).exists()


def test_an_edited_block_is_exit_3(tmp_path: Path, gamekit, refused) -> None:
    """A block edited by hand is told; --force takes it out."""
    file = tmp_path / "sitecustomize.py"
    gamekit("nccl", "apply", "--path", str(file), "--set", "NCCL_ALGO=Ring")
    file.write_bytes(file.read_bytes().replace(b"Ring", b"Tree"))
    assert "edited by hand" in refused(3, "nccl", "remove", "--path", str(file))
    assert "edited by hand" in gamekit("nccl", "show", "--path", str(file))
    gamekit("nccl", "remove", "--path", str(file), "--force")
    assert not file.exists()


def test_the_engine_and_the_environment_decide_the_exit_code(
    venv: str, refused, gamekit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running process with another value is 4, one that cannot tell 5; an environment's is 4."""
    gamekit("nccl", "apply", "--python", venv, "--set", "NCCL_ALGO=Ring")
    for value, code in (("Ring", 0), ("Tree", 4), (None, 5)):
        environment = {} if value is None else {"NCCL_ALGO": value}
        with subprocess.Popen(["/bin/sleep", "60"], env={"A": "b", **environment}) as process:
            arguments = ("nccl", "verify", "--python", venv, "--pid", str(process.pid))
            if code:
                refused(code, *arguments)
            else:
                assert "engine: reached" in gamekit(*arguments)
            process.kill()
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    assert "this environment" in refused(4, "nccl", "verify", "--python", venv)


@pytest.mark.parametrize("kind", ["null", "pipe", "folder", "loop"])
def test_what_masks_a_sitecustomize_is_refused_by_all(
    kind: str, venv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device, pipe, folder or circle of links in its place is one refusal, and stays."""
    library = next(Path(venv).parent.parent.glob("lib/python3*/site-packages"))
    file = library / "sitecustomize.py"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/null" if kind == "null" else file.name)
    before = file.lstat()
    for where in (["--python", venv], ["--python", venv, "--path", str(file)]):
        for arguments in (["apply", "--set", "NCCL_ALGO=Ring"], ["remove"], ["show"], ["verify"]):
            assert run(["nccl", *arguments, *where]) == 7, arguments
            assert "; choose another file with --path" in capsys.readouterr().err
    after = file.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
