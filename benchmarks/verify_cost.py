"""What one verify forward of 1 to 8 tokens costs: eager or graphed, against the memory's floor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Sample, Value
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.forward.shape import SHAPES, Shape, shape_of
from gamekit.forward.traffic import (
    BYTES_PER_NUMBER,
    Traffic,
    expected_distinct,
    room_bytes,
    stays_cached,
    traffic,
)
from gamekit.forward.verdict import RULE, verdict

_SIZES = ("layers", "hidden", "intermediate", "experts", "experts_per_token")


def run(context: Context) -> Iterator[Sample]:
    """Forwards of one stack; one sample a repetition, each of other tokens."""
    from gamekit.forward.ceilings import bandwidth_for_floor  # noqa: PLC0415 - torch is optional
    from gamekit.forward.device import find_device  # noqa: PLC0415
    from gamekit.forward.stack import Forward, difference, held  # noqa: PLC0415
    from gamekit.forward.timing import timed  # noqa: PLC0415

    eager, warmup = context["mode"] == "eager", context["warmup"]
    context.tell(weights="dummy", cuda_graphs="eager" if eager else "captured")
    shape = _shape(context.parameters)
    device = find_device(context["device"])
    context.progress(f"verify_cost: {shape.layers} layers of {shape.name} on {device.name}")
    if context.number == 0:
        _check_room(device, context.cases)
    place = context.keep("stack", lambda: held(device, bandwidth_for_floor(device)))
    stack = place.stack(shape, context["seed"])
    _tell_setting(context, shape, device, place.bandwidth_gb_s)
    forward = Forward(stack, context["tokens"], context["context"])
    call, output, graph_ms = forward.run, forward.run, None
    if warmup:
        timed(call, warmup, cuda=device.cuda)
    if device.cuda:
        graph = forward.capture()
        try:
            context.fact("graph_differs_by", difference(forward, graph))
        except BenchmarkFailed as error:
            yield {"error": str(error)}
            return
        if warmup:
            timed(graph.replay, warmup, cuda=True)
        graph_ms = timed(graph.replay, 3 * context["calls"], cuda=True).device_ms
        context.fact("graph_ms", graph_ms)
        if not eager:
            call, output = graph.replay, lambda: graph.output
    yield from _samples(context, shape, place, forward, call, output, graph_ms)


def _samples(
    context: Context,
    shape: Shape,
    place: Any,
    forward: Any,
    call: Callable[[], object],
    output: Callable[[], Any],
    graph_ms: float | None,
) -> Iterator[Sample]:
    from gamekit.forward.stack import check_output  # noqa: PLC0415 - torch is optional
    from gamekit.forward.timing import timed  # noqa: PLC0415

    device, tokens = place.device, context["tokens"]
    taken: list[list[int]] = []
    times: list[float] = []
    reads: list[Traffic] = []
    for number in range(context["repeats"]):
        context.progress(f"verify_cost: repetition {number + 1} of {context['repeats']}")
        forward.draw()
        time = timed(call, context["calls"], cuda=device.cuda)
        try:
            check_output(output())
        except BenchmarkFailed as error:
            yield {"error": str(error)}
            continue
        taken.append(forward.distinct_experts())
        times.append(time.device_ms)
        reads.append(traffic(shape, taken[-1], tokens, context["context"]))
        floor_ms = reads[-1].floor_ms(place.bandwidth_gb_s)
        yield {
            "forward_time": time.device_ms,
            "floor_ratio": time.device_ms / floor_ms,
            "host_ms": time.host_ms,
            "floor_ms": floor_ms,
            "bytes_read": reads[-1].total,
        }
    if reads:
        floor = median(one.floor_ms(place.bandwidth_gb_s) for one in reads)
        own = graph_ms if context["mode"] == "eager" else None
        context.fact("verdict", verdict(median(times), floor, own))
        context.fact("verdict_rule", RULE)
        _tell_reads(context, shape, taken, reads, device.cache_bytes or 0)


def check(parameters: Mapping[str, Value]) -> None:
    """Refuse sizes that do not fit together, and a graph of a CPU."""
    _shape(parameters)
    if parameters["device"] == "cpu" and parameters["mode"] == "graph":
        raise UsageFault("a CPU has no CUDA graphs", mend="add --set mode=eager")


def _shape(parameters: Mapping[str, Value]) -> Shape:
    sizes: dict[str, int | None] = {name: parameters[name] for name in _SIZES}  # type: ignore[misc]  # declared as whole numbers
    return shape_of(str(parameters["shape"]), **sizes).sharded(int(parameters["shards"] or 1))


def _check_room(device: Any, cases: Sequence[Mapping[str, Value]]) -> None:
    """Raise ``UsageFault`` where the largest case has no room, before any of them is measured."""
    most, largest = 0, ""
    for case in cases:
        tokens, context = int(case["tokens"] or 1), int(case["context"] or 1)
        shape = _shape(case)
        wanted = shape.weights * BYTES_PER_NUMBER + room_bytes(shape, tokens, context)
        if case["device"] == device.kind and wanted > most:
            most = wanted
            largest = f"{shape.name} with {shape.layers} layers and {context} tokens in its cache"
    device.check_room(most, largest, "give fewer layers, a smaller --set context=, or more shards")


def _tell_setting(context: Context, shape: Shape, device: Any, bandwidth_gb_s: float) -> None:
    """Facts and warnings that are known before the first sample."""
    context.fact("device", device.name)
    context.fact("precision", "bfloat16 (weights, cache and activations)")
    context.fact("layers", f"{shape.layers} of {shape.model_layers}")
    context.fact("weights_bytes", shape.weights * BYTES_PER_NUMBER)
    context.fact("bandwidth_of_floor_gb_s", bandwidth_gb_s)
    if context["shards"] > 1:
        context.fact(
            "shards", f"one rank of {context['shards']}; the ranks' communication is no part of it"
        )
    if shape.experts:
        context.fact("expert_products", "Triton kernel" if device.cuda else "loop of the host")
    if not device.cuda:
        context.warn("measured on the CPU: it says nothing of a GPU")


def _tell_reads(
    context: Context,
    shape: Shape,
    taken: list[list[int]],
    reads: list[Traffic],
    cache_bytes: int,
) -> None:
    """Facts of the whole case: what its forwards read, and which experts their tokens took."""
    context.fact(
        "bytes_read_mean",
        {
            "dense": fmean(one.dense for one in reads),
            "experts": fmean(one.experts for one in reads),
            "cache": fmean(one.cache for one in reads),
        },
    )
    distinct = [count for sample in taken for count in sample]
    if distinct:
        even = expected_distinct(shape.experts, shape.experts_per_token, context["tokens"])
        context.fact(
            "distinct_experts_a_layer",
            {
                "min": min(distinct),
                "mean": fmean(distinct),
                "max": max(distinct),
                "expected_if_even": even,
            },
        )
    least = min(one.total for one in reads)
    if stays_cached(least, cache_bytes):
        context.flaw(
            f"a forward reads {least / 1e6:.0f} MB and the L2 cache holds"
            f" {cache_bytes / 1e6:.0f} MB: part of the weights stayed in it"
        )


BENCHMARK = Benchmark(
    name="verify_cost",
    description="forward of a few tokens through layers of a declared shape, no checkpoint needed",
    needs=Needs.TORCH,
    measures=[
        Measures(
            "forward_time",
            headline=True,
            convention="mean of calls behind each other, by CUDA events; layers only, no embedding,"
            " head, sampling or communication",
        ),
        Measures(
            "floor_ratio",
            convention="time over bytes that must be read / measured bandwidth of the memory",
        ),
    ],
    parameters=[
        Parameter("shape", str, ("llama-8b",), "layers that are stacked", choices=tuple(SHAPES)),
        Parameter(
            "tokens",
            int,
            tuple(range(1, 9)),
            "new tokens of one forward",
            low=1,
            high=16,
        ),
        Parameter(
            "mode",
            str,
            ("eager", "graph"),
            "launched kernel by kernel, or replayed as a CUDA graph",
            choices=("eager", "graph"),
            tells="cuda_graphs",
        ),
        Parameter("device", str, "cuda", "what is measured", choices=("cuda", "cpu")),
        Parameter(
            "layers",
            int,
            None,
            "layers of the stack",
            low=1,
            high=200,
            default_text="as many as the shape says",
        ),
        Parameter("context", int, 1024, "tokens in the cache", "tokens", low=1, high=131_072),
        Parameter("shards", int, 1, "ranks of which one is measured", low=1, high=64),
        *(
            Parameter(name, int, None, words, low=1, high=high, default_text="as the shape says")
            for name, words, high in (
                ("hidden", "size of the residual stream", 65_536),
                (
                    "intermediate",
                    "size within the dense network or an expert",
                    2**18,
                ),
                ("experts", "routed experts of a layer", 4096),
                ("experts_per_token", "routed experts that a token takes", 64),
            )
        ),
        Parameter("seed", int, 0, "seed of weights and tokens", low=0, high=2**31, effort=True),
        Parameter(
            "repeats", int, 20, "repetitions, each one sample", low=1, high=1000, effort=True
        ),
        Parameter("calls", int, 10, "forwards of one repetition", low=1, high=1000, effort=True),
        Parameter(
            "warmup", int, 10, "forwards before the first sample", low=0, high=1000, effort=True
        ),
    ],
    run=run,
    check=check,
)
