"""Puts a block into a file and takes it out: decided first, then written in one step."""

from __future__ import annotations

import codecs
import difflib
import io
import os
import shlex
import shutil
import stat
import tempfile
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gamekit.errors import DocumentsDiffer, GamekitError, MachineRefused
from gamekit.nccl.block import Found, attached, detached, found
from gamekit.nccl.place import Place, compiles

_ELSEWHERE = "choose another file with --path"
_LONGEST = 4 << 20  # bytes


@dataclass(frozen=True)
class Change:
    """What a file holds, and what it is to hold; None is no file."""

    file: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff; bytes that are no UTF-8 are escaped."""
        old, new = (
            (content or b"").decode("utf-8", "backslashreplace").splitlines()
            for content in (self.before, self.after)
        )
        return "\n".join(
            difflib.unified_diff(
                old, new, self._named(self.before), self._named(self.after), lineterm=""
            )
        )

    def _named(self, content: bytes | None) -> str:
        return os.devnull if content is None else str(self.file)


def read(file: Path) -> bytes | None:
    """The bytes of ``file``, or None where there is none.

    Raises ``MachineRefused`` for one that cannot be read, is no regular file behind its links, or
    is longer than any sitecustomize.
    """
    try:
        # Before it is opened: a pipe would wait for ever, and a device may have no end.
        if not stat.S_ISREG(file.stat().st_mode):
            raise MachineRefused("it is no regular file", file=file, mend=_ELSEWHERE)
        with file.open("rb") as source:
            content = source.read(_LONGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(file, error) from None
    if len(content) > _LONGEST:
        raise MachineRefused(
            f"it has more than {_LONGEST >> 20} MiB, as no sitecustomize has",
            file=file,
            mend=_ELSEWHERE,
        )
    return content


def block_of(file: Path) -> Found | None:
    """The block in ``file``. Raises ``MachineRefused`` where it cannot be read or is damaged."""
    content = read(file)
    return None if content is None else found(content, str(file))


def applied(place: Place, values: Mapping[str, str], *, force: bool = False) -> Change:
    """The change that makes the file of ``place`` set ``values``: none where it does already.

    Raises ``DocumentsDiffer`` for a block that was edited by hand, unless ``force``;
    ``MachineRefused`` for a file that does not compile, or would not with the block, and for a
    new one whose folder does not exist.
    """
    before = read(place.file)
    if before is None and (refusal := _no_folder(place.file)):
        raise refusal
    there = None if before is None else found(before, str(place.file))
    rest = before
    shadowed = place.shadowed if before is None else None
    if before is not None and there is not None:
        _unedited(place.file, there, force=force)
        rest = detached(before, there)
        # A file that only gamekit wrote shadows what it would shadow if it were written now.
        shadowed = place.shadowed if rest is None else there.block.shadowed
        if there.block.values == values and there.block.shadowed == shadowed and not there.edited:
            return Change(place.file, before, before)
    after = attached(rest, values, shadowed)
    if rest is not None:
        _can_follow(place, rest, after)
    return Change(place.file, before, after)


def removed(file: Path, *, force: bool = False) -> Change:
    """The change that takes the block out of ``file``: none where there is no block.

    Raises ``DocumentsDiffer`` for a block that was edited by hand, unless ``force``.
    """
    before = read(file)
    there = None if before is None else found(before, str(file))
    if before is None or there is None:
        return Change(file, before, before)
    _unedited(file, there, force=force)
    return Change(file, before, detached(before, there))


def _unedited(file: Path, there: Found, *, force: bool) -> None:
    if there.edited and not force:
        raise DocumentsDiffer(
            "the block of gamekit nccl was edited by hand",
            file=file,
            mend="see it with gamekit nccl show; --force gives the edit up",
        )


def _can_follow(place: Place, rest: bytes, after: bytes) -> None:
    """Refuse a file behind whose text a block would not run."""
    python = place.interpreter.executable
    if why := compiles(python, rest):
        raise MachineRefused(
            f"{python} cannot compile it, so nothing in it runs: {why}",
            file=place.file,
            mend="mend it first, or choose another file with --path",
        )
    added = after[len(rest) :]
    if added.decode(_encoding(rest), "replace") != added.decode("ascii") or compiles(python, after):
        raise MachineRefused(
            "lines behind its text would not be read as they are written",
            file=place.file,
            mend="choose another file with --path",
        )


def _encoding(source: bytes) -> str:
    with suppress(SyntaxError, LookupError, UnicodeDecodeError):
        name, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return codecs.lookup(name).name.replace("utf-8-sig", "utf-8")
    return "latin-1"


def write(change: Change) -> None:
    """Make the file what the change says, in one step; mode, owner and links are kept.

    A symbolic link stays one, and what it leads to is changed. A read-only file is changed where
    its folder may be: it was named for that. What Python compiled of the old text is taken away,
    since Python compares only its size and the second of its time. Raises ``MachineRefused``.
    """
    target = Path(os.path.realpath(change.file))
    if read(target) != change.before:
        raise MachineRefused(
            "it was changed meanwhile, and was left alone", file=change.file, mend="try again"
        )
    try:
        if change.after is None:
            target.unlink()
        else:
            _replace(target, change.after, new=change.before is None)
        # Python compiles beside the name that it imports, be that a symbolic link.
        for name in {target, change.file}:
            _forget_compiled(name, whole=change.after is None)
    except OSError as error:
        raise _refused(change.file, error) from None


def _refused(file: Path, error: OSError) -> GamekitError:
    if refusal := _no_folder(file):
        return refusal
    mend = _ELSEWHERE
    if isinstance(error, PermissionError):
        mend = f"run as the owner of that file and its folder, or {_ELSEWHERE}"
    return MachineRefused((error.strerror or str(error)).lower(), file=file, mend=mend)


def _no_folder(file: Path) -> MachineRefused | None:
    """The refusal where there is no folder for ``file``, or for what it leads to as a link."""
    folder = Path(os.path.realpath(file)).parent
    try:
        status = folder.stat()
    except FileNotFoundError:
        return MachineRefused(
            f"the folder {folder} does not exist",
            file=file,
            mend=f"make it: mkdir -p {shlex.quote(str(folder))}, or {_ELSEWHERE}",
        )
    except NotADirectoryError:
        pass
    except OSError:  # whether it is there cannot be told: what failed says more
        return None
    else:
        if stat.S_ISDIR(status.st_mode):
            return None
    return MachineRefused(f"{folder} is no folder", file=file, mend=_ELSEWHERE)


def _replace(target: Path, content: bytes, *, new: bool) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".gamekit-nccl-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if new:
            mask = os.umask(0o022)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
        else:
            status = target.stat()
            os.chown(name, status.st_uid, status.st_gid)
            shutil.copystat(target, name)
            os.utime(name)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _forget_compiled(source: Path, *, whole: bool) -> None:
    cache = source.parent / "__pycache__"
    for compiled in cache.glob(f"{source.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)
    if whole:
        with suppress(OSError):  # it is there for others, or was never made
            cache.rmdir()
