"""Finds what comes with the package beside its code: templates, benchmarks and the starter.

A wheel carries the repository's top-level ``templates/`` and ``benchmarks/`` and the site's
``docs/assets/`` inside the package, as ``gamekit/_bundled/``; in a checkout (an editable install)
they lie beside the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).resolve().parent

Bundle = Literal["templates", "benchmarks", "assets"]
_IN_CHECKOUT = {"assets": "docs/assets"}


def bundled(name: Bundle) -> Path:
    """The packaged folder ``name``: the wheel's, or in a checkout the repository's."""
    packed = PACKAGE / "_bundled" / name
    return packed if packed.is_dir() else PACKAGE.parent / _IN_CHECKOUT.get(name, name)


def layers(root: Path, name: Bundle) -> tuple[Path, ...]:
    """The folders that hold ``name`` for the knowledge base at ``root``, the overriding one first.

    A file of the knowledge base's own folder takes the place of the packaged one of that name, and
    everything else comes from the package; in gamekit's own repository the two are one folder.
    """
    own, packed = (root / name).resolve(), bundled(name)
    if own == packed:
        return (packed,)
    return (own, packed) if own.is_dir() else (packed,)


def checkout() -> Path | None:
    """The repository that the package runs from; None where it is an installed wheel."""
    return PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else None


def starter() -> Path:
    """The folder that holds what ``gamekit init`` writes."""
    return PACKAGE / "_starter"
