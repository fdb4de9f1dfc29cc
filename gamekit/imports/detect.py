"""Chooses the format of a file, or says which were tried and why each does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from gamekit.errors import UsageFault
from gamekit.imports import (
    aiperf,
    guidellm,
    nccl_json,
    nccl_text,
    sglang_batch,
    sglang_log,
    sglang_serving,
    specforge,
    vllm_serve,
)
from gamekit.imports.clean import cleaned
from gamekit.imports.figures import Taken
from gamekit.imports.given import Given


class Format(Protocol):
    """A module that reads one format."""

    def recognises(self, given: Given) -> str | None:
        """Why the file is not of this format, or None."""

    def parse(self, given: Given) -> Taken:
        """What is taken out of a file of this format."""
        ...


# What an id may end with; before it stand the tool and a digest.
_KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")

# By the name under which a refusal lists them. No file fits two: tests try each on all.
FORMATS: Mapping[str, Format] = {
    "sglang log": sglang_log,
    "sglang bench_serving": sglang_serving,
    "sglang bench_one_batch_server": sglang_batch,
    "vllm bench serve": vllm_serve,
    "guidellm": guidellm,
    "aiperf": aiperf,
    "nccl-tests JSON": nccl_json,
    "nccl-tests text": nccl_text,
    "SpecForge": specforge,
}


def taken(given: Given) -> Taken:
    """What the format that fits takes out of the file, its texts redacted.

    Raises ``UsageFault`` where none fits, where what fits is damaged, and where it gives no figure.
    """
    reasons = []
    for name, module in FORMATS.items():
        why = module.recognises(given)
        if why is None:
            found = module.parse(given)
            if not found.figures:
                raise given.fault(1, f"{name}: it gives no figure", "import a run that measured")
            _have_keys(found, given)
            return cleaned(found, given.redactor)
        reasons.append(f"{name}: {why}")
    if given.broken is not None:
        line, why = given.broken
        raise given.fault(
            line,
            f"its JSON breaks off there ({why})",
            "the file was cut or changed: import it as its tool wrote it",
        )
    raise UsageFault(
        f"no format fits ({'; '.join(reasons)})",
        file=given.path,
        line=1,
        mend="import the file as its tool wrote it",
    )


def _have_keys(found: Taken, given: Given) -> None:
    """Raise ``UsageFault`` where a text of the file would make an id that none can be."""
    for figure in found.figures:
        if not _KEY.fullmatch(figure.key):
            raise given.fault(
                figure.line,
                f"{figure.metric} has a name that no id can hold: {given.shown(figure.key)}",
                "import the file as its tool wrote it",
            )
