"""Files of every sort get the block and lose it, and run as they did."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gamekit.errors import DocumentsDiffer, MachineRefused
from gamekit.nccl.change import Change, applied, block_of, removed, write
from gamekit.nccl.place import Place, interpreter, place

VALUES = {"NCCL_ALGO": "Ring"}
PRINTS = "import os, sys; print(os.environ.get('NCCL_ALGO'), os.environ.get('MINE'))"


@pytest.fixture(scope="module")
def python():
    return interpreter(sys.executable)


def put(file: Path, python) -> Place:
    where = Place(file, python)
    write(applied(where, VALUES))
    return where


def started_with(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PRINTS],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    "content",
    [
        b'"""Mine."""\nfrom __future__ import annotations\nimport os\nos.environ["MINE"] = "1"\n',
        b"import os\r\nif True:\r\n    os.environ['MINE'] = '1'\r\n",
        b"import os\nos.environ['MINE'] = '1'  # no line end",
        b"# -*- coding: latin-1 -*-\nimport os\nos.environ['MINE'] = '1' # \xe4\n",
        b"\xef\xbb\xbfimport os; os.environ['MINE'] = '1'\n\x0c",
        b"import os\ros.environ['MINE'] = '1'\r",
        b"import os\ndef _gamekit_nccl(): pass\nos.environ.update(MINE='1')",
    ],
)
def test_a_users_own_file_keeps_running(tmp_path: Path, python, content: bytes) -> None:
    """Its code runs as before and the values are set; after removal it has its own bytes."""
    file = tmp_path / "sitecustomize.py"
    file.write_bytes(content)
    assert started_with(tmp_path) == "None 1"
    put(file, python)
    assert file.read_bytes().startswith(content)
    assert started_with(tmp_path) == "Ring 1"
    write(removed(file))
    assert file.read_bytes() == content


def test_the_files_own_setting_and_the_environment_win(
    tmp_path: Path, python, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value is set only where none is: not over the file's own, not over the environment's."""
    file = tmp_path / "sitecustomize.py"
    put(file, python)
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    assert started_with(tmp_path) == "Tree None"
    monkeypatch.delenv("NCCL_ALGO")
    write(removed(file))
    file.write_text("import os\nos.environ['NCCL_ALGO'] = 'PAT'\n")
    put(file, python)
    assert started_with(tmp_path) == "PAT None"


def test_mode_links_and_read_only_files_are_kept(tmp_path: Path, python) -> None:
    """A symbolic link stays a link, and the file that it leads to keeps its mode."""
    real = tmp_path / "etc" / "real.py"
    real.parent.mkdir()
    real.write_bytes(b"pass\n")
    real.chmod(0o440)
    link = tmp_path / "sitecustomize.py"
    link.symlink_to(real)
    put(link, python)
    assert link.is_symlink()
    assert block_of(real) is not None
    assert stat.S_IMODE(real.stat().st_mode) == 0o440
    write(removed(link))
    assert real.read_bytes() == b"pass\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o440
    assert sorted(path.name for path in tmp_path.iterdir()) == ["etc", "sitecustomize.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a file away")
def test_the_owner_is_kept(tmp_path: Path, python) -> None:
    """A file of another user stays that user's."""
    file = tmp_path / "sitecustomize.py"
    file.write_bytes(b"pass\n")
    os.chown(file, 12345, 23456)
    put(file, python)
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


def test_other_values_of_the_same_length_take_effect_at_once(tmp_path: Path, python) -> None:
    """Python's compiled file, which it judges by size and second, does not outlive a change."""
    file = tmp_path / "sitecustomize.py"
    for value in ("Ring", "Tree", "Ring"):
        write(applied(Place(file, python), {"NCCL_ALGO": value}))
        assert started_with(tmp_path) == f"{value} None"
    write(removed(file))
    assert list(tmp_path.iterdir()) == []
    real = tmp_path / "real.py"
    real.touch()
    file.symlink_to(real)
    for value in ("Ring", "Tree"):
        write(applied(Place(file, python), {"NCCL_ALGO": value}))
        assert started_with(tmp_path) == f"{value} None"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "not there/sitecustomize.py",
            r"folder .* does not exist; make it: mkdir -p '.*not there'",
        ),
        ("dangling.py", "folder .*nowhere does not exist; make it"),
        ("file/sitecustomize.py", "file is no folder; choose another"),
        ("file/deeper/sitecustomize.py", "deeper is no folder; choose another"),
        ("loop.py", "symbolic links; choose another"),
        (f"{'a' * 300}.py", "name too long; choose another"),
    ],
)
def test_where_no_file_can_be_the_remedy_fits(tmp_path: Path, python, name: str, says: str) -> None:
    """A folder that is missing is to be made; nobody is told to be the owner of what is not."""
    (tmp_path / "file").touch()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nowhere/it.py")
    with pytest.raises(MachineRefused, match=says) as refusal:
        applied(Place(tmp_path / name, python), VALUES)
    assert "owner" not in str(refusal.value)


