"""Launch commands: split as a shell would, filled, and never two at one port."""

from __future__ import annotations

import shlex
import socket

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gamekit.errors import MachineRefused, UsageFault
from gamekit.launch import command as command_module
from gamekit.launch.command import Use, check_ports, choose_ports, parse_command

WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0{}=")), min_size=1)


@given(WORDS)
def test_words_reach_the_program_as_they_were_quoted(words: list[str]) -> None:
    """Whatever is quoted for a shell is one word, unchanged; a port is added behind."""
    assume(not {*"|&;<>", "||", "&&", ">>", "2>", "2>&1", "&>", "--port"} & set(words))
    assume(words[0])
    command = parse_command(shlex.join(words)).filled({}, 31000)
    assert command.words == (*words, "--port", "31000")
    assert parse_command(command.text).words == command.words


def test_variables_stand_before_the_program() -> None:
    """Leading NAME=value words are the engine's environment; later ones are arguments."""
    command = parse_command("A=1 B='two words' serve C=3")
    assert (command.variables, command.words) == ({"A": "1", "B": "two words"}, ("serve", "C=3"))


@pytest.mark.parametrize(
    ("text", "fixed", "words"),
    [
        ("serve", None, "serve --port 31000"),
        ("serve --port 30000", 30000, "serve --port 31000"),
        ("serve --port=30000", 30000, "serve --port=31000"),
        ("serve --port {port}", None, "serve --port 31000"),
        ("bash -c 'serve {port}'", None, "bash -c 'serve 31000'"),
        ("PORT={port} serve", None, "serve"),
    ],
)
def test_a_port_is_named_filled_or_added(text: str, fixed: int | None, words: str) -> None:
    """A command's own port is used, {port} is a free one, and without either one is added."""
    command = parse_command(text)
    assert command.fixed_port == fixed
    ready = command.filled({}, fixed or 31000)
    assert shlex.join(ready.words) == words.replace("31000", str(fixed or 31000))
    assert ready.url == f"http://127.0.0.1:{fixed or 31000}"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:1"),  # noqa: S104 - an argument, bound by nobody
        ("::", "http://127.0.0.1:1"),
        ("10.0.0.7", "http://10.0.0.7:1"),
        ("::1", "http://[::1]:1"),
    ],
)
def test_an_engine_is_asked_where_it_listens(host: str, url: str) -> None:
    """One that listens everywhere is asked on the loopback, another at its own address."""
    assert parse_command(f"serve --host {host}").filled({}, 1).url == url


def test_json_among_the_arguments_is_no_placeholder() -> None:
    """Only a name in braces is one: JSON has a quote or a space behind its brace."""
    command = parse_command("""serve --override '{"a": {"b": 1}}' --x {value}""")
    assert command.placeholders == {"value"}
    assert command.filled({"value": "7"}, 1).words[2] == '{"a": {"b": 1}}'


def test_each_placeholder_is_known_by_where_it_stands() -> None:
    """The flag or variable in front of it names it, and the whole value there is its value."""
    text = "ACC={a} serve {b} --steps {c} --size=1{d} --list 1 {e}"
    uses = parse_command(text).filled({key: key * 2 for key in "abcde"}, 1).uses
    assert uses == (
        Use("a", "ACC", "aa"),
        Use("b", "word 1", "bb"),
        Use("c", "--steps", "cc"),
        Use("d", "--size", "1dd"),
        Use("e", "--list", "ee"),
    )


def test_a_placeholder_in_the_command_of_a_shell_goes_by_its_own_flag() -> None:
    """Within one word the flag or variable right in front counts; a port is never part of it."""
    text = "bash -c 'ACC={a} serve --steps {b} --at=x:{port} x {c}'"
    uses = parse_command(text).filled({key: key * 2 for key in "abc"}, 1).uses
    assert uses[:2] == (Use("a", "ACC", "aa"), Use("b", "--steps", "bb"))
    assert uses[2] == Use("c", "-c", "ACC=aa serve --steps bb --at=x:{port} x cc")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no program"),
        ("A=1", "names no program"),
        ("serve 'x", "no closing quotation"),
        ("serve | tee log", "no shell is run, and \\| would be"),
        ("cd x && serve", "no shell is run"),
        ("serve --port auto", "auto is no port"),
        ("serve --port 0", "0 is no port"),
        ("serve --port 70000", "70000 is no port"),
    ],
)
def test_what_cannot_be_launched_is_refused(text: str, says: str) -> None:
    """Each kind of mistake is a usage error with its remedy."""
    with pytest.raises(UsageFault, match=says):
        parse_command(text)


def test_ports_are_all_different_and_free() -> None:
    """No two commands get one port, also where another names its own."""
    free = choose_ports([parse_command("serve")])[0]
    commands = [parse_command("serve")] * 20 + [parse_command(f"serve --port {free}")]
    ports = choose_ports(commands)
    assert len(set(ports)) == len(ports)
    assert ports[-1] == free


def test_free_ports_leave_room_for_those_that_an_engine_derives() -> None:
    """sglang adds up to 10000 to its port: what is chosen stays below 55000, and unprivileged."""
    for _ in range(20):
        ports = choose_ports([parse_command("serve")] * 20)
        assert all(1024 < port < 55_000 for port in ports)


def test_a_port_that_somebody_listens_on_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only one port of the range is free it is found; where none is, that is said."""
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        free = other.getsockname()[1]
        monkeypatch.setattr(command_module, "_LOWEST_PORT", taken.getsockname()[1])
        monkeypatch.setattr(command_module, "_HIGHEST_PORT", taken.getsockname()[1])
        with pytest.raises(MachineRefused, match="is free"):
            choose_ports([parse_command("serve")])
        other.close()
        monkeypatch.setattr(command_module, "_LOWEST_PORT", free)
        monkeypatch.setattr(command_module, "_HIGHEST_PORT", free)
        assert choose_ports([parse_command("serve")]) == [free]


def test_two_commands_of_one_port_and_a_port_in_use_are_refused() -> None:
    """Two engines cannot listen at one port, and neither can one where somebody does."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageFault, match="listens on port"):
            check_ports([parse_command(f"serve --port {port}")])
    with pytest.raises(UsageFault, match=f"two of the commands to launch use port {port}"):
        check_ports([parse_command(f"serve --port {port}")] * 2)


@pytest.mark.parametrize(
    "text",
    [
        "python3 x.py --api-key sk-launchsecret777 | cat",
        "python3 x.py --api-key 'sk-launchsecret777",
        "A_API_KEY=sk-launchsecret777",
        "python3 x.py --port {q} --api-key sk-launchsecret777",
    ],
)
def test_a_refused_command_is_told_by_its_first_word_alone(text: str) -> None:
    """What stands behind it may be a key, and an error is printed in clear."""
    with pytest.raises(UsageFault) as caught:
        parse_command(text)
    assert "sk-launchsecret777" not in str(caught.value)
    assert text.partition(" ")[0].partition("=")[0] in str(caught.value)
