"""``gamekit import`` shows, records once, joins series and refuses in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gamekit.commands.failures import run

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data" / "imports"
LAB = REPOSITORY / "perf" / "lab" / "sglang-bench"


def imported(base: Path) -> list[Path]:
    """The files of imports in the knowledge base."""
    return sorted((base / "findings" / "imported").rglob("*.yaml"))


def test_without_append_it_shows_and_writes_nothing(base: Path, gamekit) -> None:
    """What would be recorded is printed, with units, subject and what was not taken."""
    shown = gamekit("import", str(LAB / "eagle3-length2-c1.jsonl"))
    assert "accept_length: 2.0 tok/cycle, reported" in shown
    assert "speculation=EAGLE3" in shown
    assert "not taken: max_output_tokens_per_s: counts chunks" in shown
    assert "p99_ttft_ms" in shown
    assert "figures are means; percentiles are kept with the file" in " ".join(shown.split())
    assert "--append records it" in shown
    assert not imported(base)


def test_appended_figures_are_reported_with_their_source(base: Path, gamekit) -> None:
    """The file names tool, digest and what was kept aside; query gives source, grade and line."""
    file = LAB / "eagle3-length2-c1.jsonl"
    told = json.loads(gamekit("import", str(file), "--append", "--subject", "host=lab", "--json"))
    assert (told["tool"], told["already"]) == ("sglang bench_serving", [])
    assert [path.relative_to(base).as_posix() for path in imported(base)] == [told["file"]]
    assert told["file"].startswith("findings/imported/")
    gamekit("check")
    rows = json.loads(
        gamekit("query", "--subject", "host=lab", "--metric", "accept_length", "--json")
    )
    (row,) = rows
    assert row["grade"] == "reported"
    assert row["file"] == told["file"]
    assert row["source"]["kind"] == "import"
    assert row["source"]["sha256"] == told["sha256"]
    assert row["source"]["file"] == file.name
    text = imported(base)[0].read_text("utf-8")
    assert "max_output_tokens_per_s" in text.partition("findings:")[0]
    shown = gamekit("show", row["id"])
    assert "source: eagle3-length2-c1.jsonl of sglang bench_serving, sha256" in shown
    assert "convention: the server's value since its start" in shown
    gamekit("render")


def test_the_same_file_again_is_told_and_not_written(base: Path, gamekit) -> None:
    """Bytes that were imported are known again, under another name and subject too."""
    gamekit("import", str(DATA / "vllm-serve.json"), "--append")
    before = [path.read_bytes() for path in imported(base)]
    copy = base / "copy.json"
    copy.write_bytes((DATA / "vllm-serve.json").read_bytes())
    shown = gamekit("import", str(copy), "--append", "--subject", "host=other")
    assert "imported before, as findings/imported/" in shown
    assert "if its subject is wrong: git rm" in shown
    assert "series" not in shown
    assert [path.read_bytes() for path in imported(base)] == before
    told = json.loads(gamekit("import", str(copy), "--append", "--json"))
    assert told["file"] is None
    assert len(told["already"]) == 4 + 2  # two of its figures began series


def test_figures_of_the_stand_in_are_simulated(base: Path, gamekit) -> None:
    """Whatever tool measured it, the stand-in engine's figures never count as reported."""
    told = json.loads(gamekit("import", str(DATA / "aiperf.json"), "--append", "--json"))
    assert {row["grade"] for row in told["findings"]} == {"simulated"}
    gamekit("check")


