"""Begins a knowledge base: writes the starter's files into a folder, never over another file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gamekit.bundled import bundled, starter
from gamekit.errors import UsageFault
from gamekit.store.append import put_new_file
from gamekit.store.root import CONFIG_FILE

# A file whose name begins with a dot would act on the folder of the package itself.
_DOTTED = {"gitignore": ".gitignore", "gitattributes": ".gitattributes"}
_TODAY = "@today@"  # the one thing the starter's findings cannot know: the day they are made


@dataclass(frozen=True)
class Begun:
    """What ``begin`` did: files written, and files it found and left; relative to the folder."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def begin(folder: Path) -> Begun:
    """Begin a knowledge base in ``folder``.

    ``gamekit.yaml`` is written last, so that one that was interrupted can be begun again. Raises
    ``UsageFault`` when the folder is one already, or is no folder, and ``OSError`` or
    ``MachineRefused`` when the machine refuses: each file is there whole or not at all.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageFault("is no folder", file=folder, mend="name a folder, or one to be made")
    if (folder / CONFIG_FILE).exists():
        raise UsageFault(
            "a knowledge base is here already", file=folder / CONFIG_FILE, mend="choose another DIR"
        )
    contents = _contents()
    contents[CONFIG_FILE] = contents.pop(CONFIG_FILE)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    kept: list[str] = []
    for name, text in contents.items():
        try:
            put_new_file(folder, name, text)
        except FileExistsError:
            kept.append(name)
        else:
            written.append(name)
    return Begun(tuple(written), tuple(kept))


def _contents() -> dict[str, str]:
    """Every file of a new knowledge base by its path, in the order of paths."""
    source = starter()
    today = datetime.now(UTC).date().isoformat()
    files = {}
    for path in sorted(source.rglob("*")):
        if path.is_file():
            name = path.relative_to(source)
            name = name.with_name(_DOTTED.get(name.name, name.name))
            files[name.as_posix()] = path.read_text(encoding="utf-8").replace(_TODAY, today)
    for path in sorted(bundled("assets").iterdir()):
        files[f"docs/assets/{path.name}"] = path.read_text(encoding="utf-8")
    return files
