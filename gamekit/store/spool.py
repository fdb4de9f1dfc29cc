"""Keeps what a run has seen so far, outside ``findings/``, until its run file is written."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from gamekit.errors import GamekitError, MachineRefused
from gamekit.findings import Case, Engine, Environment, Launch, Run, Subject
from gamekit.store.append import make_folders, put_run_file, unfinished_files
from gamekit.store.plain import plain
from gamekit.store.record import (
    RunRecord,
    failed_findings,
    file_of_run,
    new_run_id,
    utc_text,
)

SPOOL_FOLDER = ".gamekit/spool"
# Behind the name of a spool that no run file can be made of.
_BAD = ".bad"
_WHY_KILLED = "killed while it ran: it ended without a result, and nobody was left to say why"


@dataclass(frozen=True)
class Beginning:
    """What is known of a run when it begins; ``units`` has the metrics it will measure."""

    benchmark: str
    command: list[str]
    gamekit_version: str
    started: datetime
    environment: Environment
    state: Mapping[str, Any]
    engine: Engine | None
    units: Mapping[str, str]
    subject: Subject
    launch: Launch | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Spool:
    """The spool of one live run: JSON lines, each handed to the system when it is written.

    Its file carries a lock for as long as this process lives; a kill frees it. Use as a context
    manager: leaving it gives up the lock, and ``remove`` deletes the file before.
    """

    def __init__(self, root: Path, beginning: Beginning) -> None:
        """Claim a run id and begin its spool. Raises ``MachineRefused`` if that cannot be."""
        self.run_id, self._path, self._file = _claimed(root, beginning)

    def event(self, name: str, **data: Any) -> None:
        """Append one event. Raises ``MachineRefused`` when the disk takes no more."""
        try:
            _write(self._file, name, data)
        except OSError as error:
            raise _refused(error, self._path) from error

    def remove(self) -> None:
        """Delete the spool: what it held is in a run file, or is not to be recorded."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Give up the lock; a spool that still exists becomes a failed run at the next append."""
        with suppress(OSError):
            self._file.close()


def recover(
    root: Path, set_aside: Callable[[Path, str], None] = lambda _path, _why: None
) -> list[RunRecord]:
    """Turn the spool of every run that was killed into a failed run file, and remove it.

    The spool of a live run is locked and left alone. The samples stay as raw samples; no figure is
    made of them. Two recoveries at once make one file. A spool that no run file can be made of is
    renamed, so that it is in nobody's way: ``set_aside`` is told the run's spool by its new name,
    and why. Returns the records written; raises ``MachineRefused`` where they cannot be.
    """
    written = []
    folder = root / SPOOL_FOLDER
    for path in sorted(folder.glob(".*.tmp")):
        _clear(path)
    for path in sorted(folder.glob("*.jsonl")):
        try:
            with _locked(path) as file:
                if file is None:
                    continue
                try:
                    record = _killed_run(path.stem, file)
                    record.text()
                except OSError:
                    raise
                except Exception as error:  # whatever a spool holds, it stops no other run
                    aside = path.with_name(f"{path.name}{_BAD}")
                    path.replace(aside)
                    set_aside(aside, _why(error))
                    continue
                with suppress(FileExistsError):  # killed after its run file was in place
                    put_run_file(root, record)
                    written.append(record)
                for unfinished in unfinished_files(root, path.stem):
                    unfinished.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        except OSError as error:
            raise _refused(error, path) from error
    return written


