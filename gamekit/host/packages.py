"""Versions of what engines are made of, from the metadata of distributions: nothing is imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from gamekit.host.files import read
from gamekit.host.processes import mapped_files

NCCL_PACKAGES = ("nvidia-nccl-cu12", "nvidia-nccl-cu13")
_PACKAGES = (
    "torch",
    "triton",
    "sglang",
    "sgl-kernel",
    "sglang-kernel",
    "flashinfer-python",
    "flashinfer",
    "transformers",
    "vllm",
    *NCCL_PACKAGES,
)
_FOLDER = re.compile(r"^(/.*?/(?:site|dist)-packages)/")
_CUDA = re.compile(r"^cuda\b[^=\n]*=\s*['\"]([0-9.]+)['\"]", re.MULTILINE)


def versions(folders: Iterable[Path] | None = None) -> tuple[dict[str, str], str | None]:
    """The versions of what is installed, and that of the CUDA which torch was built for.

    Of this interpreter, or of the ``folders`` of another one. A wheel of torch from the package
    index has no CUDA in its version; the file that tells it is read.
    """
    found: dict[str, str] = {}
    cuda = None
    searched = sys.path if folders is None else [str(folder) for folder in folders]
    for name in _PACKAGES:
        distribution = next(iter(metadata.distributions(name=name, path=searched)), None)
        if distribution is None:
            continue
        found[name] = distribution.version
        if name == "torch":
            told = _CUDA.search(read(str(distribution.locate_file("torch/version.py"))) or "")
            cuda = told[1] if told else None
    return found, cuda


def folders_of(pid: int) -> list[Path]:
    """The folders of packages from which ``pid``, or one below it, has loaded something."""
    found: dict[str, Path] = {}
    for name, place in mapped_files(pid).items():
        folder = _FOLDER.match(name)
        if folder is not None:
            # The place is below the root that the process sees.
            root = str(place).removesuffix(name)
            found.setdefault(folder[1], Path(f"{root}{folder[1]}"))
    return list(found.values())
