"""The life of a launched engine: whatever it is and whatever ends it, nothing of it is left."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gamekit.errors import BenchmarkFailed
from gamekit.launch.command import choose_ports, parse_command
from gamekit.launch.process import LaunchedEngine, wait_until_healthy

SLEEPS = "import time; time.sleep(600)"
SERVES = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        ready = self.path in READY
        self.send_response(200 if ready else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
"""


def engine(text: str, *, grace_s: float = 5.0, before: str = "") -> LaunchedEngine:
    """An engine that runs ``text`` as Python; its arguments end in its port."""
    command = parse_command(f"{before} {shlex.join([sys.executable, '-u', '-c', text])}")
    return LaunchedEngine(command.filled({}, choose_ports([command])[0]), grace_s=grace_s)


def below(pid: int) -> list[int]:
    """The process ids below ``pid``."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(process.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def said(started: LaunchedEngine, text: str) -> Callable[[], bool]:
    return lambda: text in started.log.excerpt(str)


def test_an_engine_is_awaited_and_ended() -> None:
    """It is healthy when /health says so; after the block it is gone, and its log still there."""
    text = f"print('begins')\nREADY = ('/health',)\n{SERVES}"
    with engine(text) as started:
        started.start()
        assert wait_until_healthy([started], 60) == {}
        assert started.start_up_s is not None
        assert not started.ended()
        pid = started.process_id
    assert pid is not None
    assert is_gone(pid)
    assert started.left == []
    assert "begins" in started.log.excerpt(str)


def test_an_engine_without_a_health_route_is_asked_for_its_models() -> None:
    """A server that knows no /health is ready when it answers /v1/models."""
    with engine(f"READY = ('/v1/models',)\n{SERVES}") as started:
        started.start()
        assert wait_until_healthy([started], 60) == {}


def test_engines_are_awaited_side_by_side() -> None:
    """One that dies and one that is never ready are told apart, and the third is ready."""
    good = engine(f"READY = ('/health',)\n{SERVES}")
    dies = engine("raise SystemExit(7)")
    slow = engine(SLEEPS)
    with good, dies, slow:
        for one in (good, dies, slow):
            one.start()
        told: list[str] = []
        wait_for(good.healthy)
        failed = wait_until_healthy([good, dies, slow], good.elapsed_s + 0.5, told.append)
    assert failed.keys() == {dies, slow}
    assert failed[dies] == "the engine ended before it was ready (exit code 7)"
    assert "was not ready after" in failed[slow]
    assert told
    assert told[0].startswith("starting for ")


def test_an_engine_that_ignores_sigterm_is_killed() -> None:
    """Behind its grace it gets SIGKILL."""
    text = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf'); {SLEEPS}"
    with engine(text, grace_s=0.2) as started:
        started.start()
        wait_for(said(started, "deaf"))
        pid = started.process_id
    assert started.exit_code == -signal.SIGKILL
    assert pid is not None
    assert is_gone(pid)


def test_an_engine_may_end_by_itself_on_sigterm() -> None:
    """It is given its grace to put away what it has; how it ended is known."""
    text = (
        "import signal, sys, time\n"
        "def bye(*_):\n    print('put away')\n    sys.exit(4)\n"
        "signal.signal(signal.SIGTERM, bye)\nprint('ready')\ntime.sleep(600)"
    )
    with engine(text) as started:
        started.start()
        wait_for(said(started, "ready"))
    assert started.exit_code == 4
    assert "put away" in started.log.excerpt(str)


GRANDCHILDREN = f"""
import subprocess, sys
child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]," \\
    " start_new_session=True); print('left', flush=True)"
