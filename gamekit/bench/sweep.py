"""Turns ``--set key=a,b`` options into the cases of a sweep, each a full set of parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import product

from gamekit.bench.module import Benchmark, Parameter, Value
from gamekit.errors import UsageFault


def parse_settings(
    pairs: Sequence[str], benchmarks: Sequence[Benchmark], also: Collection[str] = ()
) -> dict[str, list[str]]:
    """The settings given, each with its values in the order given.

    ``also`` are keys that are settings of no benchmark. Raises ``UsageFault`` for what is no pair,
    for a key given twice, and for a key that neither they nor the selected benchmarks have.
    """
    known = {one.name for benchmark in benchmarks for one in benchmark.parameters} | set(also)
    settings: dict[str, list[str]] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key or not text:
            raise UsageFault(f"--set {pair}: it is no pair", mend="write --set key=value")
        if key not in known:
            close = get_close_matches(key, known, n=1)
            mend = (
                f"did you mean {close[0]}?" if close else f"there are: {', '.join(sorted(known))}"
            )
            names = ", ".join(one.name for one in benchmarks)
            raise UsageFault(f"--set {pair}: {names} has no parameter {key}", mend=mend)
        if key in settings:
            raise UsageFault(
                f"--set {key} is given twice", mend=f"give a list: --set {key}=value,value"
            )
        settings[key] = text.split(",")
    return settings


def cases_of(benchmark: Benchmark, settings: Mapping[str, Sequence[str]]) -> list[dict[str, Value]]:
    """Every combination of the values given, the last key given varying fastest.

    Settings that belong to other benchmarks are left out; what is not given has its default. Raises
    ``UsageFault`` for a value that is not allowed, or that is listed twice, and for what the
    benchmark does not take together.
    """
    # What is swept by default varies slowest, so that the keys given turn in the order given.
    axes: list[list[tuple[str, Value]]] = [
        [(one.name, value) for value in _default_values(one, settings)]
        for one in benchmark.parameters
        if one.name not in settings
    ]
    for name, texts in settings.items():
        parameter = benchmark.parameter(name)
        if parameter is None:
            continue
        values = [parameter.parse(text) for text in texts]
        other = next((one for one in parameter.unless if one in settings), None)
        if other is not None:
            raise UsageFault(
                f"--set {name} and --set {other} say the same in two ways", mend="leave one out"
            )
        if len(set(values)) != len(values):
            raise UsageFault(f"--set {name}={','.join(texts)} names a value twice", mend="keep one")
        axes.append([(name, value) for value in values])
    order = [one.name for one in benchmark.parameters]
    cases = [
        dict(sorted(chosen, key=lambda pair: order.index(pair[0]))) for chosen in product(*axes)
    ]
    for case in cases:
        if benchmark.check is not None:
            benchmark.check(case)
    return cases


def _default_values(parameter: Parameter, settings: Mapping[str, Sequence[str]]) -> Sequence[Value]:
    if any(name in settings for name in parameter.unless):
        return (None,)
    return parameter.default_values
