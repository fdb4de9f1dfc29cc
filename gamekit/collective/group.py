"""A group of ranks under one setting: started by torchrun, given work, ended for certain."""

from __future__ import annotations

import json
import os
import select
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gamekit.collective.framing import JsonLines
from gamekit.collective.nccl_log import NcclLog
from gamekit.errors import BenchmarkFailed
from gamekit.launch.kept import KeptProcess, in_words

WORKER = Path(__file__).with_name("worker.py")
# A rank that gets no answer from its driver any more is not waited for.
_GRACE_S = 5.0
_LONGEST_GOODBYE_S = 10.0
# What torchrun has to say of a rank that ended comes within this time.
_LAST_WORDS_S = 15.0
_LAST_LINES = 15
# A Unix socket's path has room for 107 bytes, this folder's own name and the socket's included.
_LONGEST_FOLDER = 60


class GroupFailed(BenchmarkFailed):
    """A group of ranks that did not start, ended or hung. ``lines`` are the last of its log."""

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(
            f"{message}; the ranks' log ends with: {' | '.join(lines)}" if lines else message
        )
        self.why = message
        self.lines = list(lines)


@dataclass(frozen=True)
class Place:
    """Which ranks make up a group: so many on each of ``nodes`` hosts, and where those meet.

    ``address`` and ``port`` are those of host 0; the group of number n takes the n-th port on.
    """

    ranks: int
    nodes: int = 1
    node: int = 0
    address: str = ""
    port: int = 0

    @property
    def size(self) -> int:
        """Ranks of all hosts together."""
        return self.ranks * self.nodes

    def arguments(self, number: int) -> list[str]:
        """What torchrun is told."""
        each = ["--nproc-per-node", str(self.ranks)]
        if self.nodes == 1:
            # By the loopback: a container may not know its own name.
            return [*each, "--standalone", "--local-addr", "127.0.0.1"]
        meeting = ["--master-addr", self.address, "--master-port", str(self.port + number)]
        return [*each, "--nnodes", str(self.nodes), "--node-rank", str(self.node), *meeting]


@dataclass(frozen=True)
class Told:
    """What the ranks of a group answer to ``sample``: the slowest counts, wrong values add up."""

    latency_us: float
    wrong: int


