"""``gamekit simulate`` and ``gamekit serve`` as processes, from start to Ctrl-C."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gamekit.render.live_site import signature

PATIENCE = 60.0  # seconds; how long a loaded machine may take, not how long it does


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gamekit", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
        return str(answer.read().decode())


def eventually(look: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if look():
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.1)
    return False


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_simulate_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """The stand-in says where it listens, answers, and ends on Ctrl-C with 130 and no word."""
    with started(tmp_path, "simulate", "--port", "0", "--steps", "2") as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0].rstrip(":")
        assert '"gamekit' in fetched(f"{address}/model_info")
        assert interrupted(process) == (130, "")


@pytest.mark.parametrize(
    "options",
    [
        ["--steps", "2", "--accept-len", "3.5"],
        ["--steps", "0"],
        ["--cycle-ms", "0"],
        ["--prefill-ms", "-1"],
        ["--port", "70000"],
    ],
)
def test_simulate_refuses_timing_that_cannot_be(
    refused: Callable[..., str], options: list[str]
) -> None:
    """An accept length above steps + 1 and the like are usage errors."""
    assert refused(2, "simulate", *options).count("\n") == 1


def test_a_port_that_is_taken_is_the_machine_refusing(refused: Callable[..., str]) -> None:
    """The port of somebody else is exit 7 with the way out."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert "--port" in refused(7, "simulate", "--port", str(listener.getsockname()[1]))


def test_serve_renders_again_when_a_finding_changes(base: Path) -> None:
    """The site is there, and shows a changed figure without anybody calling render."""
    port = free_port()
    with started(base, "serve", "--port", str(port)) as process:
        page = f"http://127.0.0.1:{port}/findings/rates/"
        assert eventually(lambda: "Rate as it is" in fetched(page)), process.poll()
        path = base / "findings" / "rates.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text("schema: 1\nfindings: [", encoding="utf-8")
        path.write_text(text.replace("Rate as it is", "Rate as Ada told it"), encoding="utf-8")
        assert eventually(lambda: "Rate as Ada told it" in fetched(page)), process.poll()
        assert interrupted(process)[0] == 130


def test_serve_needs_the_site_extra(
    base: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without MkDocs the call cannot work (usage), and the command that installs it is named.

    It is one for this checkout, or for the installed package.
    """
    monkeypatch.setitem(sys.modules, "mkdocs.commands", None)
    root = Path(__file__).resolve().parent.parent.parent
    assert f"pip install -e '{root}[site]'" in refused(2, "serve")
    monkeypatch.setattr("gamekit.bundled.PACKAGE", base / "site-packages" / "gamekit")
    assert "pip install 'gamekit[site]'" in refused(2, "serve")


def test_the_watched_signature_sees_every_source(base: Path) -> None:
    """A new, changed or removed finding, template or benchmark changes the signature."""
    seen = [signature(base)]
    for path in (
        base / "findings" / "new.yaml",
        base / "templates" / "plan.md.j2",
        base / "benchmarks" / "own.py",
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
        seen.append(signature(base))
        path.write_text("longer", encoding="utf-8")
        seen.append(signature(base))
    (base / "findings" / "new.yaml").unlink()
    seen.append(signature(base))
    assert len(set(seen)) == len(seen)
    assert signature(base) == seen[-1]
