"""A small knowledge base on disk that the command line is tried on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gamekit.commands.failures import run
from gamekit.store.begin import begin

FINDINGS = """\
schema: 1
title: Rates
findings:
  - id: rate
    kind: series
    title: Decode rate without speculation
    metric: decode_rate
    unit: tok/s
    better: higher
    match: {target: model-x, speculation: none, concurrency: 1, host: box}
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: rate-old
    kind: measurement
    title: Rate as it was believed
    metric: decode_rate
    value: {value: 89, unit: tok/s}
    subject: {target: model-x, speculation: none}
    series: rate
    source: {kind: investigation, messages: ["10"]}
  - id: rate-new
    kind: measurement
    title: Rate as it is
    metric: decode_rate
    value: {low: 82, high: 83, range: observed, unit: tok/s}
    subject: {target: model-x, speculation: none}
    series: rate
    supersedes: [rate-old]
    supersedes_because: The earlier rate did not come back.
    source: {kind: investigation, messages: ["20"]}
  - id: cost
    kind: measurement
    title: What a cycle costs at three steps
    metric: cycle_time
    value: {unit: ms, unknown: nobody measured it}
    source: {kind: investigation, messages: ["20"]}
  - id: stated-gain
    kind: claim
    title: A gain that does not follow
    statement: "[[rate-new]] is a gain over [[rate-old]]."
    formula: "[rate-new] - [rate-old]"
    unit: tok/s
    stated: {value: 50, unit: tok/s}
    source: {kind: investigation, messages: ["20"]}
  - id: tokens-per-cycle
    kind: claim
    title: Tokens in a cycle of three steps
    statement: A cycle would have to bring this many tokens.
    formula: "[rate] * [cost] / 1000"
    unit: tok/cycle
    source: {kind: investigation, messages: ["20"]}
"""

BEGINS = re.compile(r"\w+: case \d+ of \d+ begins( \(.*\))?")

Command = Callable[..., str]


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A knowledge base with a series, claims and a superseded figure; the current folder."""
    folder = tmp_path / "base"
    begin(folder)
    (folder / "findings" / "rates.yaml").write_text(FINDINGS, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def gamekit(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line that must succeed, and gives what it printed."""

    def command(*arguments: str) -> str:
        capsys.readouterr()
        code = run(arguments)
        shown = capsys.readouterr()
        assert code == 0, shown.err
        # Where stderr is no terminal, bench says there which case begins, and nothing else.
        assert all(BEGINS.fullmatch(line) for line in shown.err.splitlines()), shown.err
        assert not shown.err or (arguments[0] == "bench" and "--json" not in arguments)
        return shown.out

    return command


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command line that must end with the code given first, and gives its line on stderr."""

    def command(code: int, *arguments: str) -> str:
        capsys.readouterr()
        assert run(arguments) == code
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        return shown.err

    return command


def parsed(text: str) -> Any:
    """``text`` as JSON, which admits no NaN."""

    def no_constant(name: str) -> Any:
        raise AssertionError(name)

    return json.loads(text, parse_constant=no_constant)
