"""Reads the JSON that nccl-tests writes with -J."""

from __future__ import annotations

from gamekit.imports.figures import Taken
from gamekit.imports.given import Fields, Given
from gamekit.imports.nccl_rows import NAME, Row, Test, figures, version

# Of as many digits as what nccl-tests prints has.
_LARGEST_VERSION = 999_999
_PLACES = (("out_of_place", "out of place"), ("in_place", "in place"))
# Its env is all of the environment; these are what NCCL reads.
_RECORDED = ("NCCL_", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "CUDA_DEVICE_MAX_CONNECTIONS=")


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if given.whole is None:
        return "it is no JSON object"
    for name in ("nccl_version", "results"):
        if name not in given.whole.data:
            return f"it has no {name}"
    return None


def parse(given: Given) -> Taken:
    """The figures of every size. Raises ``UsageFault``."""
    if given.whole is None:
        raise given.fault(1, "it is no JSON object", "import the file as its tool wrote it")
    whole = given.whole
    test = _test(whole)
    for number, result in enumerate(whole.each("results")):
        size = result.count("size")
        if size is None:
            raise result.missing("size")
        for name, placement in _PLACES:
            inner = result.inner(name)
            if inner.data:
                test.rows.append(_row(inner, size, result.text("type") or "", placement, number))
    left_out: list[str] = []
    found = tuple(figures(given, test, left_out))
    aside = {
        name: value
        for name, value in whole.data.items()
        if name not in ("env", "results", "args", "nccl_version")
    }
    aside["args"] = (
        " ".join(map(str, args)) if isinstance(args := whole.data.get("args"), list) else ""
    )
    environment: dict[str, object] = {"gpus": test.gpus} if test.gpus else {}
    if test.nccl:
        environment["nccl"] = test.nccl
    if variables := _variables(whole):
        environment["variables"] = variables
    return Taken(NAME, found, environment=environment, aside=aside, left_out=tuple(left_out))


def _test(whole: Fields) -> Test:
    args = whole.data.get("args")
    program = args[0] if isinstance(args, list) and args and isinstance(args[0], str) else None
    config = whole.inner("config")
    devices = config.each("devices")
    code, graph = whole.count("nccl_version"), config.count("graph")
    if code is not None and code > _LARGEST_VERSION:
        raise whole.wrong("nccl_version", "no version")
    return Test(
        ranks=len(devices) or None,
        graph=None if graph is None else graph > 0,
        program=None if program is None else program.rpartition("/")[2],
        gpus=[name for one in devices if (name := one.text("device_info"))],
        nccl=None if not code else version(code),
    )


def _row(fields: Fields, size: int, dtype: str, placement: str, number: int) -> Row:
    time = fields.number("time")
    if time is None and "cpu_time" in fields.data:
        raise fields.wrong("cpu_time", "of the CPU, no time of the collective")
    algorithm, bus = fields.number("alg_bw"), fields.number("bus_bw")
    if time is None or algorithm is None or bus is None:
        raise fields.missing(f"time, alg_bw or bus_bw of result {number}")
    return Row(fields.line, size, dtype, placement, time, algorithm, bus, fields.number("nwrong"))


def _variables(whole: Fields) -> dict[str, str]:
    told = whole.data.get("env")
    pairs = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    kept = [pair.partition("=") for pair in pairs if pair.startswith(_RECORDED)]
    return {name: value for name, _, value in kept if value}
