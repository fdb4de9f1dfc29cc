"""``gamekit host``: what this machine is, the state it is in, and how it differs from before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamekit.commands.options import Whole, as_json_option
from gamekit.commands.terminal import literal, paragraph, print_json, say
from gamekit.errors import AnswerIsNo, NoAnswer

if TYPE_CHECKING:
    from gamekit.findings import Environment
    from gamekit.host.against import Against
    from gamekit.host.fingerprint import Fingerprint

# Of the state of a GPU: the name of a value, and how it is told.
_NOW = {
    "sm_clock_mhz": "{:g} MHz",
    "memory_clock_mhz": "memory {:g} MHz",
    "temperature_c": "{:g} °C",
    "power_w": "{:g} W",
    "memory_used_mib": "{:g} MiB used",
    "utilization_percent": "{:g} % busy",
    "pcie_generation": "PCIe gen {:g}",
    "pcie_width": "x{:g}",
}
_EACH = {
    "gpu_memory_mib": "{} MiB",
    "pcie": "PCIe {}",
    "power_limit_w": "limit {:g} W",
    "max_sm_clock_mhz": "up to {} MHz",
    "max_memory_clock_mhz": "memory {} MHz",
}


@click.command("host", short_help="Say what this machine is, and what differs from before.")
@click.option(
    "--pid", type=Whole(), metavar="PID", help="Look at the engine of this process as well."
)
@click.option("--against", "recorded", metavar="ID", help="Compare with a run, figure or series.")
@as_json_option
def command(pid: int | None, recorded: str | None, as_json: bool) -> None:
    """Say what this machine is: its identity, which is stable, and apart from it its state.

    With --pid, NCCL as loaded, packages and variables are those of an engine's process and of those
    below it. With --against, say how the machine differs now from what a run recorded, what matters
    most first: exit code 0 when nothing recorded differs but the boot and the load, 4 when
    something does, 5 when nothing was recorded that could be compared.
    """
    from gamekit.host.against import against
    from gamekit.host.fingerprint import take_fingerprint
    from gamekit.host.redact import Redactor
    from gamekit.knowledge import build
    from gamekit.store.load import load
    from gamekit.store.root import find_root

    # Before the machine is looked at, which takes seconds: what is asked for may not exist.
    knowledge = None if recorded is None else build(load(find_root(Path.cwd())))
    seen = take_fingerprint(Redactor.of_this_process(), pid)
    if knowledge is None or recorded is None:
        print_json(seen.as_json()) if as_json else _tell(seen)
        return
    compared = against(knowledge, recorded, seen)
    if as_json:
        print_json({**seen.as_json(), "against": compared.as_json()})
    else:
        _tell_against(seen, compared)
    if compared.answer is None:
        raise NoAnswer(
            f"{compared.of} recorded nothing of its machine that is known now",
            mend="name a run that was measured with gamekit on its own machine",
        )
    if compared.first is not None:
        raise AnswerIsNo(
            f"this machine is not as {compared.of} found it: {_escaped(compared.first.in_words())}"
        )


def _tell(seen: Fingerprint) -> None:
    environment = seen.environment
    say(f"{seen.host or 'this machine'}: identity {seen.identity.digest}", "strong")
    for name, text in _lines(seen, environment):
        if text:
            _line(f"{name}: {text}")
    say("\nnow", "strong")
    state = seen.captured.state
    load = ", ".join(f"{value:g}" for value in state.get("load_average") or ())
    paragraph(f"load: {load or 'unknown'}", "  ")
    for number, gpu in enumerate(state.get("gpus", ())):
        _line(f"GPU{number}: {_gpu_now(gpu)}", "  ")
    if seen.captured.unknown:
        say("\nunknown", "strong")
    reasons: dict[str, list[str]] = {}
    for name, why in seen.captured.unknown.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        _line(f"{', '.join(names)}: {why}", "  ")


def _line(text: str, indent: str = "") -> None:
    """Print one paragraph: a line end in a value is shown, and begins no line of its own."""
    paragraph(_escaped(text), indent)


def _escaped(text: str) -> str:
    return literal(text).replace("\n", "\\n")


def _lines(seen: Fingerprint, environment: Environment) -> Iterable[tuple[str, str | None]]:
    yield "GPUs", _gpus(environment, seen.captured.told_by.get("gpus"))
    yield "MIG", _alike(environment.mig, "{}")
    yield "links", _by_value(environment.topology)
    yield "peer access", _by_value(environment.p2p)
    yield "NUMA nodes of the GPUs", _alike(environment.numa, "{}")
    yield "IOMMU", environment.iommu
    yield "access control of PCIe bridges", environment.acs
    yield "driver", environment.driver
    yield "CUDA of the driver", environment.cuda
    yield "CUDA of torch", environment.cuda_torch
    installed = f"{seen.installed_nccl} installed, not loaded" if seen.installed_nccl else None
    yield "NCCL", f"{environment.nccl} as loaded" if environment.nccl else installed
    yield "packages", ", ".join(f"{name} {one}" for name, one in environment.packages.items())
    yield "processor", _processor(environment)
    container = {True: "yes", False: "no", None: None}[environment.container]
    evidence = seen.captured.told_by.get("container")
    yield "container", f"{container} ({evidence})" if container else None
    yield "kernel", environment.kernel
    yield "boot", environment.boot
    variables = [f"{name}={value}" for name, value in environment.variables.items()]
    yield f"variables of {seen.variables_of}", ", ".join(variables) or "none that steer an engine"


def _gpus(environment: Environment, told_by: str | None) -> str | None:
    if environment.gpus is None:
        return None
    if not environment.gpus:
        return f"none (told by {told_by})"
    known = [
        text
        for name, words in _EACH.items()
        if (text := _alike(getattr(environment, name), words)) is not None
    ]
    names = [f"{count} x {name}" for name, count in Counter(environment.gpus).items()]
    each = f", each {', '.join(known)}" if known else ""
    return f"{' and '.join(names)}{each} (told by {told_by})"


def _alike(values: Sequence[Any] | None, words: str) -> str | None:
    """The values of all GPUs in words: once where they are alike."""
    if values is None:
        return None
    told = ["unknown" if value is None else words.format(value) for value in values]
    return " / ".join(told if len(set(told)) > 1 else told[:1])


def _by_value(pairs: Mapping[str, str]) -> str | None:
    """What is said of pairs of GPUs: each value with its pairs."""
    values: dict[str, list[str]] = {}
    for pair, value in pairs.items():
        values.setdefault(value, []).append(pair)
    if len(values) == 1 and len(pairs) > 1:
        return f"{next(iter(values))} for all {len(pairs)} pairs"
    return "; ".join(f"{value} {', '.join(those)}" for value, those in values.items()) or None


def _processor(environment: Environment) -> str | None:
    known = (
        environment.cpu,
        None if environment.cpu_count is None else f"{environment.cpu_count} logical cores",
        None if environment.memory_gib is None else f"{environment.memory_gib} GiB of memory",
    )
    return ", ".join(filter(None, known))


def _gpu_now(gpu: Mapping[str, Any]) -> str:
    told = [words.format(gpu[name]) for name, words in _NOW.items() if gpu.get(name) is not None]
    reasons = gpu.get("throttle_reasons")
    if reasons is not None:
        told.append(f"clocks held down by: {', '.join(reasons) or 'nothing'}")
    return ", ".join(told) or "unknown"


def _tell_against(seen: Fingerprint, compared: Against) -> None:
    when = f" of {compared.when}" if compared.when else ""
    say(f"this machine now against {compared.of}{when}", "strong")
    if compared.host is not None and compared.host != seen.host:
        _line(f"that was host {compared.host}; this machine calls itself {seen.host}")
    comparison = compared.comparison
    if compared.answer is False:
        for item in comparison.differ:
            what = f" ({item.group})" if item.group else ""
            _line(f"- {item.in_words()}{what}")
    elif compared.answer:
        _line(compared.in_words().partition("; unknown")[0])
    for text, fields in (
        ("unknown then", comparison.unknown_before),
        ("unknown now", comparison.unknown_after),
    ):
        if fields:
            _line(f"{text}: {', '.join(fields)}")
    for note in compared.notes:
        _line(note)
