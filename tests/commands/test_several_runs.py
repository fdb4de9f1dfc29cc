"""What is said of several runs of one call: which is which, their table, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gamekit.commands.several_runs import engine_names, warnings
from gamekit.findings import Engine, Environment, Launch, Run
from gamekit.findings.run import Case
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine

from .conftest import Command, parsed

QUICK = ("--set", "requests=3", "--set", "max_tokens=8", "--subject", "host=box")


def launched(name: str, command: str, port: int, **settings: int) -> Run:
    """A run of an engine that was launched at a port of its own."""
    return Run(
        id=name,
        benchmark="serving_decode",
        command=["gamekit", "bench"],
        gamekit_version="0.1.0",
        started="2026-01-01T00:00:00Z",
        finished="2026-01-01T00:00:01Z",
        outcome="done",
        engine=Engine(stand_in=False, address=f"127.0.0.1:{port}"),
        launch=Launch(command=f"{command} --port {port}", parameters=dict(settings)),
        environment=Environment(),
    )


def test_two_engines_are_told_apart_and_their_comparison_is_offered(
    base: Path, gamekit: Command, refused: Callable[..., str]
) -> None:
    """Each run names its address, in the text, by show and in JSON; the line to compare works."""
    with (
        StandInEngine(SimulatorConfig(prefill_ms=20, cycle_ms=2)) as one,
        StandInEngine(SimulatorConfig(prefill_ms=20, cycle_ms=4)) as other,
    ):
        urls = ("--url", one.url, "--url", f"{other.url}/")
        text = gamekit("bench", "serving_decode", *urls, *QUICK, "--append")
        rows = parsed(gamekit("bench", "serving_decode", *urls, *QUICK, "--json"))
    addresses = [engine.url.removeprefix("http://") for engine in (one, other)]
    for address in addresses:
        assert f"  engine: {address}\n" in text
    assert list(dict.fromkeys(row["address"] for row in rows)) == addresses
    (line,) = [line for line in text.splitlines() if line.startswith("next: ")]
    command = line.removeprefix("next: gamekit ").split()
    assert command[0] == "compare"
    table = text[text.index("\nserving_decode\nrun ") :].splitlines()
    for run, address, row in zip(command[1:], addresses, table[3:5], strict=True):
        assert row.split()[:2] == [run, address]
        assert row.endswith("simulated")
        assert f"at {address}, a stand-in" in gamekit("show", run)
    assert "decode_rate" in refused(4, *command)


def test_a_series_of_the_stand_in_alone_says_that_it_has_no_figure(
    base: Path, gamekit: Command
) -> None:
    """Nobody reads that it is current: it has no figure, and what was measured is said."""
    with StandInEngine(SimulatorConfig(prefill_ms=20, cycle_ms=2)) as engine:
        gamekit("bench", "serving_decode", "--url", engine.url, *QUICK, "--append")
    rows = parsed(gamekit("query", "--kind", "series", "--subject", "host=box", "--json"))
    begun = next(row["id"] for row in rows if row["metric"] == "ttft")
    head = gamekit("show", begun).splitlines()[:4]
    assert "current" not in head[1]
    assert head[3].startswith("ttft: no current figure: only the stand-in engine was measured")


def test_a_sweep_ends_with_one_table_over_its_cases(base: Path, gamekit: Command) -> None:
    """Each case is a row with what it was set to, its main figures and its grade."""
    with StandInEngine(SimulatorConfig(prefill_ms=20, cycle_ms=2)) as engine:
        swept = ("--set", "requests=3", "--set", "max_tokens=8,16")
        text = gamekit("bench", "serving_decode", "--url", engine.url, *swept)
    table = text[text.index("\nserving_decode\ncase ") :].splitlines()[2:]
    assert table[0].split() == ["case", "ttft", "time_per_output_token", "decode_rate", "grade"]
    assert [row.split()[0] for row in table[1:]] == ["max_tokens=8", "max_tokens=16"]
    assert all(row.endswith("simulated") for row in table[1:])


def test_one_run_of_one_case_has_no_table(base: Path, gamekit: Command) -> None:
    """What is told of a single figure once is not told again."""
    text = gamekit("bench", "client_floor", "--set", "repeats=2", "--set", "chunks=20")
    assert text.count("client_floor") == 1


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (
            [
                launched("a", "serve --steps 2", 40001, steps=2),
                launched("b", "serve --steps 3", 40002, steps=3),
            ],
            {"a": "steps=2", "b": "steps=3"},
        ),
        (
            [
                launched("a", "serve m --tp 8 --steps 2", 40001),
                launched("b", "serve m --tp 8", 40002),
            ],
            {"a": "--steps 2", "b": "the common command alone"},
        ),
        (
            [launched("a", "serve m", 40001), launched("b", "serve m", 40002)],
            {"a": "serve m --port {port}", "b": "serve m --port {port}"},
        ),
        (
            [launched("a", "one --x {v}", 40001, x=1), launched("b", "two --x {v}", 40002, x=1)],
            {"a": "one", "b": "two"},
        ),
    ],
)
def test_launched_engines_are_named_by_what_differs(runs: list[Run], names: dict[str, str]) -> None:
    """By their settings, else by what of their commands differs; never by a port of chance."""
    assert engine_names(runs) == names


def test_the_command_of_a_shell_is_named_as_one_word() -> None:
    """What is typed again as it is shown starts the same engine."""
    (name,) = engine_names([launched("a", "bash -c 'echo boom; exit 3'", 3)]).values()
    assert name == "bash -c 'echo boom; exit 3' --port {port}"


def test_a_warning_of_some_cases_says_of_which() -> None:
    """One that all cases of a sweep have, or that of a single case, needs no name."""
    cases = [
        Case(parameters={"concurrency": 1, "api": "sglang"}, warnings=["cold"]),
        Case(parameters={"concurrency": 8, "api": "sglang"}, warnings=["cold", "uneven"]),
        Case(parameters={"concurrency": 64, "api": "sglang"}, warnings=["cold", "uneven"]),
    ]
    run = launched("a", "engine", 1)
    swept = run.model_copy(update={"cases": cases})
    assert [*warnings(swept)] == ["cold", "concurrency=8; concurrency=64: uneven"]
    single = run.model_copy(update={"cases": cases[1:2]})
    assert [*warnings(single)] == ["cold", "uneven"]
