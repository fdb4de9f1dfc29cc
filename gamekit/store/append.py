"""Appends a run to the knowledge base: one new file, created whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gamekit.errors import MachineRefused
from gamekit.store.record import RunRecord, file_of_run, new_run_id
from gamekit.store.root import MEASURED_FOLDER

_TRIES = 20


def append_run(root: Path, record: RunRecord) -> RunRecord:
    """Write the run file of ``record`` below ``root`` and return the record as it was written.

    No lock is taken and no existing byte is touched. A run id that is taken already is drawn again,
    which renames the record. When this returns, the file is on the disk. Raises ``YamlError`` or
    ``FindingError`` for a record that could not be read back, ``MachineRefused`` where the machine
    does not let it be written; then nothing new is in ``findings/``.
    """
    for _ in range(_TRIES):
        try:
            put_run_file(root, record)
        except FileExistsError:
            began = datetime.strptime(record.run.id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
            record = record.renamed(new_run_id(record.run.benchmark, began))
        else:
            return record
    raise MachineRefused("no free run id was found", file=record.file, mend="try again")


def put_run_file(root: Path, record: RunRecord) -> Path:
    """Put the run file of ``record`` in its place. Raises ``FileExistsError`` if the id is taken.

    A kill at any time leaves either no file of that name or the whole file.
    """
    return put_new_file(root, record.file, record.text())


def put_new_file(root: Path, file: str, text: str) -> Path:
    """Put ``text`` in its place below ``root``, whole or not at all.

    Raises ``FileExistsError`` if there is such a file, ``MachineRefused`` where it cannot be.
    """
    path = root / file
    try:
        make_folders(path.parent, root)
        _create_whole(path, text.encode())
    except FileExistsError:
        raise
    except OSError as error:
        raise _refused(error, file) from error
    return path


def check_writable(root: Path) -> None:
    """Raise ``MachineRefused`` where no run file could be written, before anything is measured."""
    folder = root / MEASURED_FOLDER
    try:
        make_folders(folder, root)
        trial = folder / f".{secrets.token_hex(6)}.tmp"
        os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        trial.unlink()
    except OSError as error:
        raise _refused(error, MEASURED_FOLDER) from error


def make_folders(folder: Path, root: Path) -> None:
    """Create ``folder`` below ``root`` where it is missing, and put each new entry on the disk."""
    missing = []
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True, parents=True)
        _sync_folder(new.parent)


def unfinished_files(root: Path, run_id: str) -> list[Path]:
    """What a writer of this run left when it was killed; the loader does not see these files."""
    return sorted((root / file_of_run(run_id)).parent.glob(f".{run_id}.*.tmp"))


def _create_whole(path: Path, data: bytes) -> None:
    # The name begins with a dot, so that the loader never takes it for a findings file.
    unfinished = path.with_name(f".{path.stem}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)  # unlike a rename it never replaces
    finally:
        with suppress(OSError):
            unfinished.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(error: OSError, file: str) -> MachineRefused:
    return MachineRefused(
        f"cannot be written: {error.strerror or error}",
        file=file,
        mend="make room on the disk and see that the folder may be written to, then run it again",
    )
