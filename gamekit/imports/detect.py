"""Chooses the format of a file, or says which were tried and why each does not fit."""

from __future__ import annotations

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
from gamekit.imports.figures import Taken
from gamekit.imports.given import Given


class Format(Protocol):
    """A module that reads one format."""

    def recognises(self, given: Given) -> str | None:
        """Why the file is not of this format, or None."""

    def parse(self, given: Given) -> Taken:
        """What is taken out of a file of this format."""
        ...


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
    """What the format that fits takes out of the file.

    Raises ``UsageFault`` where none fits, where what fits is damaged, and where it gives no figure.
    """
    reasons = []
    for name, module in FORMATS.items():
        why = module.recognises(given)
        if why is None:
            found = module.parse(given)
            if not found.figures:
                raise given.fault(1, f"{name}: it gives no figure", "import a run that measured")
            return found
        reasons.append(f"{name}: {why}")
    raise UsageFault(
        f"no format fits ({'; '.join(reasons)})",
        file=given.path,
        line=1,
        mend="import the file as its tool wrote it",
    )
