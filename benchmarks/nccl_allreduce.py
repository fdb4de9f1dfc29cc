"""The time of an all-reduce at the message sizes of decode steps, by NCCL's setting."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Sample
from gamekit.collective.arithmetic import bandwidths, decode_message_bytes, most_iterations
from gamekit.collective.group import GroupFailed, Place, RankGroup
from gamekit.collective.pool import GroupKey, GroupPool
from gamekit.collective.rounds import Job, Round, WrongValues, take_rounds
from gamekit.collective.setting import (
    NONE,
    doubts,
    parse_setting,
    require_read,
    why_not_forced,
    without_forcing,
)
from gamekit.errors import NotApplicable, UsageFault
from gamekit.host.engine_process import environment_of_engine

MESSAGE = ("batch", "draft_tokens", "hidden")
SIZES = {"bfloat16": 2, "float32": 4}
HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"


def check(case: Mapping[str, Any]) -> None:
    """Raise ``UsageFault`` for parameters that do not fit together."""
    if case["bytes"] is None and case["hidden"] is None:
        raise UsageFault(
            "the message of a decode step is batch*draft_tokens*hidden*2 bytes",
            mend="add --set hidden=N, such as 7168",
        )
    size = SIZES[case["dtype"]]
    if message_bytes(case) % size:
        raise UsageFault(
            f"{message_bytes(case)} bytes are no whole number of {case['dtype']} values",
            mend=f"give a multiple of {size}",
        )
    if case["backend"] is not None:  # else it follows from what the ranks' torch finds
        require_read(parse_setting(case["setting"]), case["backend"])
    if (case["nodes"] > 1) != (case["rendezvous"] is not None):
        raise UsageFault(
            "several hosts need nodes=N and rendezvous=HOST:PORT, the same on each",
            mend="give both, and node_rank=0 on HOST, or neither",
        )
    if case["node_rank"] >= case["nodes"]:
        raise UsageFault(
            f"node_rank={case['node_rank']} of {case['nodes']} nodes",
            mend="number the hosts from 0",
        )


def check_python(path: str) -> None:
    """Raise ``UsageFault`` for an interpreter that does not run or has no torch."""
    try:
        found = subprocess.run(  # noqa: S603 - the interpreter that the user names
            [path, "-c", HAS_TORCH], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageFault(f"python={path} does not run: {error}", mend="name another") from None
    if found.returncode:
        raise UsageFault(f"python={path} has no torch", mend="name an interpreter that has it")


def check_rendezvous(text: str) -> None:
    """Raise ``UsageFault`` for what is no HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65000:
        raise UsageFault(
            f"rendezvous={text} is no HOST:PORT",
            mend="name host 0 and a port; each setting takes the next one",
        )


def message_bytes(case: Mapping[str, Any]) -> int:
    """The message of a case, as given or as that of a decode step."""
    if case["bytes"] is not None:
        return int(case["bytes"])
    return decode_message_bytes(case["batch"] or 1, case["draft_tokens"] or 1, case["hidden"])


def key_of(case: Mapping[str, Any], pool: GroupPool, setting: str) -> GroupKey:
    """The group that a case is measured with, under that setting."""
    python, backend, ranks = case["python"] or sys.executable, case["backend"], case["ranks"]
    if backend != "gloo":
        gpus = pool.probe(python, case["ready_timeout"])["gpus"]
        backend = backend or ("nccl" if gpus else "gloo")
        if backend == "nccl":
            ranks = ranks or gpus
            require_gpus(gpus, ranks, python)
    ranks = ranks or 2
    host, _, port = (case["rendezvous"] or ":0").rpartition(":")
    place = Place(ranks, case["nodes"], case["node_rank"], host, int(port))
    return GroupKey(place, backend, setting, python, case["timeout"], case["ready_timeout"])


def require_gpus(gpus: int, ranks: int, python: str) -> None:
    """Raise before any rank starts: ``NotApplicable`` without GPUs, ``UsageFault`` for too few."""
    if not gpus:
        raise NotApplicable(
            f"nccl sums between GPUs, and the torch of {python} finds none here",
            mend="--set backend=gloo measures the CPU, labelled as that",
        )
    if ranks > gpus:
        raise UsageFault(
            f"{ranks} ranks with nccl need as many GPUs, and there are {gpus} here",
            mend=f"--set ranks={gpus}, or fewer",
        )


