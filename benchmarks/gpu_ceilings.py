"""What the GPU of this machine can do at best: its memory's rates and its rate of multiplying."""

from collections.abc import Iterator

from gamekit.bench.context import Context
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Sample


def run(context: Context) -> Iterator[Sample]:
    """Copy, read and multiply; each sample has one of each."""
    from gamekit.forward.ceilings import matrix_rates, memory_rates, usual_sizes  # noqa: PLC0415 - torch is optional
    from gamekit.forward.device import find_device  # noqa: PLC0415
    from gamekit.forward.stack import free_memory  # noqa: PLC0415
    from gamekit.forward.traffic import stays_cached  # noqa: PLC0415

    device = find_device(context["device"])
    usual = usual_sizes(device)
    buffer_mib = context["buffer"] or usual.buffer_mib
    matrix = context["matrix"] or usual.matrix
    repeats, calls = context["repeats"], context["calls"]
    if not device.cuda:
        context.warn("measured on the CPU: it says nothing of a GPU")
    context.fact("device", device.name)
    context.fact("cache_bytes", device.cache_bytes)
    context.fact("buffer_mib", buffer_mib)
    context.fact("matrix", f"{matrix} x {matrix}, bfloat16, random")
    if stays_cached(buffer_mib * 2**20, cache := device.cache_bytes or 0):
        context.flaw(
            f"the L2 cache holds {cache / 1e6:.0f} MB, and the buffer has"
            f" {buffer_mib * 2**20 / 1e6:.0f}: part of it stayed in the cache",
            "copy_bandwidth",
            "read_bandwidth",
        )
    context.progress(f"gpu_ceilings: {repeats} repetitions on {device.name}")
    try:
        memory = memory_rates(device, buffer_mib, repeats, calls)
        for rates, product in zip(
            memory, matrix_rates(device, matrix, repeats, calls), strict=True
        ):
            yield {
                "copy_bandwidth": rates.copy_gb_s,
                "read_bandwidth": rates.read_gb_s,
                "matmul_rate": product,
            }
    finally:
        free_memory(device)


BENCHMARK = Benchmark(
    name="gpu_ceilings",
    description="copy and read bandwidth of the GPU's memory, and its rate of a large product",
    needs=Needs.TORCH,
    measures=[
        Measures(
            "copy_bandwidth",
            headline=True,
            convention="bytes read plus bytes written, of a copy within the device's memory",
        ),
        Measures(
            "read_bandwidth",
            headline=True,
            convention="bytes of a float32 buffer that torch.sum reads",
        ),
        Measures(
            "matmul_rate",
            headline=True,
            convention="2·n³ operations over the time of a dense bfloat16 product",
        ),
    ],
    parameters=[
        Parameter("device", str, "cuda", "what is measured", choices=("cuda", "cpu")),
        Parameter(
            "repeats", int, 20, "repetitions, each one sample", low=1, high=1000, effort=True
        ),
        Parameter("calls", int, 5, "calls of one repetition", low=1, high=1000, effort=True),
        Parameter(
            "buffer",
            int,
            None,
            "buffer that is copied and read",
            "MiB",
            low=1,
            high=2**20,
            default_text="4096 on a GPU, 64 on a CPU",
        ),
        Parameter(
            "matrix",
            int,
            None,
            "rows and columns of the matrices",
            low=16,
            high=65_536,
            default_text="8192 on a GPU, 512 on a CPU",
        ),
    ],
    run=run,
)