def test_series_are_joined_by_subject_and_definition(base: Path, gamekit) -> None:
    """A declared series that is met is joined; one defined otherwise only where it is told."""
    findings = base / "findings" / "series.yaml"
    findings.write_text(
        """\
schema: 1
title: Series
findings:
  - id: latency
    kind: series
    title: Latency
    metric: request_latency
    unit: ms
    better: lower
    match: {target: llama-8b, speculation: EAGLE3, weights: dummy, concurrency: 1, host: lab}
    source: {kind: person, name: Ada, said: "2026-01-01"}
  - id: throughput
    kind: series
    title: Throughput
    metric: output_throughput
    unit: tok/s
    better: higher
    match: {target: llama-8b, speculation: EAGLE3, weights: dummy, concurrency: 1, host: lab}
    source: {kind: person, name: Ada, said: "2026-01-01"}
""",
        encoding="utf-8",
    )
    call = ("import", str(LAB / "eagle3-length2-c1.jsonl"), "--subject", "host=lab", "--json")
    rows = {row["metric"]: row for row in json.loads(gamekit(*call))["findings"]}
    assert rows["request_latency"]["series"] == "latency"
    assert rows["request_latency"]["subject"]["target"] == "llama-8b"
    assert rows["output_throughput"]["series"] is None
    rows = {
        row["metric"]: row
        for row in json.loads(gamekit(*call, "--series", "throughput"))["findings"]
    }
    assert rows["output_throughput"]["series"] == "throughput"


def test_an_older_file_does_not_become_the_current_figure(base: Path, gamekit) -> None:
    """What is imported last but was written before another leaves the newer figure current."""
    newer = LAB / "eagle3-length2-c1.jsonl"
    older = base / "older.jsonl"
    older.write_bytes(newer.read_bytes().replace(b"\n", b" \n"))  # other bytes, equal figures
    os.utime(older, (1_600_000_000, 1_600_000_000))
    current = []
    for file in (newer, older):
        told = json.loads(gamekit("import", str(file), "--append", "--json"))
        (row,) = (row for row in told["findings"] if row["metric"] == "request_latency")
        shown = json.loads(gamekit("query", row["id"], "--kind", "measurement", "--json"))
        current.append([one["current"] for one in shown if one["id"] == row["id"]])
    assert current == [[True], [False]]


@pytest.mark.parametrize(
    ("date", "written"),
    [
        ("20200913-122640", "2020-09-14T00:26:40.000000Z"),  # of a zone at most 12 h behind UTC
        ("00010101-000000", None),
        ("20261130", None),  # later than the file
        ("yesterday", None),
    ],
)
def test_a_file_is_no_newer_than_its_tool_says(
    base: Path, gamekit, date: str, written: str | None
) -> None:
    """A copy has the time of copying; what the tool noted in the file tells that it is older."""
    text = (DATA / "vllm-serve.json").read_text("utf-8")
    copy = base / "copy.json"
    copy.write_text(text.replace("20261130-205735", date), encoding="utf-8")
    os.utime(copy, (1_700_000_000, 1_700_000_000))
    told = json.loads(gamekit("import", str(copy), "--append", "--json"))
    source = told["findings"][0]["source"]
    assert source["written"] == (written or "2023-11-14T22:13:20.000000Z")


def test_a_series_that_nothing_fits_is_refused(base: Path, refused) -> None:
    """A series told by id that no figure of the file fits is a usage error."""
    error = refused(2, "import", str(DATA / "aiperf.json"), "--series", "rate")
    assert "no figure of decode_rate fits series rate" in error


def test_a_subject_that_contradicts_the_file_is_refused(base: Path, refused) -> None:
    """The file says how many requests were in flight; another number is a contradiction."""
    error = refused(
        2, "import", str(DATA / "vllm-serve.json"), "--subject", "concurrency=7", "--append"
    )
    assert "vllm-serve.json says concurrency=2" in error
    assert not imported(base)


def test_imports_that_begin_one_series_share_it(base: Path, gamekit) -> None:
    """A second tool's figures of the same subject join what the first one's began."""
    first = json.loads(gamekit("import", str(DATA / "vllm-serve.json"), "--append", "--json"))
    second = json.loads(gamekit("import", str(DATA / "aiperf.json"), "--append", "--json"))
    series = [
        {row["metric"]: row["series"] for row in told["findings"]}["ttft"]
        for told in (first, second)
    ]
    assert series[0] is not None
    assert series[0] == series[1]
    gamekit("check")


