"""What each rank of a group runs: all-reduces on command, timed and verified.

It is run as a file of its own by torchrun, in whatever environment has torch, and imports nothing
but the standard library and torch. The first rank of a host is connected to gamekit by a Unix
socket: one line of JSON a command, one an answer. Rank 0 hands each command to the others through
torchrun's own store and gathers their answers there, so that a rank without work waits without
keeping its GPU busy.

Commands: ``prepare`` (message_bytes, dtype, mode, lead, iterations, warmup, smallest_exponent),
``sample``, ``over``, ``end``.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

# It is run as a file: its folder would come before the standard library.
sys.path[:] = [one for one in sys.path if Path(one or ".").resolve() != Path(__file__).parent]

import torch  # noqa: E402 - only with the path as it should be
import torch.distributed as dist  # noqa: E402 - likewise

_WAITS = timedelta(days=1)
_LOGS = "INIT,ENV,TUNING"


@dataclass
class Prepared:
    """The tensors of one message, and under ``graph`` what was captured of it."""

    job: dict[str, Any]
    own: Any
    sums: Any
    buffer: Any
    graphs: list[Any] = field(default_factory=list)


class NcclLogging:
    """Turns NCCL's own log on and off, so that nothing is written while a time is taken.

    By a function of NCCL for that (2.23 to 2.28 at least); without it the log stays as it began.
    """

    def __init__(self) -> None:
        self._folder = os.environ.get("GAMEKIT_NCCL_LOGS")
        self._reset: Any = None
        if self._folder is not None:
            with suppress(OSError, AttributeError):
                self._reset = ctypes.CDLL(_loaded("libnccl.so")).ncclResetDebugInit
                self._reset.restype = None

    @property
    def switches(self) -> bool:
        """Whether it can be turned off."""
        return self._reset is not None

    def turn(self, on: bool) -> None:
        """Turn it on or off; its file begins anew each time, and that of the start is kept."""
        if self._reset is None:
            return
        os.environ["NCCL_DEBUG"] = "INFO" if on else "WARN"
        os.environ["NCCL_DEBUG_SUBSYS"] = _LOGS
        os.environ["NCCL_DEBUG_FILE"] = f"{self._folder}/{'look' if on else 'quiet'}.%h.%p"
        self._reset()


class Rank:
    """One rank: its communicator and what it has prepared."""

    def __init__(self, backend: str, store: Any) -> None:
        self.rank = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        self.cuda = backend == "nccl"
        local = int(os.environ["LOCAL_RANK"])
        self.device = torch.device("cuda", local) if self.cuda else torch.device("cpu")
        if self.cuda:
            torch.cuda.set_device(self.device)
        dist.init_process_group(
            backend,
            store=dist.PrefixStore("ranks", store),
            rank=self.rank,
            world_size=self.size,
            # With the device the communicator begins now, and not in the first all-reduce.
            device_id=self.device if self.cuda else None,
        )
        self.logging = NcclLogging()
        self._prepared: Prepared | None = None
        first = torch.ones(1024, dtype=torch.bfloat16, device=self.device)
        dist.all_reduce(first)
        self._finish()
        self.logging.turn(on=False)

    def about(self) -> dict[str, Any]:
        """What runs here."""
        return {
            **versions(),
            "device": torch.cuda.get_device_name(self.device) if self.cuda else "CPU",
            "quiet": self.logging.switches,
        }

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked for; every rank does the same at the same time."""
        if command["do"] == "prepare":
            return self._prepare(command)
        return self._sample()

    def end(self) -> None:
        """Free the graphs, then the communicator that they use."""
        self._prepared = None
        self._finish()
        dist.destroy_process_group()

    def _prepare(self, job: dict[str, Any]) -> dict[str, Any]:
        self._prepared = None
        dtype = getattr(torch, job["dtype"])
        length = job["message_bytes"] // dtype.itemsize
        # Every partial sum of a message is a whole number that bfloat16 holds.
        kinds = max(1, min(7, 256 // self.size))
        places = torch.arange(length, device=self.device)
        own = ((places + self.rank) % kinds + 1).to(dtype)
        sums = torch.zeros(length, device=self.device)
        for rank in range(self.size):
            sums += (places + rank) % kinds + 1
        ready = Prepared(job, own, sums.to(dtype), own.clone())
        del places, sums
        # NCCL connects and chooses at the first all-reduce of a size: that is what the log tells.
        self.logging.turn(on=True)
        for _ in range(job["lead"]):
            dist.all_reduce(ready.buffer)
        self._finish()
        if job["mode"] == "graph":
            ready.graphs.append(self._captured(ready.buffer, 1))
        self.logging.turn(on=False)
        if job["mode"] == "graph":
            ready.graphs.append(self._captured(ready.buffer, job["iterations"]))
        ready.buffer.copy_(ready.own)
        self._reduce(ready)
        self._finish()
        wrong = int((ready.buffer != ready.sums).sum().item())
        self._prepared = ready
        for _ in range(job["warmup"]):
            wrong += self._sample()["wrong"]
        return {"wrong": wrong, "log": self.logging.switches}

    def _captured(self, buffer: Any, count: int) -> Any:
        """A graph of so many all-reduces, one after the other."""
        graph = torch.cuda.CUDAGraph()
        # NCCL's watchdog asks for events meanwhile, which must not break this capture.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for _ in range(count):
                dist.all_reduce(buffer)
        return graph

    def _sample(self) -> dict[str, Any]:
        """Time a row of all-reduces, us an all-reduce, and verify what has become of the values."""
        ready = self._prepared
        if ready is None:
            raise RuntimeError("nothing is prepared")
        lead, iterations = ready.job["lead"], ready.job["iterations"]
        # So small that growing with each all-reduce they never overflow.
        ready.buffer.copy_(ready.own * 2.0 ** ready.job["smallest_exponent"])
        # The ranks catch up with each other before the clock starts.
        for _ in range(lead):
            self._reduce(ready)
        if self.cuda:
            began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            began.record()
            self._reduce(ready, iterations)
            ended.record()
            ended.synchronize()
            took_us = began.elapsed_time(ended) * 1e3
        else:
            clock = time.perf_counter()
            self._reduce(ready, iterations)
            took_us = (time.perf_counter() - clock) * 1e6
        wrong = self._wrong(ready, lead + iterations)
        return {"latency_us": took_us / iterations, "wrong": wrong}

    def _reduce(self, ready: Prepared, iterations: int | None = None) -> None:
        """One all-reduce, or a timed row of them, in the mode that was prepared."""
        if ready.graphs:
            ready.graphs[0 if iterations is None else 1].replay()
            return
        for _ in range(1 if iterations is None else iterations):
            dist.all_reduce(ready.buffer)

    def _wrong(self, ready: Prepared, times: int) -> int:
        """How many values are not what ``times`` all-reduces in place make of them.

        The first sums what the ranks have; each one after it multiplies by their number. With a
        power of two that is exact; with another number every step may round.
        """
        factor = float(self.size) ** (times - 1) * 2.0 ** ready.job["smallest_exponent"]
        expected = ready.sums.to(torch.float64) * factor
        if self.size & (self.size - 1) == 0:
            return int((ready.buffer != expected.to(ready.buffer.dtype)).sum().item())
        off = (ready.buffer.to(torch.float64) - expected).abs()
        allowed = times * torch.finfo(ready.buffer.dtype).eps
        return int((~(off <= expected * allowed)).sum().item())

    def _finish(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()


def versions() -> dict[str, Any]:
    """What this interpreter has."""
    found = torch.cuda.nccl.version() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "gpus": torch.cuda.device_count(),
        "nccl": None if found is None else ".".join(map(str, found)),
    }


def _loaded(name: str) -> str:
    """The path of a library that this process has loaded. Raises ``OSError`` where it has not."""
    found = re.search(rf"\S*/{re.escape(name)}\S*", Path("/proc/self/maps").read_text())
    if found is None:
        raise OSError(f"{name} is not loaded")
    return found[0]


class Channel:
    """Carries commands and answers: the socket of a host's first rank, the store between ranks."""

    def __init__(self, path: str | None, store: Any) -> None:
        self._store = store
        self._rank, self._size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._number = 0
        self._file: Any = None
        if path is not None:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            self._file = connection.makefile("rwb")

    def next_command(self) -> dict[str, Any]:
        """What gamekit asks for, the same for every rank."""
        self._number += 1
        key = f"command/{self._number}"
        if self._rank:
            return dict(json.loads(self._store.get(key)))
        line = self._file.readline() if self._file is not None else b""
        # gamekit has closed its end: it wants nothing more.
        line = line or b'{"do": "end"}\n'
        self._store.set(key, line.decode())
        return dict(json.loads(line))

    def answer(self, own: dict[str, Any]) -> None:
        """Tell gamekit what each rank answers to the last command."""
        key = f"answer/{self._number}"
        if self._rank:
            self._store.set(f"{key}/{self._rank}", json.dumps(own))
            return
        others = [f"{key}/{rank}" for rank in range(1, self._size)]
        every = [own, *(json.loads(self._store.get(one)) for one in others)]
        for one in (*others, f"command/{self._number}"):
            self._store.delete_key(one)
        self.tell(ranks=every)

    def tell(self, **event: Any) -> None:
        """Tell the gamekit of this host, where this is the rank that is connected to it."""
        if self._file is not None:
            with suppress(OSError):  # it was killed: its keeper ends this process
                self._file.write(json.dumps(event).encode() + b"\n")
                self._file.flush()


def main() -> None:
    """Serve commands until there are no more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--socket")
    parser.add_argument("--backend", choices=("nccl", "gloo"))
    options = parser.parse_args()
    if options.probe:
        sys.stdout.write(json.dumps(versions()) + "\n")
        return
    store = next(iter(dist.rendezvous("env://")))[0]
    store.set_timeout(_WAITS)
    first_here = os.environ["LOCAL_RANK"] == "0"
    channel = Channel(options.socket if first_here else None, store)
    try:
        rank = Rank(options.backend, store)
        channel.tell(about=rank.about(), size=rank.size, rank=rank.rank)
        while (command := channel.next_command())["do"] != "end":
            if command["do"] == "over":
                if rank.rank:
                    channel.tell(over=True)
                continue
            channel.answer(rank.do(command))
        rank.end()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        channel.tell(error=why, rank=int(os.environ["RANK"]))
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