def keys_of(case: Mapping[str, Any], pool: GroupPool) -> list[GroupKey]:
    """All groups that a case takes: its control, what it forces nothing in, and its own."""
    key = key_of(case, pool, NONE)
    require_read(parse_setting(case["setting"]), key.backend)
    if case["mode"] == "graph" and key.backend == "gloo":
        return []
    settings = [NONE, unforced(case["setting"]), case["setting"]]
    return list(dict.fromkeys(key_of(case, pool, one) for one in settings))


def unforced(setting: str) -> str:
    """The setting without what forces a protocol or algorithm."""
    kept = without_forcing(parse_setting(setting))
    return "+".join(f"{name}={value}" for name, value in kept.items()) or NONE


def run(context: Context) -> Iterator[Sample]:
    """Time all-reduces under the setting, with the control in turns; one sample a round."""
    pool = context.keep("groups", GroupPool)
    key = key_of(context.parameters, pool, context["setting"])
    context.settle(
        bytes=message_bytes(context.parameters), ranks=key.place.ranks, backend=key.backend
    )
    size = key.place.size
    every = [keys_of(case, pool) for case in context.cases]
    label(context, key)
    most = most_iterations(size)
    if context["iterations"] > most:
        raise UsageFault(
            f"the values of {size} ranks can be verified for {most} all-reduces in a row",
            mend=f"--set iterations={most}",
        )
    if key.backend == "gloo" and context["mode"] == "graph":
        unknown(context, "CUDA graphs need a GPU: with gloo, on the CPU, only eager is measured")
        return
    pool.plan(one for keys in every for one in keys)
    to_come = [one for keys in every[context.number :] for one in keys]
    pool.keep_only(to_come)
    context.progress("nccl_allreduce: starting the ranks")
    pool.begin(to_come)
    yield from samples(context, pool, key)


def label(context: Context, key: GroupKey) -> None:
    """Say of a figure that is none of NCCL between GPUs what it is."""
    if key.backend == "gloo":
        context.warn("measured with gloo on the CPU: nothing of NCCL or of a GPU is in it")
    if key.place.size == 1:
        context.flaw("one rank: a smoke run, no figure")


def samples(context: Context, pool: GroupPool, key: GroupKey) -> Iterator[Sample]:
    """The samples of one case, or why there are none."""
    bare = key_of(context.parameters, pool, NONE)
    control = pool.get(bare)
    if control.process_id is not None:
        context.ran_in(environment_of_engine(control.process_id))
    if key.place.node > 0:
        control.take_part()
        unknown(context, f"this is node {key.place.node}: it took part, and node 0 has the figures")
        return
    try:
        variables = parse_setting(key.setting)
        base = pool.get(key_of(context.parameters, pool, unforced(key.setting)))
        reason = why_not_forced(variables, base.read_log())
        if reason is not None:
            unknown(context, reason)
            return
        group = pool.get(key)
        rounds = measured(context, group, None if key == bare else control)
        facts(context, group, None if key == bare else control, variables)
        for one in rounds:
            yield row(one, context["bytes"], key.place.size)
    except WrongValues as error:
        yield {"error": f"{error}: no time or bandwidth of this case counts"}
    except GroupFailed as error:
        # Without its control nothing else can be measured either.
        if key == bare or not control.alive:
            raise
        pool.failed(key, error)
        unknown(context, f"under this setting {error.why}")
        context.fact("last_lines_of_the_ranks", error.lines)
    finally:
        with suppress(GroupFailed):
            control.over()


def measured(context: Context, group: RankGroup, control: RankGroup | None) -> list[Round]:
    """All rounds of a case: given only when every value of every round was right."""
    job = Job(
        message_bytes=context["bytes"],
        dtype=context["dtype"],
        mode=context["mode"],
        iterations=context["iterations"],
        warmup=context["warmup"],
    )
    repeats = context["repeats"]

    def tell(number: int) -> None:
        context.progress(f"nccl_allreduce: round {number + 1} of {repeats}")

    return take_rounds(group, control, job, repeats, tell)


def row(one: Round, size: int, ranks: int) -> Sample:
    """A round as a sample."""
    algorithm, bus = bandwidths(size, one.latency_us, ranks)
    found = {"allreduce_latency": one.latency_us, "algorithm_bandwidth": algorithm}
    if ranks > 1:  # else nothing crosses a bus
        found["bus_bandwidth"] = bus
    if one.control_us is not None:
        found["latency_ratio"] = one.latency_us / one.control_us
        found["control_latency_us"] = one.control_us
    # No clock here tells a millionth.
    return {name: float(f"{value:.6g}") for name, value in found.items()}