def _claimed(root: Path, beginning: Beginning) -> tuple[str, Path, IO[bytes]]:
    folder = root / SPOOL_FOLDER
    first = {
        "benchmark": beginning.benchmark,
        "command": beginning.command,
        "gamekit_version": beginning.gamekit_version,
        "started": utc_text(beginning.started),
        "environment": beginning.environment.model_dump(exclude_defaults=True),
        "state": beginning.state,
        "engine": None if beginning.engine is None else beginning.engine.model_dump(),
        "launch": None if beginning.launch is None else beginning.launch.model_dump(),
        "facts": dict(beginning.facts),
        "units": dict(beginning.units),
        "subject": beginning.subject.model_dump(exclude_none=True),
    }
    try:
        make_folders(folder, root)
        ignore = folder.parent / ".gitignore"
        if not ignore.exists() or not ignore.stat().st_size:  # empty where the disk was full
            ignore.write_text("*\n", encoding="utf-8")
        while True:
            run_id = new_run_id(beginning.benchmark, beginning.started)
            path = folder / f"{run_id}.jsonl"
            if (root / file_of_run(run_id)).exists():
                continue
            # Locked and begun under a name that recovery does not look at, so that nobody can
            # take the spool of a run that is just beginning for that of a dead one.
            unnamed = folder / f".{run_id}.{secrets.token_hex(6)}.tmp"
            file = unnamed.open("xb", buffering=0)
            fcntl.flock(file, fcntl.LOCK_EX)
            _write(file, "begin", first)
            try:
                os.link(unnamed, path)
            # The name is taken, or somebody cleared the unnamed one before it was locked.
            except (FileExistsError, FileNotFoundError):
                file.close()
                continue
            finally:
                unnamed.unlink(missing_ok=True)
            return run_id, path, file
    except OSError as error:
        raise _refused(error, folder) from error


def _write(file: IO[bytes], name: str, data: Mapping[str, Any]) -> None:
    event = {"event": name, "at": utc_text(datetime.now(UTC)), **plain(dict(data), name)}
    file.write(json.dumps(event).encode() + b"\n")


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes] | None]:
    """The spool at ``path``, locked; None when its run lives or somebody recovered it already."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        # Whoever had the lock before may have removed the file meanwhile.
        yield file if path.exists() else None


def _clear(unnamed: Path) -> None:
    """Remove a spool whose run was killed before it had a name; that of a live one is locked."""
    with suppress(OSError), _locked(unnamed) as file:
        if file is not None:
            unnamed.unlink(missing_ok=True)


def _killed_run(run_id: str, file: IO[bytes]) -> RunRecord:
    """The failed run that a dead spool tells of. Raises for what is no spool of a run."""
    events = list(_events(file))
    if not events or events[0].get("event") != "begin":
        raise ValueError("it does not say what began")
    begin = events[0]
    run = Run(
        id=run_id,
        benchmark=begin["benchmark"],
        command=begin["command"],
        gamekit_version=begin["gamekit_version"],
        started=begin["started"],
        finished=max(begin["started"], _last_time(events)),
        outcome="failed",
        reason=_WHY_KILLED,
        engine=None if begin["engine"] is None else Engine.model_validate(begin["engine"]),
        launch=None if not begin.get("launch") else Launch.model_validate(begin["launch"]),
        facts=begin.get("facts", {}),  # absent in a spool of an earlier release
        environment=Environment.model_validate(begin["environment"]),
        state_before=begin["state"],
        cases=_cases(events),
    )
    subject = Subject.model_validate(begin["subject"])
    subject = run.cases[-1].subject if run.cases else subject
    return RunRecord(run, failed_findings(run, begin["units"], subject))


def _events(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    for line in file:
        try:
            event = json.loads(line)
        except ValueError:
            return  # the last line, which the kill cut off
        if not isinstance(event, dict):
            return
        yield event


def _why(error: Exception) -> str:
    """What is wrong with a spool, in one line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if isinstance(error, KeyError):
        return f"it does not say {error}"
    return error.message if isinstance(error, GamekitError) else f"{type(error).__name__}: {error}"


def _last_time(events: list[dict[str, Any]]) -> str:
    return max(str(event["at"]) for event in events)


def _cases(events: list[dict[str, Any]]) -> list[Case]:
    cases: dict[int, dict[str, Any]] = {}
    rows: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        if event["event"] not in ("case", "sample"):
            continue
        number = int(event["case"])
        if event["event"] == "case":
            cases[number] = {"parameters": event["parameters"], "subject": event["subject"]}
        else:
            rows.setdefault(number, []).append(event["values"])
    return [
        Case(
            parameters=case["parameters"],
            subject=Subject.model_validate(case["subject"]),
            samples=columns(rows.get(number, [])),
        )
        for number, case in cases.items()
    ]


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Samples as columns of equal length, in the order of first appearance; None: no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _refused(error: OSError, path: Path) -> MachineRefused:
    return MachineRefused(
        f"cannot be written: {error.strerror or error}",
        file=path,
        mend="make room on the disk and see that the folder may be written to, then run it again",
    )