@dataclass
class RankGroup:
    """One group; ``with RankGroup(...) as group`` starts it and ends it whatever happens inside.

    ``timeout_s`` is the longest that an answer may take, ``ready_s`` the start: then all ranks are
    ended. ``number`` tells the groups of a call apart, in the order in which they start.
    """

    place: Place
    backend: str
    variables: Mapping[str, str]
    python: str
    timeout_s: float
    ready_s: float
    number: int = 0
    redact: Callable[[str], str] = str
    about: dict[str, Any] = field(default_factory=dict)
    log: NcclLog = field(default_factory=NcclLog)

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gamekit-ranks-", dir=_short_folder())
        self._process: KeptProcess | None = None
        self._listening = socket.socket(socket.AF_UNIX)
        self._connection: socket.socket | None = None
        self._deadline = 0.0
        self._dismissed = False
        self._lines = JsonLines()
        self._waiting: list[dict[str, Any]] = []
        self._read: dict[str, int] = {}
        self._prepared: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        try:
            self.begin()
            self.wait_until_ready()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def process_id(self) -> int | None:
        """The process above the ranks of this host, while there is one."""
        return None if self._process is None else self._process.process_id

    @property
    def alive(self) -> bool:
        """Whether it takes work."""
        return self._connection is not None

    def begin(self) -> None:
        """Start the ranks, without waiting for them. Raises ``BenchmarkFailed``."""
        path = str(Path(self._folder.name) / "socket")
        self._listening.bind(path)
        self._listening.listen(1)
        self._process = KeptProcess(
            [
                *(self.python, "-m", "torch.distributed.run"),
                *self.place.arguments(self.number),
                # It leaves a folder behind where it is ended: this one goes with the group.
                *("--log-dir", str(Path(self._folder.name) / "torchrun")),
                *(str(WORKER), "--socket", path, "--backend", self.backend),
            ],
            {
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                "PYTHONUNBUFFERED": "1",
                **self.variables,
                **self._logging(),
            },
            grace_s=_GRACE_S,
        )
        self._process.start()
        self._deadline = time.monotonic() + self.ready_s

    def wait_until_ready(self) -> None:
        """Wait until the ranks that ``begin`` started take work. Raises ``GroupFailed``."""
        if self._connection is not None:
            return
        late = f"the ranks were not ready within {self.ready_s:g} s, and all were ended"
        if not self._wait_for(self._listening, self._deadline):
            self._fail(late)
        self._connection, _ = self._listening.accept()
        self._listening.close()
        self.about = self._next(self._deadline, late)["about"]
        self.read_log()

    def prepare(self, job: Mapping[str, Any]) -> int:
        """Have the ranks ready for samples of ``job``; gives how many values came back wrong.

        ``job`` is a :class:`~gamekit.collective.rounds.Job` as plain data. Nothing is done where it
        is what they are ready for. Raises ``GroupFailed``.
        """
        if self._prepared == job:
            return 0
        answers = self._ask({"do": "prepare", **job})
        self._prepared = dict(job)
        self.read_log()
        return sum(int(one["wrong"]) for one in answers)

    def sample(self) -> Told:
        """Time a row of all-reduces of what was prepared. Raises ``GroupFailed``."""
        answers = self._ask({"do": "sample"})
        return Told(
            latency_us=max(float(one["latency_us"]) for one in answers),
            wrong=sum(int(one["wrong"]) for one in answers),
        )

    def over(self) -> None:
        """Tell the other hosts that a case is over."""
        if self.place.nodes > 1:
            self._send({"do": "over"})

    def take_part(self) -> None:
        """On another host than that of rank 0: wait until a case is over, however long it takes."""
        self._next(None, "the group ended")

    def read_log(self) -> NcclLog:
        """What NCCL's own log says so far, of the ranks of this host."""
        for path in sorted(Path(self._folder.name).glob("*.*")):
            began = self._read.get(path.name, 0)
            with path.open("rb") as file:
                file.seek(began)
                whole, end, _ = file.read().rpartition(b"\n")
            if path.name.startswith("start."):  # the others begin anew now and then
                self._read[path.name] = began + len(whole) + len(end)
            self.log.read(whole.decode("utf-8", "replace"))
        return self.log

    def dismiss(self) -> None:
        """Ask the ranks to end, without waiting for it; then only ``end`` is of use."""
        if self._connection is not None:
            if self.place.node == 0:
                with suppress(OSError):
                    self._connection.sendall(b'{"do": "end"}\n')
            self._connection.close()
            self._connection = None
            self._dismissed = True

    def end(self) -> None:
        """End all ranks of this host: asked to first, then for certain."""
        self.dismiss()
        if self._dismissed and self._process is not None:
            self._process.ended(_LONGEST_GOODBYE_S)
        self._end_process()
        self._listening.close()
        self._folder.cleanup()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _logging(self) -> dict[str, str]:
        if self.backend != "nccl":
            return {}
        return {
            "GAMEKIT_NCCL_LOGS": self._folder.name,
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING",
            "NCCL_DEBUG_FILE": f"{self._folder.name}/start.%h.%p",
        }

    def _ask(self, command: Mapping[str, Any]) -> list[dict[str, Any]]:
        self._send(command)
        deadline = time.monotonic() + self.timeout_s
        late = f"the ranks did not answer within {self.timeout_s:g} s, and all were ended"
        answer = self._next(deadline, late)
        return list(answer["ranks"])

    def _send(self, command: Mapping[str, Any]) -> None:
        if self._connection is None:
            raise GroupFailed("the group of ranks has ended", [])
        try:
            self._connection.sendall(json.dumps(command).encode() + b"\n")
        except OSError:
            self._ended()

    def _next(self, deadline: float | None, late: str) -> dict[str, Any]:
        """The next thing that the ranks tell."""
        while not self._waiting:
            if self._connection is None:
                raise GroupFailed("the group of ranks has ended", [])
            if not self._wait_for(self._connection, deadline):
                self._fail(late)
            try:
                piece = self._connection.recv(1 << 16)
            except OSError:
                piece = b""
            if not piece:
                self._ended()
            try:
                self._waiting += self._lines.feed(piece)
            except ValueError as error:
                self._fail(f"the ranks told what cannot be read: {error}")
        told = self._waiting.pop(0)
        if "error" in told:
            self._ended(f"rank {told.get('rank')} failed: {told['error']}")
        return told

    def _wait_for(self, one: socket.socket, deadline: float | None) -> bool:
        """Wait until ``one`` can be read; False when it is too late. Raises when all have ended."""
        assert self._process is not None  # noqa: S101 - started before anything is waited for
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([one.fileno(), self._process.fileno()], [], [], left)
            if one.fileno() in readable:
                return True
            if not readable:
                return False
            if self._process.ended():
                self._ended()

    def _ended(self, why: str | None = None) -> None:
        """Raise what is known of a group that ended by itself, or is about to."""
        assert self._process is not None  # noqa: S101 - it was started
        self._process.ended(_LAST_WORDS_S)
        code = self._process.exit_code
        how = "" if code is None else f" ({in_words(code)})"
        self._fail(why or f"the ranks ended by themselves{how}, and all were ended")

    def _fail(self, why: str) -> None:
        lines: list[str] = []
        if self._process is not None:
            lines = last_words(self._process.log.excerpt(self.redact))
        with suppress(OSError):
            self.read_log()
        lines += [f"NCCL WARN {self.redact(one)}" for one in self.log.warnings[-3:]]
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._end_process()
        raise GroupFailed(why, lines)


def probe(python: str, timeout_s: float) -> dict[str, Any]:
    """What the torch of an interpreter is and sees: python, torch, cuda, gpus, nccl.

    Raises ``BenchmarkFailed`` where it has none that can be imported.
    """
    with KeptProcess([python, str(WORKER), "--probe"], {}, grace_s=_GRACE_S) as process:
        process.start()
        ended = process.ended(timeout_s)
        lines = process.log.excerpt(str)
    for line in reversed(lines):
        with suppress(ValueError):
            found = JsonLines().feed(line.encode() + b"\n")
            return found[0]
    how = in_words(process.exit_code) if ended else f"no answer within {timeout_s:g} s"
    raise BenchmarkFailed(
        f"torch cannot be used in {python} ({how}): {' | '.join(lines[-3:])}",
        mend="name an interpreter that has it: --set python=PATH",
    )


def last_words(lines: Sequence[str]) -> list[str]:
    """Of a group's log what tells most: its last lines, without rulers and empty ones."""
    said = [line for line in lines if line.strip("=-* \t")]
    return said[-_LAST_LINES:]


def _short_folder() -> str | None:
    """Where a socket can be bound: not every TMPDIR is short enough."""
    return None if len(tempfile.gettempdir()) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108 - a folder of its own is made in it