subprocess.run([sys.executable, "-c", child], start_new_session=True)
{SLEEPS}
"""


def test_grandchildren_end_with_the_engine_also_in_sessions_of_their_own() -> None:
    """A process whose parents are gone, in a session of its own, is found and ended."""
    with engine(GRANDCHILDREN) as started:
        started.start()
        wait_for(said(started, "left"))
        wait_for(lambda: len(below(os.getpid())) == 3)  # the keeper, the engine, the orphan
        descendants = below(os.getpid())
    assert all(is_gone(pid) for pid in descendants)


def test_what_a_dead_engine_leaves_behind_is_ended_at_once() -> None:
    """When the engine ends by itself its descendants do not outlive it."""
    with engine(
        f"{GRANDCHILDREN.replace(SLEEPS + chr(10), chr(10))}raise SystemExit(2)"
    ) as started:
        started.start()
        wait_for(started.ended)
        wait_for(lambda: len(below(os.getpid())) == 1)  # the keeper, which waits to be heard
    assert below(os.getpid()) == []
    assert started.exit_code == 2


def test_others_are_left_alone() -> None:
    """A process that is none of the engine's lives on."""
    with subprocess.Popen([sys.executable, "-c", SLEEPS]) as other:
        with engine(SLEEPS) as started:
            started.start()
        assert other.poll() is None
        other.kill()


def test_a_flood_of_output_fills_no_pipe() -> None:
    """An engine that writes more than any pipe holds goes on; the end of its log is kept."""
    text = f"print('x' * 99 + chr(10), end='') or [print('y' * 99) for _ in range(50000)]\n{SLEEPS}"
    with engine(f"{text.replace(SLEEPS, 'print(1234567)')}\n{SLEEPS}") as started:
        started.start()
        wait_for(said(started, "1234567"))
        excerpt = started.log.excerpt(str)
    assert excerpt[0] == "x" * 99
    assert any("lines left out" in line for line in excerpt)
    assert len(excerpt) < 300


def test_a_program_that_cannot_be_run_is_refused() -> None:
    """The reason of the system is told."""
    command = parse_command("/nowhere/serve")
    ready = command.filled({}, choose_ports([command])[0])
    refused = "/nowhere/serve cannot be started: No such file"
    with LaunchedEngine(ready) as started, pytest.raises(BenchmarkFailed, match=refused):
        started.start()


def test_a_port_taken_since_is_refused() -> None:
    """What listens there would be measured in place of the engine."""
    with engine(f"READY = ('/health',)\n{SERVES}") as first:
        first.start()
        wait_until_healthy([first], 60)
        taken = pytest.raises(BenchmarkFailed, match="something listens on port")
        with LaunchedEngine(first.command) as second, taken:
            second.start()


def test_the_environment_is_that_of_the_engines_processes() -> None:
    """Variables of the command and those that the engine sets for its own processes are seen."""
    text = (
        "import os, subprocess, sys\nos.environ['INNER'] = 'set later'\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPS!r}])\nprint('both')\n{SLEEPS}"
    )
    with engine(text, before="OUTER='two words'") as started:
        started.start()
        wait_for(lambda: started.variables().get("INNER") == "set later")
        assert started.variables()["OUTER"] == "two words"


def test_an_engine_does_not_outlive_a_keeper_that_was_killed() -> None:
    """Even without its keeper the engine itself is ended."""
    with engine(f"print('up')\n{SLEEPS}") as started:
        started.start()
        wait_for(said(started, "up"))
        (keeper,) = [pid for pid in below(os.getpid()) if pid != started.process_id]
        os.kill(keeper, signal.SIGKILL)
        pid = started.process_id
        assert pid is not None
        wait_for(lambda: is_gone(pid))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_keeper_does_not_part_it_from_its_engine(number: signal.Signals) -> None:
    """A signal to a whole terminal or a stray one leaves the keeper at its post."""
    with engine(f"print('up')\n{SLEEPS}") as started:
        started.start()
        wait_for(said(started, "up"))
        (keeper,) = [pid for pid in below(os.getpid()) if pid != started.process_id]
        os.kill(keeper, number)
        assert not started.ended(0.2)
        pid = started.process_id
    assert pid is not None
    assert is_gone(pid)
    assert started.left == []
