"""Figures of nccl-tests' rows, the same from its JSON and from what it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gamekit.imports.figures import Field, Figure
from gamekit.imports.given import Given

NAME = "nccl-tests all_reduce_perf"
PROGRAM = "all_reduce_perf"
# Names of nccl-tests, and those that gamekit's own benchmark has.
_TYPE = re.compile(r"[a-z0-9_]{1,40}", re.ASCII)
_TYPES = {"float": "float32", "half": "float16", "double": "float64"}
# Bandwidths are printed with two or three digits.
_ROUNDING = 0.03


@dataclass(frozen=True)
class Row:
    """One size, in or out of place: bytes, us, GB/s, and how many values were wrong."""

    line: int
    size: int
    dtype: str
    placement: str
    time_us: float
    algorithm_bandwidth: float
    bus_bandwidth: float
    wrong: float | None


@dataclass
class Test:
    """One run of the program: its ranks, whether graphs were replayed, its program if named."""

    rows: list[Row] = field(default_factory=list)
    ranks: int | None = None
    graph: bool | None = None
    program: str | None = None
    gpus: list[str] = field(default_factory=list)
    nccl: str | None = None


def version(code: int) -> str:
    """NCCL's version from its number: 22803 is 2.28.3, and before 2.9 2708 was 2.7.8."""
    major = 10_000 if code >= 10_000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def figures(given: Given, test: Test, left_out: list[str]) -> Iterator[Figure]:
    """Latency and bus bandwidth of each row. Raises ``UsageFault`` for another collective."""
    _is_all_reduce(given, test)
    seen: set[tuple[int, str, str]] = set()
    for row in test.rows:
        place = f"{row.size} B {row.placement}"
        if not _TYPE.fullmatch(row.dtype):  # it is part of the figure's id
            raise given.fault(
                row.line,
                f"{place}: type is no name of a type: {given.shown(row.dtype)}",
                "import the file as its tool wrote it",
            )
        if row.wrong:
            left_out.append(f"{place}: {row.wrong:g} values were wrong")
            continue
        if (key := (row.size, row.dtype, row.placement)) in seen:
            left_out.append(f"{place}: measured again, the first is taken")
            continue
        seen.add(key)
        convention = (
            f"{row.placement}; average over iterations and ranks"
            f"{', values not verified' if row.wrong is None else ', values verified'}"
        )
        yield _figure(test, row, "time", "allreduce_latency", row.time_us, convention)
        # One rank sends nothing: the bandwidth is 0 then, which is no figure.
        if row.bus_bandwidth > 0:
            bandwidth = f"{convention}; bytes over time, times 2(n-1)/n"
            yield _figure(test, row, "bus bandwidth", "bus_bandwidth", row.bus_bandwidth, bandwidth)
    if test.ranks == 1:
        left_out.append("one rank: nothing was sent, so that this is the cost of a call alone")


def _figure(
    test: Test, row: Row, column: str, metric: str, value: float, convention: str
) -> Figure:
    parameters: dict[str, Field] = {"bytes": row.size, "placement": row.placement}
    if test.graph is not None:
        parameters["mode"] = "graph" if test.graph else "eager"
    if test.ranks is not None:
        parameters["ranks"] = test.ranks
    dtype = _TYPES.get(row.dtype, row.dtype)
    if dtype != "bfloat16":  # the default of gamekit's own benchmark
        parameters["dtype"] = dtype
    placed = row.placement.replace(" ", "-")
    return Figure(
        key=f"{metric}.{row.size}.{dtype}.{placed}",
        place=f"{column} of {row.size} B {row.placement}",
        metric=metric,
        value=value,
        convention=convention,
        line=row.line,
        parameters=parameters,
        joins=False,
    )


def _is_all_reduce(given: Given, test: Test) -> None:
    if not test.rows:
        raise given.fault(1, "it has no result", "import a run that came to its end")
    line = test.rows[0].line
    if test.program is not None and not test.program.startswith(PROGRAM):
        raise given.fault(line, f"it is of {test.program}", f"what is imported is of {PROGRAM}")
    # The ratio of bandwidths tells the collective: older releases print no program, and rows of
    # another one may have come in between. Of small messages they are 0.00 and say nothing.
    known = [row for row in test.rows if row.algorithm_bandwidth >= 1]
    if test.ranks is None or not known:
        if test.program is not None:
            return
        unfit = line
    else:
        factor = 2 * (test.ranks - 1) / test.ranks
        ratios = ((row.line, row.bus_bandwidth / row.algorithm_bandwidth) for row in known)
        unfit = next((at for at, ratio in ratios if abs(ratio - factor) > _ROUNDING), 0)
    if unfit:
        raise given.fault(
            unfit,
            "its bandwidths are not those of an all-reduce",
            f"what is imported is of {PROGRAM}, with the lines that name its ranks",
        )
