"""What ``--launch`` and its settings ask for: which engines, with which values, how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from gamekit.bench.module import Benchmark, Parameter
from gamekit.errors import UsageFault
from gamekit.host.known_secrets import secrets_of, worth_knowing
from gamekit.host.redact import Redactor
from gamekit.host.secret_names import is_secret_name
from gamekit.launch.command import (
    PORT,
    LaunchCommand,
    ReadyCommand,
    check_ports,
    choose_ports,
    parse_command,
)

STARTS = Parameter(
    "starts", int, 1, "starts of each engine launched; each is measured", low=1, high=1000
)
START_TIMEOUT = Parameter(
    "start_timeout", float, 900.0, "longest wait for an engine launched", "s", low=1, high=86400
)
# What --set takes besides the parameters of benchmarks, with --launch.
SETTINGS = (STARTS, START_TIMEOUT)


@dataclass(frozen=True)
class LaunchPlan:
    """All commands are started side by side, ``starts`` times for each of ``values``."""

    commands: tuple[LaunchCommand, ...]
    values: tuple[Mapping[str, str], ...]
    starts: int
    start_timeout_s: float

    def ready(self, values: Mapping[str, str]) -> list[ReadyCommand]:
        """The commands with these values, each at a port of its own."""
        ports = choose_ports(self.commands)
        return [one.filled(values, port) for one, port in zip(self.commands, ports, strict=True)]

    def all_values(self, key: str) -> list[str]:
        """The values of a placeholder, in the order given."""
        return list(dict.fromkeys(one[key] for one in self.values))

    def hidden_by(self, redactor: Redactor) -> Redactor:
        """``redactor``, which then also knows the keys that the commands hold."""
        found = {
            secret
            for values in self.values
            for command in self.commands
            for secret in _secrets(command.filled(values, 0))
        }
        return replace(redactor, secrets=redactor.secrets | worth_knowing(found))


def parse_launches(texts: Sequence[str], benchmarks: Sequence[Benchmark]) -> list[LaunchCommand]:
    """The commands of ``--launch`` options.

    Raises ``UsageFault`` for one that cannot be read, for a placeholder that a selected benchmark
    has as a parameter, and for ports that cannot be had.
    """
    commands = [parse_command(text) for text in texts]
    taken = {one.name: benchmark for benchmark in benchmarks for one in benchmark.parameters}
    reserved = {one.name for one in SETTINGS}
    for command in commands:
        for key in sorted(command.placeholders):
            if key in taken:
                raise UsageFault(
                    f"{{{key}}} in --launch is a parameter of {taken[key].name} as well",
                    mend=f"name the placeholder otherwise, such as {{server_{key}}}",
                )
            if key in reserved:
                raise UsageFault(
                    f"{{{key}}} in --launch has a meaning of its own in --set",
                    mend=f"name the placeholder otherwise, such as {{server_{key}}}",
                )
    check_ports(commands)
    return commands


def keys_of(commands: Sequence[LaunchCommand]) -> set[str]:
    """The keys that ``--set`` takes because of these commands."""
    if not commands:
        return set()
    return {key for one in commands for key in one.placeholders} | {one.name for one in SETTINGS}


def plan_of(
    commands: Sequence[LaunchCommand], settings: Mapping[str, Sequence[str]], urls: Sequence[str]
) -> LaunchPlan | None:
    """The plan for the commands and the settings that they use; None without commands.

    Raises ``UsageFault`` for a placeholder without a value, a value named twice, and ``starts``
    for an engine that runs already.
    """
    if not commands:
        return None
    axes: list[list[tuple[str, str]]] = []
    used = {key for one in commands for key in one.placeholders}
    for key in sorted(used - settings.keys()):
        raise UsageFault(
            f"--launch has {{{key}}}, and nothing says what it stands for",
            mend=f"add --set {key}=VALUE (or VALUE,VALUE to measure several), or leave it out;"
            f" {{{PORT}}} is a free port",
        )
    for key, texts in settings.items():
        if key not in used:
            continue
        if len(set(texts)) != len(texts) or not all(texts):
            raise UsageFault(
                f"--set {key}={','.join(texts)} names a value twice, or an empty one",
                mend="keep one",
            )
        axes.append([(key, text) for text in texts])
    starts = _one(STARTS, settings)
    if urls and starts != 1:
        raise UsageFault(
            "--set starts is for engines that --launch starts, and --url names one that runs",
            mend="leave --url out",
        )
    return LaunchPlan(
        commands=tuple(commands),
        values=tuple(dict(chosen) for chosen in product(*axes)),
        starts=int(starts),
        start_timeout_s=_one(START_TIMEOUT, settings),
    )


def check_unlaunched(settings: Sequence[str]) -> None:
    """Raise ``UsageFault`` for settings that mean nothing without ``--launch``."""
    for pair in settings:
        key = pair.partition("=")[0]
        if any(key == one.name for one in SETTINGS):
            raise UsageFault(
                f"--set {pair} is for an engine that gamekit starts",
                mend="add --launch COMMAND, or leave it out",
            )


def _one(parameter: Parameter, settings: Mapping[str, Sequence[str]]) -> float:
    texts = settings.get(parameter.name)
    value = parameter.default
    if texts is not None:
        if len(texts) != 1:
            raise UsageFault(
                f"--set {parameter.name}={','.join(texts)}: one call has one", mend="keep one"
            )
        value = parameter.parse(texts[0])
    assert isinstance(value, int | float)  # noqa: S101 - both parameters are numbers
    return float(value)


def _secrets(command: ReadyCommand) -> list[str]:
    found = [use.value for use in command.uses if is_secret_name(use.key)]
    variables = [f"{name}={value}" for name, value in command.variables.items()]
    return [*found, *secrets_of([*variables, *command.words])]