def test_each_size_of_a_message_is_a_subject_of_its_own(base: Path, gamekit) -> None:
    """Latencies of nccl-tests are told apart by size, placement and ranks."""
    told = json.loads(
        gamekit(
            "import", str(DATA / "nccl-tests.json"), "--subject", "host=lab", "--append", "--json"
        )
    )
    subjects = [json.dumps(row["subject"], sort_keys=True) for row in told["findings"]]
    assert len(set(subjects)) == len(told["findings"]) / 2 == 14
    gamekit("check")
    text = imported(base)[0].read_text("utf-8")
    assert "not-to-be-recorded" not in text
    assert "NCCL_PROTO: LL" in text


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"nothing of note\n"])
def test_what_cannot_be_read_is_one_line(base: Path, refused, content: bytes) -> None:
    """A file of no known format ends with exit code 2 and a line that names it; JSON too."""
    file = base / "given.json"
    file.write_bytes(content)
    error = refused(2, "import", str(file), "--append")
    assert error.startswith(f"{file}:1: ")
    assert error.count("\n") == 1
    assert json.loads(refused(2, "import", str(file), "--json"))["line"] == 1
    assert "no such file" in refused(2, "import", str(base / "none"))


def test_without_a_knowledge_base_it_shows_and_cannot_append(
    tmp_path: Path, gamekit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a knowledge base figures are shown; recording them is refused."""
    monkeypatch.chdir(tmp_path)
    assert "ttft: " in gamekit("import", str(DATA / "vllm-serve.json"))
    assert run(["import", str(DATA / "vllm-serve.json"), "--append"]) == 2


def test_a_secret_in_a_model_s_name_is_told_nowhere(base: Path, gamekit, tmp_path: Path) -> None:
    """Neither what is printed nor any written or rendered file has the address' password."""
    data = json.loads((DATA / "vllm-serve.json").read_text("utf-8"))
    file = tmp_path / "vllm.json"
    file.write_text(json.dumps({**data, "model_id": "https://ada-l:hunter2@host/sk-" + "a1" * 20}))
    told = gamekit("import", str(file)) + gamekit("import", str(file), "--append", "--json")
    gamekit("render")
    written = [path.read_bytes() for path in base.rglob("*") if path.is_file()]
    for secret in ("hunter2", "ada-l", "a1a1"):
        assert secret not in told
        assert not any(secret.encode() in content for content in written)


IMPOSSIBLE = (
    ("vllm-serve.json", ("mean_ttft_ms",)),
    ("vllm-serve.json", ("output_throughput",)),
    ("sglang-serving.jsonl", ("accept_length",)),
    ("aiperf.json", ("request_latency", "avg")),
    ("aiperf.json", ("request_throughput", "avg")),
    ("guidellm.json", ("benchmarks", 0, "metrics", "request_latency", "successful", "mean")),
    ("nccl-tests.json", ("results", 1, "in_place", "time")),
)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        (name, path, value)
        for name, path in IMPOSSIBLE
        for value in (1e30, 1e99, 1e-320, 0, -0.0, -3.5)
        # vllm and sglang write 0 for what they did not see: it is no figure of theirs.
        if value or not name.startswith(("vllm", "sglang"))
    ],
)
def test_an_impossible_figure_names_the_file_and_the_field(
    base: Path, refused, tmp_path: Path, name: str, path: tuple[str | int, ...], value: float
) -> None:
    """A figure that nothing can have is a usage error of the imported file, and none is written."""
    data = json.loads((DATA / name).read_text("utf-8"))
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    file = tmp_path / "given.json"
    file.write_text(json.dumps(data))
    error = refused(2, "import", str(file), "--append")
    assert error.startswith(f"{file}:1: ")
    assert str(path[-1]) in error
    assert not imported(base)


@pytest.mark.parametrize("value", [5e-05, 1e-12, 1.25e-07, 0.0001, 1e15, 123456789.0])
def test_a_small_or_large_figure_that_can_be_is_recorded(
    base: Path, gamekit, tmp_path: Path, value: float
) -> None:
    """A figure is written with its six digits, also where a float is written with an exponent."""
    data = json.loads((DATA / "vllm-serve.json").read_text("utf-8"))
    file = tmp_path / "given.json"
    file.write_text(json.dumps({**data, "mean_ttft_ms": value}))
    told = json.loads(gamekit("import", str(file), "--append", "--json"))
    (row,) = [row for row in told["findings"] if row["metric"] == "ttft"]
    assert row["value"]["mid"] == float(f"{value:.6g}")
    gamekit("check")
