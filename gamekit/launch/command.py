"""Reads the command of an engine as a shell would split it, and fills its placeholders."""

from __future__ import annotations

import re
import secrets
import shlex
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from gamekit.errors import MachineRefused, UsageFault

PORT = "port"
LOOPBACK = "127.0.0.1"
# sglang derives further ports from its own, up to 10000 higher, and refuses those above 65535.
_HIGHEST_PORT = 54_999
_LOWEST_PORT = 20_000
# A name in braces: JSON among the arguments has quotes or spaces behind its brace.
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# The command of a shell within one word: "bash -c 'A={a} serve --steps {steps}'".
_WITHIN = re.compile(
    r"(?<![^\s;&])(--?[A-Za-z][\w-]*(?==|\s)|[A-Za-z_]\w*(?==))(?:=|\s+)"
    r"\{([A-Za-z_]\w*)\}(?![^\s;&])"
)
_OF_A_SHELL = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"})
_EVERYWHERE = frozenset({"", "0.0.0.0", "::", "localhost", LOOPBACK})  # noqa: S104 - read, not bound


@dataclass(frozen=True)
class Use:
    """Where a placeholder stands: the flag or variable it belongs to, and the whole value there."""

    key: str
    name: str
    value: str


@dataclass(frozen=True)
class ReadyCommand:
    """A command that can be started: its words, its own variables, and where it will listen."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    port: int
    host: str
    uses: tuple[Use, ...]

    @property
    def url(self) -> str:
        """The address at which the engine will answer."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def text(self) -> str:
        """The command as one types it."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*variables, shlex.join(self.words)])

    def option(self, flag: str) -> str | None:
        """The value of ``--flag VALUE`` or ``--flag=VALUE``; of several the last."""
        return _option(self.words, flag)


@dataclass(frozen=True)
class LaunchCommand:
    """``--launch`` as it was given; ``variables`` are the ``NAME=value`` words before the program.

    ``fixed_port`` is the one that the command names itself.
    """

    text: str
    variables: Mapping[str, str]
    words: tuple[str, ...]
    fixed_port: int | None

    @property
    def placeholders(self) -> frozenset[str]:
        """The names in braces, without ``{port}``."""
        texts = [*self.variables.values(), *self.words]
        return frozenset(key for text in texts for key in _PLACEHOLDER.findall(text)) - {PORT}

    def filled(self, values: Mapping[str, str], port: int) -> ReadyCommand:
        """The command with ``values`` and ``port`` in place of its placeholders.

        ``values`` has all of ``placeholders``. A command that names no port is given one.
        """
        every = {**values, PORT: str(port)}

        def fill(text: str) -> str:
            return _PLACEHOLDER.sub(lambda found: every[found[1]], text)

        words = [fill(word) for word in self.words]
        named = self.fixed_port is not None or any(f"{{{PORT}}}" in word for word in self.words)
        if not named and not any(f"{{{PORT}}}" in one for one in self.variables.values()):
            words += ["--port", str(port)]
        host = _option(words, "--host")
        return ReadyCommand(
            words=tuple(words),
            variables={name: fill(value) for name, value in self.variables.items()},
            port=port,
            host=LOOPBACK if host is None or host in _EVERYWHERE else host,
            uses=tuple(_uses(self, values)),
        )


def parse_command(text: str) -> LaunchCommand:
    """Split ``text`` into variables and words; no shell is run.

    Raises ``UsageFault`` for what cannot be split, for one without a program, and for one that
    needs a shell.
    """
    # Whatever else it holds may be a key.
    shown = f"--launch '{_beginning(text)}'"
    try:
        split = shlex.split(text)
    except ValueError as error:
        raise UsageFault(
            f"{shown}: {str(error).lower()}", mend="quote it as a shell does"
        ) from None
    variables: dict[str, str] = {}
    while split and (found := _VARIABLE.fullmatch(split[0])):
        variables[found[1]] = found[2]
        del split[0]
    if not split:
        raise UsageFault(f"{shown} names no program", mend="write [NAME=value] PROGRAM [ARGUMENT]")
    of_a_shell = next((word for word in split if word in _OF_A_SHELL), None)
    if of_a_shell is not None:
        raise UsageFault(
            f"{shown}: no shell is run, and {of_a_shell} would be an argument",
            mend="leave it out, or write bash -c '... --port {port}'",
        )
    port = _option(split, "--port")
    fixed = None
    if port is not None and f"{{{PORT}}}" not in port:
        if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageFault(
                f"{shown}: {port} is no port to wait at", mend="name one, or write --port {port}"
            )
        fixed = int(port)
    return LaunchCommand(text, variables, tuple(split), fixed)


def _beginning(text: str) -> str:
    """The first word of a command, so that it is known again: of a variable its name alone."""
    first, more, _ = text.strip().partition(" ")
    name, sign, _ = first.partition("=")
    return f"{name}=…" if sign else f"{first} …" if more else first


def check_ports(commands: Sequence[LaunchCommand]) -> None:
    """Raise ``UsageFault`` where two commands name one port, or one answers already."""
    seen: set[int] = set()
    for command in commands:
        port = command.fixed_port
        if port is None:
            continue
        if port in seen:
            raise UsageFault(
                f"two of the commands to launch use port {port}",
                mend="write --port {port} in both, and each gets a free one",
            )
        seen.add(port)
        if answers(LOOPBACK, port):
            raise UsageFault(
                f"something listens on port {port} already: it would be measured instead",
                mend="end it, or write --port {port} for a free one",
            )


def choose_ports(commands: Sequence[LaunchCommand]) -> list[int]:
    """A port a command: the one that it names, else a free one below 55000; no two are the same.

    Raises ``MachineRefused`` where none is free.
    """
    fixed = {command.fixed_port for command in commands}
    # Anywhere in the range: whoever else starts engines here should seldom try the same one.
    candidates = range(_LOWEST_PORT, _HIGHEST_PORT + 1)
    first = secrets.randbelow(len(candidates))
    untried = (candidates[(first + step) % len(candidates)] for step in range(len(candidates)))
    ports: list[int] = []
    with ExitStack() as held:
        # All are held until the last is found, so that none is found twice.
        for command in commands:
            if command.fixed_port is not None:
                ports.append(command.fixed_port)
                continue
            port = next((one for one in untried if one not in fixed and _hold(one, held)), None)
            if port is None:
                raise MachineRefused(
                    f"no port of {_LOWEST_PORT} to {_HIGHEST_PORT} is free", mend="name one"
                )
            ports.append(port)
    return ports


def _hold(port: int, held: ExitStack) -> bool:
    """Whether the port is free; it is held then."""
    one = held.enter_context(socket.socket())
    try:
        one.bind((LOOPBACK, port))
    except OSError:
        return False
    return True


def answers(host: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _option(words: Iterable[str], flag: str) -> str | None:
    value = None
    before = ""
    for word in words:
        if before == flag:
            value = word
        elif word.startswith(f"{flag}="):
            value = word.removeprefix(f"{flag}=")
        before = word
    return value


def _uses(command: LaunchCommand, values: Mapping[str, str]) -> Iterator[Use]:
    """Each placeholder with where it stands; what no flag names is called by its place."""

    def fill(text: str) -> str:
        # The port is another one at each start, and says nothing of the engine.
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)

    def used(text: str, name: str) -> Iterator[Use]:
        within = {key: flag for flag, key in _WITHIN.findall(text)}
        for key in sorted(set(_PLACEHOLDER.findall(text)) - {PORT}):
            if key in within:
                yield Use(key, within[key], values[key])
            else:
                yield Use(key, name, fill(text))

    for name, text in command.variables.items():
        yield from used(text, name)
    flag = ""
    for number, word in enumerate(command.words):
        name, sign, text = word.partition("=")
        if not word.startswith("-"):
            text = word
        elif sign:
            flag = name
        else:
            flag = text = word
        # What follows the value of a flag goes by that flag's name as well.
        yield from used(text, flag or f"word {number}")
