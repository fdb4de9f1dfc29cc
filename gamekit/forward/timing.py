"""Times what a device does: by CUDA events on a GPU, by the monotonic clock on a CPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Timed:
    """Mean times of one call, in ms: until the device was done, and until the host had asked."""

    device_ms: float
    host_ms: float


def timed(call: Callable[[], object], calls: int, *, cuda: bool) -> Timed:
    """The mean over ``calls`` calls behind each other, from an idle device until it is idle again.

    On a GPU the first event is recorded before the first call is asked for, so that a device that
    waits for the host is seen to wait.
    """
    if not cuda:
        began = time.perf_counter()
        for _ in range(calls):
            call()
        ms = (time.perf_counter() - began) * 1e3 / calls
        return Timed(ms, ms)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    began = time.perf_counter()
    first.record()
    for _ in range(calls):
        call()
    last.record()
    host_ms = (time.perf_counter() - began) * 1e3 / calls
    torch.cuda.synchronize()
    return Timed(first.elapsed_time(last) / calls, host_ms)
