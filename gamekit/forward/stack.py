"""A stack of decoder layers with random weights, and its forward: eager, or as a CUDA graph."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from gamekit.errors import BenchmarkFailed
from gamekit.forward.device import Device
from gamekit.forward.layers import DecoderLayer, MixtureOfExperts
from gamekit.forward.shape import Shape
from gamekit.forward.traffic import BYTES_PER_NUMBER, room_bytes

PRECISION = "bfloat16"
# A graph runs the same kernels on the same numbers; a library may sum in another order under one.
_TOLERANCE = 0.02


class Stack:
    """The layers of ``shape`` on ``device``, with weights drawn from ``seed``.

    Raises ``UsageFault`` where the device has no room for them.
    """

    def __init__(self, shape: Shape, device: Device, seed: int) -> None:
        device.check_room(
            shape.weights * BYTES_PER_NUMBER,
            f"{shape.name} with {shape.layers} layers",
            "give fewer layers, such as --set layers=1, or more shards",
        )
        self.shape = shape
        self.device = device
        self.generator = torch.Generator(device.kind).manual_seed(seed)
        with torch.inference_mode():
            self.layers = [DecoderLayer(shape, self.make) for _ in range(shape.layers)]

    def make(self, *sizes: int) -> Any:
        """Random numbers that keep the size of what they are multiplied with."""
        made = torch.empty(sizes, dtype=torch.bfloat16, device=self.device.kind)
        return made.normal_(0.0, float(sizes[-1]) ** -0.5, generator=self.generator)


@dataclass(frozen=True)
class Graph:
    """A captured forward: ``replay`` runs it, ``output`` has what it gave the last time."""

    captured: Any
    output: Any

    def replay(self) -> None:
        """Run the forward once more, on what its input holds now."""
        self.captured.replay()


class Forward:
    """One forward of ``tokens`` new tokens behind ``context`` cached ones.

    Raises ``UsageFault`` where the device has no room for its caches.
    """

    def __init__(self, stack: Stack, tokens: int, context: int) -> None:
        self.stack = stack
        stack.device.check_room(
            room_bytes(stack.shape, tokens, context),
            f"a cache of {context} tokens in {stack.shape.layers} layers",
            "give a smaller --set context= or fewer layers",
        )
        with torch.inference_mode():
            self.input = stack.make(tokens, stack.shape.hidden)
            self._caches = [
                layer.attention.cache(tokens, context, stack.make) for layer in stack.layers
            ]
            self._rooms = [
                layer.network.room(tokens) if isinstance(layer.network, MixtureOfExperts) else None
                for layer in stack.layers
            ]

    def draw(self) -> None:
        """Put new random tokens into the input, which will be routed to other experts."""
        with torch.inference_mode():
            self.input.normal_(generator=self.stack.generator)

    def run(self) -> Any:
        """Run it eagerly: the output [tokens, hidden]."""
        with torch.inference_mode():
            x = self.input
            for layer, cache, room in zip(
                self.stack.layers, self._caches, self._rooms, strict=True
            ):
                x = layer(x, cache, room)
            return x

    def capture(self) -> Graph:
        """Capture it in a CUDA graph, behind some runs that load and choose its kernels."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(aside)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            output = self.run()
        return Graph(captured, output)

    def distinct_experts(self) -> list[int]:
        """How many different experts the last run took, layer by layer; empty without experts."""
        return [int(room[1].unique().numel()) for room in self._rooms if room is not None]


def check_output(output: Any) -> None:
    """Raise ``BenchmarkFailed`` for an output in which a number is infinite or none at all."""
    if not bool(torch.isfinite(output).all()):
        raise BenchmarkFailed(
            "the forward gave numbers that are none (NaN or infinite)",
            mend="compare with another seed; the memory or a kernel may be at fault",
        )


def difference(forward: Forward, graph: Graph) -> float:
    """How far the graph's output is from the eager one, relative to it (root mean square).

    Raises ``BenchmarkFailed`` where that is more than rounding explains.
    """
    forward.draw()
    eager = forward.run().float()
    graph.replay()
    off = (graph.output.float() - eager).norm() / eager.norm()
    away = float(off)
    if not away <= _TOLERANCE:  # nor is NaN
        raise BenchmarkFailed(
            f"the CUDA graph gives another output than the eager forward: {away:.2g} away,"
            f" relative, and {_TOLERANCE} is allowed",
            mend="do not use these times; look for a kernel that cannot be captured",
        )
    return away


class Held:
    """Keeps the one stack that is on the device, and replaces it where another is asked for."""

    def __init__(self, device: Device, bandwidth_gb_s: float) -> None:
        self.device = device
        self.bandwidth_gb_s = bandwidth_gb_s
        self._stack: Stack | None = None
        self._made_of: tuple[Shape, int] | None = None

    def stack(self, shape: Shape, seed: int) -> Stack:
        """The stack of that shape and seed; the one before it has left the device by then."""
        if self._stack is None or self._made_of != (shape, seed):
            self.release()
            self._stack = Stack(shape, self.device, seed)
            self._made_of = (shape, seed)
        return self._stack

    def release(self) -> None:
        """Give the device's memory back."""
        self._stack = None
        free_memory(self.device)


@contextmanager
def held(device: Device, bandwidth_gb_s: float) -> Iterator[Held]:
    """A place for one stack at a time, whose memory is given back at the end."""
    place = Held(device, bandwidth_gb_s)
    try:
        yield place
    finally:
        place.release()


def free_memory(device: Device) -> None:
    """Give back what nothing refers to any more."""
    gc.collect()
    if device.cuda:
        torch.cuda.empty_cache()
