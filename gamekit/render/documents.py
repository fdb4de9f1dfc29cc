"""Writes the rendered documents, and tells stale, hand-edited and orphaned ones apart."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gamekit.errors import MachineRefused
from gamekit.knowledge import build
from gamekit.render.changes import Change, changes
from gamekit.render.document import AnyDocument, FigureDocument
from gamekit.render.pages import GENERATED_FOLDERS, LLMS_FILE, rendered_documents
from gamekit.render.stamp import is_merge_conflict, is_rendered, is_untouched
from gamekit.store.load import load

REPLACED_FOLDER = ".gamekit/replaced"

State = Literal["stale", "missing", "edited", "orphaned"]


@dataclass(frozen=True)
class Difference:
    """A document that is not what the findings say; ``diff`` leads from the file to the render."""

    path: str
    state: State
    diff: str


@dataclass(frozen=True)
class RenderReport:
    """What ``render`` did. ``kept`` are documents edited by hand, which it did not touch.

    ``changes`` are the conclusions that moved since the documents were rendered last.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[Difference] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def check(root: Path) -> list[Difference]:
    """What ``render`` would change, in the order of the documents. Writes nothing.

    Generated pages that git ignores are judged only where they exist.
    """
    documents, _ = rendered_documents(load(root))
    return [
        difference
        for difference in _differences(root, documents)
        if difference.state != "missing" or _is_committed(documents, difference.path)
    ]


def render(root: Path, *, force: bool = False) -> RenderReport:
    """Render every document and write those that changed.

    A document edited by hand is kept as it is and reported, unless ``force``: then it is replaced,
    and the edited text is put aside under ``.gamekit/replaced``. So is a text that a merge left
    with conflict markers, which rendering settles. Raises what ``load`` raises, ``TemplateFault``,
    and ``MachineRefused`` when a file cannot be written.
    """
    base = load(root)
    documents, warnings = rendered_documents(base)
    rendered = {document.path: document for document in documents}
    report = RenderReport(
        warnings=warnings,
        changes=changes(build(base), _read(root / LLMS_FILE) or "", rendered[LLMS_FILE].text),
    )
    differences = {difference.path: difference for difference in _differences(root, documents)}
    report.unchanged.extend(path for path in rendered if path not in differences)
    for path, difference in differences.items():
        if difference.state == "edited":
            conflict = is_merge_conflict(_read(root / path) or "")
            if not (force or conflict):
                report.kept.append(difference)
                continue
            _put_aside(root, path)
        if path not in rendered:
            if "/" not in path:  # what lies at the root may be somebody's only copy
                _put_aside(root, path)
            (root / path).unlink()
            report.removed.append(path)
        else:
            _write(root / path, rendered[path].text)
            report.written.append(path)
    return report


def _differences(root: Path, documents: Sequence[AnyDocument]) -> list[Difference]:
    differences: list[Difference] = []
    for document in documents:
        present = _read(root / document.path)
        if present is not None and document.is_as(present):
            continue
        state: State = "stale"
        if present is None:
            state = "missing"
        elif not is_untouched(document.path, present):
            state = "edited"
        diff = _diff(document, present or "")
        differences.append(Difference(document.path, state, diff))
    known = {document.path for document in documents}
    for path in _stamped_files(root):
        if path not in known:
            text = _read(root / path) or ""
            state = "orphaned" if is_untouched(path, text) else "edited"
            differences.append(Difference(path, state, _lines_between(path, text, "")))
    return differences


def _is_committed(documents: Sequence[AnyDocument], path: str) -> bool:
    return any(document.path == path and document.committed for document in documents)


def _stamped_files(root: Path) -> list[str]:
    """Files that gamekit rendered at some time: at the root, and in folders it generates."""
    candidates = [*root.glob("*.md"), *root.glob("*.txt")]
    for folder in GENERATED_FOLDERS:
        candidates += (root / folder).rglob("*.md")
        candidates += (root / folder).rglob("*.svg")
    paths = sorted(path.relative_to(root).as_posix() for path in candidates if path.is_file())
    return [path for path in paths if is_rendered(path, _read(root / path) or "")]


def _diff(document: AnyDocument, before: str) -> str:
    if isinstance(document, FigureDocument):
        # The paths of its letters tell a reader nothing.
        return f"{document.path} is a figure, and would be drawn again from other numbers"
    return _lines_between(document.path, before, document.text)


def _lines_between(path: str, before: str, after: str) -> str:
    if path.endswith(".svg"):
        return f"{path} is a figure that nothing draws any more"
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{path} (file)", f"{path} (rendered)", lineterm=""
    )
    return "\n".join(lines)


def _read(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MachineRefused(f"cannot be read: {error.strerror}", file=path) from None
    # A checkout may give every line the ending of its system; that is no edit.
    return text.replace("\r\n", "\n")


def _put_aside(root: Path, path: str) -> None:
    number = 1
    while (copy := root / REPLACED_FOLDER / f"{path}.{number}").exists():
        number += 1
    text = _read(root / path)
    if text is not None:
        _write(copy, text)


def _write(path: Path, text: str) -> None:
    """Put ``text`` in place whole: a reader sees the old document or the new one.

    A link keeps leading where it led, and a file keeps its permissions.
    """
    path = path.resolve() if path.is_symlink() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", errors="surrogateescape"))
            Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise MachineRefused(
            f"cannot be written: {error.strerror}",
            file=path,
            mend="make room or give permission, then render again",
        ) from None