@pytest.mark.parametrize("name", ["pipe.py", "zero.py", "null.py", "folder.py", "long.py"])
def test_what_is_no_regular_file_is_refused_unread(tmp_path: Path, python, name: str) -> None:
    """A pipe, a device, a folder and what has no end are refused at once by all that read them."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "null.py").symlink_to("/dev/null")
    (tmp_path / "folder.py").mkdir()
    with (tmp_path / "long.py").open("wb") as file:
        file.truncate(1 << 40)
    says = "more than 4 MiB" if name == "long.py" else "no regular file; choose another"
    for change in (
        lambda: applied(Place(tmp_path / name, python), VALUES),
        lambda: removed(tmp_path / name),
        lambda: block_of(tmp_path / name),
    ):
        with pytest.raises(MachineRefused, match=says):
            change()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can make a device")
def test_a_device_stays_one(tmp_path: Path, python) -> None:
    """A device that a link leads to, as one masks a sitecustomize, is not replaced by a file."""
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no device can be made here")
    (tmp_path / "sitecustomize.py").symlink_to("null")
    where = Place(tmp_path / "sitecustomize.py", python)
    for change in (Change(where.file, b"", b"pass\n"), Change(where.file, b"", None)):
        with pytest.raises(MachineRefused, match="no regular file"):
            write(change)
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)


def test_the_same_values_again_change_nothing(tmp_path: Path, python) -> None:
    """A second time with the same values is no change, also when code was added behind."""
    file = tmp_path / "sitecustomize.py"
    where = put(file, python)
    assert not applied(where, VALUES).needed
    file.write_bytes(file.read_bytes() + b"print(1)\n")
    assert not applied(where, VALUES).needed
    write(applied(where, {"NCCL_ALGO": "Tree"}))
    write(removed(file))
    assert file.read_bytes() == b"print(1)\n"


def test_an_edited_block_is_left_alone_without_force(tmp_path: Path, python) -> None:
    """Neither other values nor removal touch a block that was edited; force gives the edit up."""
    file = tmp_path / "sitecustomize.py"
    file.write_bytes(b"pass\n")
    where = put(file, python)
    edited = file.read_bytes().replace(b"Ring", b"Tree")
    file.write_bytes(edited)
    for change in (lambda: applied(where, VALUES), lambda: removed(file)):
        with pytest.raises(DocumentsDiffer, match="edited by hand"):
            change()
    assert file.read_bytes() == edited
    write(removed(file, force=True))
    assert file.read_bytes() == b"pass\n"


@pytest.mark.parametrize(
    "content", [b"def broken(:\n", b"x = '''", b"x = 1 \\", b"\x00", b"# coding: utf-7\nx = 1\n"]
)
def test_a_file_behind_which_nothing_would_run_is_refused(
    tmp_path: Path, python, content: bytes
) -> None:
    """What Python cannot compile, or would read in another alphabet, gets no block."""
    file = tmp_path / "sitecustomize.py"
    file.write_bytes(content)
    with pytest.raises(MachineRefused, match="choose another file"):
        applied(Place(file, python), {"NCCL_NET": "a+b-"})
    assert file.read_bytes() == content


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, python) -> None:
    """Between decision and writing nothing of somebody else's is lost."""
    file = tmp_path / "sitecustomize.py"
    file.write_bytes(b"a = 1\n")
    change = applied(Place(file, python), VALUES)
    file.write_bytes(b"b = 1\n")
    with pytest.raises(MachineRefused, match="changed meanwhile"):
        write(change)
    assert file.read_bytes() == b"b = 1\n"


def test_a_shadowed_file_runs_with_its_own_errors(tmp_path: Path, python, monkeypatch) -> None:
    """A new file runs the one that it hides, as that: its names, its path, its exception."""
    hidden, first = tmp_path / "hidden", tmp_path / "first"
    hidden.mkdir()
    first.mkdir()
    own = hidden / "sitecustomize.py"
    own.write_text("import os\nMINE = __file__\nos.environ['MINE'] = MINE\n")
    monkeypatch.setenv("PYTHONPATH", f"{first}:{hidden}")
    where = place(interpreter(sys.executable), first / "sitecustomize.py")
    assert where.shadowed == str(own)
    write(applied(where, VALUES))
    ask = f"{PRINTS}; import sitecustomize as s; print(s.MINE, s.__file__)"

    def run() -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", ask], capture_output=True, text=True, check=False
        )
        return done.stdout, done.stderr

    assert run() == (f"Ring {own}\n{own} {where.file}\n", "")
    put(own, python)  # the hidden one has a block too
    assert run()[1] == ""
    own.write_text("1 / 0\n")
    assert "Error in sitecustomize; set PYTHONVERBOSE for traceback:\nZeroDivision" in run()[1]
    assert run()[0].startswith("Ring None")
    own.unlink()
    assert run()[0].startswith("Ring None")
    write(removed(where.file))
    assert list(first.iterdir()) == []


def test_other_values_still_run_the_shadowed_file(tmp_path: Path, monkeypatch) -> None:
    """A second apply outside the path keeps what the first one hides; a user's file gets none."""
    hidden, first = tmp_path / "hidden", tmp_path / "first"
    hidden.mkdir()
    first.mkdir()
    (hidden / "sitecustomize.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(hidden))
    for value in ("Ring", "Tree"):
        where = place(interpreter(sys.executable), first / "sitecustomize.py")
        write(applied(where, {"NCCL_ALGO": value}))
        there = block_of(where.file)
        assert there is not None
        assert there.block.shadowed == str(hidden / "sitecustomize.py")
    where.file.write_bytes(b"pass\n")
    write(applied(where, VALUES))
    there = block_of(where.file)
    assert there is not None
    assert there.block.shadowed is None


def test_a_folder_that_refuses_is_told_with_what_to_do(tmp_path: Path, python) -> None:
    """A folder that may not be written is the machine's refusal, with the remedy."""
    change = applied(Place(Path("/sys/sitecustomize.py"), python), VALUES)
    with pytest.raises(MachineRefused, match="--path"):
        write(change)
