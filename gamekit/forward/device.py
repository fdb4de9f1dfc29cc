"""The device that layers are measured on, what it has room for, and what it is called."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from gamekit.errors import NotApplicable, UsageFault

# For the buffers of kernels and libraries, beside what is asked for.
_SPARE_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Device:
    """A GPU or the CPU. ``cache_bytes`` is the GPU's L2 cache; None where it is not known."""

    name: str
    cuda: bool
    cache_bytes: int | None

    @property
    def kind(self) -> str:
        """What torch calls it."""
        return "cuda" if self.cuda else "cpu"

    def check_room(self, wanted_bytes: int, what: str, mend: str) -> None:
        """Raise ``UsageFault`` where ``wanted_bytes`` (and a spare) are not free on the device."""
        if self.cuda:
            # What torch keeps of memory that was given back to it counts as free.
            kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            free = int(torch.cuda.mem_get_info()[0]) + kept
        else:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if wanted_bytes + _SPARE_BYTES > free:
            raise UsageFault(
                f"{what} takes {wanted_bytes / 1e9:.1f} GB (and {_SPARE_BYTES / 1e9:.1f} GB to work"
                f" in), and {free / 1e9:.1f} GB of the {self.kind} are free",
                mend=mend,
            )


def find_device(kind: str) -> Device:
    """The device of that kind, ``cuda`` or ``cpu``.

    Raises ``NotApplicable`` where torch finds no GPU.
    """
    if kind == "cpu":
        return Device(f"CPU, {torch.get_num_threads()} threads", cuda=False, cache_bytes=None)
    if not torch.cuda.is_available():
        raise NotApplicable(
            f"torch {torch.__version__} finds no GPU here",
            mend="--set device=cpu measures the CPU, labelled as that",
        )
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Device(str(found.name), cuda=True, cache_bytes=getattr(found, "L2_cache_size", None))