def facts(
    context: Context, group: RankGroup, control: RankGroup | None, variables: Mapping[str, str]
) -> None:
    """What ran, and what NCCL's own log says of it; what a setting did not do is warned of."""
    context.fact("ranks_run", {name: one for name, one in group.about.items() if one is not None})
    if group.backend != "nccl":
        return
    for suffix, one in (("", group), ("_of_control", control)):
        if one is None:
            continue
        log = one.read_log()
        context.fact(f"nccl{suffix}", log.facts())
        if (chosen := log.chosen.get(context["bytes"])) is not None:
            context.fact(f"chosen{suffix}", str(chosen))
    if not group.log.transports and group.place.size > 1:
        context.warn("NCCL's log does not say which transport was used")
    if not group.about.get("quiet") and group.log.chosen:
        context.warn("NCCL's log could not be turned off meanwhile: eager times have it in them")
    for doubt in doubts(variables, group.log.settings):
        context.warn(doubt)


def unknown(context: Context, why: str) -> None:
    """Say why the case has no figure."""
    context.not_known("allreduce_latency", why)


BENCHMARK = Benchmark(
    name="nccl_allreduce",
    description="all-reduce latency at the message sizes of decode steps, by NCCL's setting",
    needs=Needs.TORCH,
    measures=[
        Measures(
            "allreduce_latency",
            headline=True,
            convention="mean over a row of all-reduces in place, of the slowest rank",
        ),
        Measures("algorithm_bandwidth", convention="bytes over time"),
        Measures("bus_bandwidth", convention="bytes over time, times 2(n-1)/n for n ranks"),
        Measures("latency_ratio", convention="to the same without the setting, in turns with it"),
    ],
    parameters=[
        Parameter(
            "bytes",
            int,
            (8192, 16384, 32768, 57344, 65536, 131072, 262144, 524288, 1048576, 4194304),
            "size of the message; or give batch, draft_tokens and hidden",
            "B",
            low=4,
            high=2**33,
            unless=MESSAGE,
        ),
        # These give the bytes, and by those the figures are told apart.
        Parameter("batch", int, None, "requests of a decode step", low=1, effort=True),
        Parameter("draft_tokens", int, None, "tokens that verify takes", low=1, effort=True),
        Parameter("hidden", int, None, "values of one activation", low=1, effort=True),
        Parameter(
            "mode",
            str,
            ("eager", "graph"),
            "launched one by one, or replayed as a CUDA graph",
            choices=("eager", "graph"),
        ),
        Parameter(
            "setting",
            str,
            NONE,
            "environment of the ranks, as in NCCL_PROTO=LL+NCCL_MIN_NCHANNELS=8",
            check=parse_setting,
        ),
        Parameter(
            "ranks",
            int,
            None,
            "ranks on this host",
            low=1,
            high=128,
            default_text="one a GPU; 2 without a GPU",
        ),
        Parameter(
            "backend",
            str,
            None,
            "library that sums",
            choices=("nccl", "gloo"),
            default_text="nccl; gloo without a GPU",
        ),
        Parameter("dtype", str, "bfloat16", "type of the values", choices=tuple(SIZES)),
        Parameter("repeats", int, 30, "rounds, each one sample", low=1, high=10_000, effort=True),
        Parameter(
            "iterations", int, 20, "all-reduces of a sample", low=1, high=10_000, effort=True
        ),
        Parameter("warmup", int, 3, "samples before the first", low=0, high=1000, effort=True),
        Parameter(
            "timeout",
            float,
            60.0,
            "longest wait for an answer of the ranks, then all are ended",
            "s",
            low=1,
            high=3600,
            effort=True,
        ),
        Parameter(
            "ready_timeout",
            float,
            180.0,
            "longest wait for ranks to start",
            "s",
            low=1,
            high=3600,
            effort=True,
        ),
        Parameter(
            "python",
            str,
            None,
            "interpreter of the ranks, which has torch",
            effort=True,
            default_text="the one that runs gamekit",
            check=check_python,
        ),
        Parameter("nodes", int, 1, "hosts", low=1, high=1024),
        Parameter("node_rank", int, 0, "number of this host", low=0, high=1023, effort=True),
        Parameter(
            "rendezvous",
            str,
            None,
            "HOST:PORT of host 0, where several meet",
            effort=True,
            check=check_rendezvous,
        ),
    ],
    check=check,
    run=run,
)
