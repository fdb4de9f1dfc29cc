"""Serves the site and renders the documents again whenever what they are made from changes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from gamekit.bundled import checkout, layers
from gamekit.errors import GamekitError, KnowledgeError, UsageFault
from gamekit.render.documents import render
from gamekit.store.root import CONFIG_FILE, FINDINGS_FOLDER

SITE_CONFIG = "mkdocs.yml"
_POLL_SECONDS = 0.5

Signature = frozenset[tuple[str, int, int]]


def serve(root: Path, port: int, tell: Callable[[str], None]) -> None:
    """Render, then serve the site at ``127.0.0.1:port`` until interrupted.

    A change of findings or templates renders again, which MkDocs notices and shows. What goes wrong
    then is told, and serving goes on with the documents as they were. Raises ``UsageFault``
    without MkDocs, what ``render`` raises for the first rendering, and ``KnowledgeError`` where
    MkDocs refuses the site.
    """
    # mkdocs-material announces a successor of MkDocs on every start.
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    try:
        from mkdocs.commands import serve as mkdocs_serve  # noqa: PLC0415 - the [site] extra
        from mkdocs.exceptions import MkDocsException  # noqa: PLC0415
    except ImportError:
        raise UsageFault(
            "MkDocs is not installed, and it serves the site",
            mend=f"install it with: {_how_to_install()}",
        ) from None
    if not (root / SITE_CONFIG).is_file():
        raise KnowledgeError(
            "is missing, and it describes the site",
            file=SITE_CONFIG,
            mend="copy that of a new knowledge base (gamekit init DIR)",
        )
    before = signature(root)
    _render(root, tell)
    stopped = threading.Event()
    watcher = threading.Thread(target=_watch, args=(root, before, tell, stopped), daemon=True)
    watcher.start()
    tell(f"http://127.0.0.1:{port}/ (stop it with Ctrl-C)")
    try:
        mkdocs_serve.serve(str(root / SITE_CONFIG), dev_addr=f"127.0.0.1:{port}")
    except MkDocsException as error:
        raise KnowledgeError(f"MkDocs: {error}", file=SITE_CONFIG) from error
    finally:
        stopped.set()
        watcher.join()
    raise KeyboardInterrupt  # which MkDocs took for the way to end; here it is one like any other


def _how_to_install() -> str:
    """The command that installs the [site] extra for the gamekit that runs."""
    source = checkout()
    return "pip install 'gamekit[site]'" if source is None else f"pip install -e '{source}[site]'"


def signature(root: Path) -> Signature:
    """Path, time and size of every file the documents are made from; equal while none changed."""
    return frozenset(
        (str(path), status.st_mtime_ns, status.st_size) for path, status in _sources(root)
    )


def _sources(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    folders = (root / FINDINGS_FOLDER, *layers(root, "templates"), *layers(root, "benchmarks"))
    files = [
        path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts
    ]
    for path in (root / CONFIG_FILE, *files):
        try:
            yield path, path.stat()
        except OSError:
            continue  # it went away between listing and looking: that is a change as well


def _watch(
    root: Path, seen: Signature, tell: Callable[[str], None], stopped: threading.Event
) -> None:
    while not stopped.wait(_POLL_SECONDS):
        now = signature(root)
        if now != seen:
            seen = now
            try:
                _render(root, tell)
            except GamekitError as error:
                tell(str(error))


def _render(root: Path, tell: Callable[[str], None]) -> None:
    report = render(root)
    for path in report.written:
        tell(f"wrote {path}")
    for path in report.removed:
        tell(f"removed {path}")
    for difference in report.kept:
        tell(f"kept {difference.path}, which was edited by hand")
