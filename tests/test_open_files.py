"""More connections than the process may have open files: the limit is raised, or it is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# In a process of its own: what was raised cannot be lowered for the other tests.
ASKING = """
import resource, socket, sys
from gamekit import event_loop
from gamekit.errors import GamekitError
from gamekit.streaming.client import StreamClient

soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def main(_):
    with socket.create_server(("127.0.0.1", 0), backlog=500) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with StreamClient(url) as client:
            await client.open(200)
            print("opened", len(client._idle))


try:
    event_loop.run(main)
except GamekitError as error:
    print(type(error).__name__, error)
"""


def asked(soft: int, hard: int) -> str:
    command = [sys.executable, "-c", ASKING, str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path.cwd())
    return done.stdout


def test_the_soft_limit_is_raised_when_it_is_reached() -> None:
    """200 connections are opened by a process that began with 64 files."""
    assert asked(64, 400) == "opened 200\n"


def test_where_the_hard_limit_is_reached_the_server_is_not_blamed() -> None:
    """What is said is the limit of this process, and how to raise it."""
    said = asked(64, 100)
    assert said.startswith("MachineRefused this process may have no more than 100 open files")
    assert "ulimit -n" in said


def test_the_stand_in_engine_accepts_more_than_it_began_with_files_for() -> None:
    """An engine out of files would leave its clients waiting: it raises its own limit."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 400))\n"
        "from gamekit.load.sending import closed_loop\n"
        "from gamekit.stand_in.config import SimulatorConfig\n"
        "from gamekit.stand_in.process import StandInEngine\n"
        "from gamekit.streaming.requests import generate_request\n"
        "with StandInEngine(SimulatorConfig(50, 5)) as engine:\n"
        "    ask = generate_request('x', 3)\n"
        "    load = closed_loop(engine.url, lambda _: ask, 150, requests=150)\n"
        "print(sum(one.failed for one in load.requests))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
