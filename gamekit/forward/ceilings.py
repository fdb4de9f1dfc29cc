"""What a device can do at best: copy and read its memory, and multiply large matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import torch

from gamekit.forward.device import Device
from gamekit.forward.stack import free_memory
from gamekit.forward.timing import timed


@dataclass(frozen=True)
class Sizes:
    """How much is moved and multiplied: a buffer in MiB, and the edge of a square matrix."""

    buffer_mib: int
    matrix: int


def usual_sizes(device: Device) -> Sizes:
    """Sizes that no cache of a GPU holds, or that a CPU is done with in a second."""
    return Sizes(4096, 8192) if device.cuda else Sizes(64, 512)


@dataclass(frozen=True)
class Rates:
    """Rates of a device. ``copy_gb_s`` counts what is read and what is written, 10^9 bytes each."""

    copy_gb_s: float
    read_gb_s: float


def memory_rates(device: Device, buffer_mib: int, repeats: int, calls: int) -> Iterator[Rates]:
    """Copy a buffer into another, and sum one up as float32; one sample a repetition.

    Raises ``UsageFault`` where the device has no room for both.
    """
    size = buffer_mib * 2**20
    device.check_room(2 * size, f"copying {buffer_mib} MiB", "give a smaller --set buffer=")
    with torch.inference_mode():
        source = torch.ones(size // 4, dtype=torch.float32, device=device.kind)
        target = torch.empty_like(source)
        total = torch.zeros((), dtype=torch.float32, device=device.kind)

    def copy() -> None:
        with torch.inference_mode():
            target.copy_(source)

    def read() -> None:
        with torch.inference_mode():
            torch.sum(source, dim=0, out=total)

    for call in (copy, read):  # brings the clocks up
        timed(call, 5 * calls if device.cuda else 1, cuda=device.cuda)
    for _ in range(repeats):
        copied = timed(copy, calls, cuda=device.cuda).device_ms
        summed = timed(read, calls, cuda=device.cuda).device_ms
        yield Rates(2 * size / copied / 1e6, size / summed / 1e6)


def bandwidth_for_floor(device: Device) -> float:
    """The larger of the two rates of the memory in GB/s (medians of 5): nothing reads faster.

    Its buffers have left the device when it returns.
    """
    sampled = list(memory_rates(device, usual_sizes(device).buffer_mib, 5, 5))
    free_memory(device)
    return max(median(one.copy_gb_s for one in sampled), median(one.read_gb_s for one in sampled))


def matrix_rates(device: Device, size: int, repeats: int, calls: int) -> Iterator[float]:
    """TFLOP/s of a bfloat16 product of square matrices; one sample a repetition.

    The matrices are random: zeros take less power, and so give a rate that no model reaches. Raises
    ``UsageFault`` where the device has no room for them.
    """
    # Three of bfloat16, and one as float32 while it is drawn.
    device.check_room(
        10 * size**2, f"multiplying matrices of {size} rows", "give a smaller --set matrix="
    )
    with torch.inference_mode():
        one, other = (
            torch.randn((size, size), device=device.kind).to(torch.bfloat16) for _ in range(2)
        )
        out = torch.empty_like(one)

    def multiply() -> None:
        with torch.inference_mode():
            torch.mm(one, other, out=out)

    timed(multiply, 5 * calls if device.cuda else 1, cuda=device.cuda)
    for _ in range(repeats):
        yield 2 * size**3 / timed(multiply, calls, cuda=device.cuda).device_ms / 1e9
