"""``gamekit bench``: what it says, what it appends, and its exit codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gamekit.commands.failures import run

from .conftest import Command, parsed

STEADY = '''"""A benchmark that needs nothing."""

from gamekit.bench.module import Benchmark, Measures, Parameter

BENCHMARK = Benchmark(
    name="steady",
    description="gives the figures it is told",
    measures=[Measures("decode_rate")],
    parameters=[
        Parameter("rate", float, 80.0, "the figure", unit="tok/s"),
        Parameter("fails", bool, False, "whether it fails"),
        Parameter("repeats", int, 5, "samples taken", effort=True),
    ],
    run=lambda context: measured(context),
)


def measured(context):
    context.tell(workload="steady", concurrency=1)
    if context["fails"]:
        raise RuntimeError("the disk is on fire")
    for step in range(context["repeats"]):
        yield {"decode_rate": context["rate"] + step / 10}
'''
# No target: what has one is adequate only where an engine was identified.
SERIES = """\
schema: 1
findings:
  - id: steady-rate
    kind: series
    title: What steady measures on box
    metric: decode_rate
    unit: tok/s
    better: higher
    match: {workload: steady, concurrency: 1, host: box}
    source: {kind: person, name: Ada, said: "2026-01-01"}
"""
NEEDS_GPUS = STEADY.replace('name="steady"', 'name="hungry", needs=Needs.GPUS').replace(
    "Measures, Parameter", "Measures, Needs, Parameter"
)


@pytest.fixture
def bench(base: Path) -> Path:
    """The small knowledge base with a benchmark of its own."""
    folder = base / "benchmarks"
    folder.mkdir()
    (folder / "steady.py").write_text(STEADY, encoding="utf-8")
    (base / "findings" / "steady.yaml").write_text(SERIES, encoding="utf-8")
    return base


def run_files(base: Path) -> list[Path]:
    return sorted((base / "findings").rglob("measured/*/*.yaml"))


def test_append_writes_one_file_that_joins_the_declared_series(
    bench: Path, gamekit: Command
) -> None:
    """The run's figure joins the series whose fields it meets, and shows up as its current one."""
    text = gamekit("bench", "steady", "--subject", "host=box", "--append")
    (file,) = run_files(bench)
    assert f"appended {file.relative_to(bench).as_posix()}" in text
    assert "joins series steady-rate" in text
    assert "adequate" in text
    assert parsed(gamekit("show", "steady-rate", "--json"))["value"]["mid"] == pytest.approx(80.2)
    run = parsed(gamekit("show", file.stem, "--json"))
    assert run["kind"] == "run"
    assert [row["metric"] for row in run["findings"]] == ["decode_rate"]
    assert "run of steady, done" in gamekit("show", file.stem)


def test_json_lists_the_measurements_in_the_form_of_query(bench: Path, gamekit: Command) -> None:
    """Without --append nothing is written; a figure has neither file nor line, but an address."""
    before = sorted(bench.rglob("*"))
    (row,) = parsed(gamekit("bench", "steady", "--subject", "host=box", "--json"))
    assert row["grade"] == "adequate"
    assert row["series"] == "steady-rate"
    assert row["file"] is row["line"] is None
    assert row.pop("address") is None  # steady needs no engine
    assert set(row) == set(parsed(gamekit("query", "--json"))[0])
    assert sorted(bench.rglob("*")) == before


def test_a_run_without_known_subject_begins_a_series(bench: Path, gamekit: Command) -> None:
    """Nothing is assumed of the host: without it the declared series is not joined."""
    assert "joins series steady-rate" not in gamekit(
        "bench", "steady", "--subject", "host=elsewhere"
    )
    assert "begins series" in gamekit("bench", "steady", "--subject", "host=elsewhere")


def test_a_sweep_says_which_case_a_figure_is_of(bench: Path, gamekit: Command) -> None:
    """Each case has a heading with what it was set to, and only what differs is in it."""
    told = gamekit("bench", "steady", "--set", "rate=80,90")
    lines = [line.strip() for line in told.splitlines()]
    places = [lines.index("rate=80.0"), lines.index("rate=90.0")]
    assert [lines[place + 1].split(" tok/s")[0] for place in places] == [
        "decode_rate: 80.2",
        "decode_rate: 90.2",
    ]


def test_a_failed_benchmark_is_recorded_and_exit_6(
    bench: Path, refused: Callable[..., str], gamekit: Command
) -> None:
    """A benchmark that raises leaves a failed run with its reason, and no number anywhere."""
    assert "steady failed" in refused(6, "bench", "steady", "--set", "fails=true", "--append")
    (file,) = run_files(bench)
    assert "the disk is on fire" in file.read_text(encoding="utf-8")
    assert parsed(gamekit("show", "steady-rate", "--json"))["value"] is None


def test_what_cannot_run_here_is_skipped_with_its_reason(
    bench: Path, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """When only a benchmark for several GPUs was asked for, nothing was measured: exit 6."""
    (bench / "benchmarks" / "hungry.py").write_text(NEEDS_GPUS, encoding="utf-8")
    line = refused(6, "bench", "hungry", "--append")
    assert "nothing was measured" in line
    assert "several GPUs" in line
    assert run_files(bench) == []


def test_a_server_that_does_not_answer_is_exit_6(bench: Path, refused: Callable[..., str]) -> None:
    """A url that nobody listens on is never replaced by the stand-in."""
    line = refused(6, "bench", "serving_decode", "--url", "http://127.0.0.1:9", "--append")
    assert "127.0.0.1:9" in line
    assert run_files(bench) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["no_such_benchmark"],
        ["steady", "--set", "nonsense=1"],
        ["steady", "--set", "rate=fast"],
        ["steady", "--set", "rate"],
        ["steady", "--subject", "hots=box"],
        ["steady", "--subject", "host"],
        ["steady", "--series", "no-such-series"],
        ["steady", "--series", "steady-rate", "--subject", "host=elsewhere"],
    ],
)
def test_options_that_do_not_fit_are_exit_2_and_write_nothing(
    bench: Path, refused: Callable[..., str], arguments: list[str]
) -> None:
    """A wrong option is refused before anything is measured or written."""
    assert refused(2, "bench", *arguments, "--append").count("\n") == 1
    assert run_files(bench) == []


def test_a_wrong_knowledge_base_is_told_before_measuring(
    bench: Path, refused: Callable[..., str]
) -> None:
    """A dangling id is exit 1 at once, and no run file is written."""
    (bench / "findings" / "bad.yaml").write_text("schema: 1\nfindings: [1]\n", encoding="utf-8")
    refused(1, "bench", "steady", "--append")
    assert run_files(bench) == []


def test_list_names_needs_and_parameters(bench: Path, gamekit: Command) -> None:
    """--list shows own and packaged benchmarks with units and defaults, also as JSON."""
    text = gamekit("bench", "--list")
    for part in ("steady", "serving_decode", "client_floor", "needs nothing"):
        assert part in text
    assert re.search(r"^  rate +80\.0 +tok/s +the figure$", text, re.MULTILINE)
    assert re.search(r"^  ttft_limit +not set +ms +", text, re.MULTILINE)
    assert re.search(r"^  api +found out  ", text, re.MULTILINE)
    assert re.search(r"^  input_ids +not set  ", text, re.MULTILINE)
    assert not text.endswith("\n\n")
    listed = {item["name"]: item for item in parsed(gamekit("bench", "--list", "--json"))}
    assert listed["steady"]["parameters"][0]["unit"] == "tok/s"
    assert listed["serving_decode"]["needs"] == "a server"


def test_list_says_what_can_run_here(bench: Path, gamekit: Command) -> None:
    """A benchmark whose needs are not met says which; the others say that they can run."""
    (bench / "benchmarks" / "hungry.py").write_text(NEEDS_GPUS, encoding="utf-8")
    text = gamekit("bench", "--list", "hungry")
    assert "cannot run here: it needs several GPUs" in text
    listed = {item["name"]: item for item in parsed(gamekit("bench", "--list", "--json"))}
    assert listed["hungry"]["why_not_here"]
    assert listed["steady"]["why_not_here"] is None
    assert "  can run here\n" in gamekit("bench", "--list", "steady")


def test_swept_parameters_never_share_a_series(bench: Path, gamekit: Command) -> None:
    """Each value begins a series of its own, the default the plain one; effort begins none."""
    own = ["bench", "steady", "--subject", "host=elsewhere", "--append"]
    gamekit(*own, "--set", "rate=80,90")
    gamekit(*own, "--set", "rate=90")
    gamekit(*own, "--set", "repeats=7")
    members = {
        row["subject"].get("parameters.rate"): [
            one["value"]["n"] for one in parsed(gamekit("show", row["id"], "--json"))["history"]
        ]
        for row in parsed(
            gamekit("query", "--kind", "series", "--subject", "host=elsewhere", "--json")
        )
    }
    assert members == {None: [5, 7], 90.0: [5, 5]}
    gamekit("check")
    found = parsed(gamekit("query", "--subject", "parameters.rate=90", "--json"))
    assert {row["kind"] for row in found} == {"series", "measurement"}


def test_other_parameters_do_not_join_a_declared_series(bench: Path, gamekit: Command) -> None:
    """A series declared without parameters is that of their defaults."""
    text = gamekit("bench", "steady", "--subject", "host=box", "--set", "rate=80,90")
    assert text.count("joins series steady-rate") == 1
    assert "90" in text[text.index("begins series") :]


def test_a_series_begins_once_in_a_sweep(bench: Path, gamekit: Command) -> None:
    """What several cases begin together is begun by the first, and joined by the others."""
    sweep = ["bench", "steady", "--subject", "host=elsewhere", "--set", "repeats=5,6"]
    text = gamekit(*sweep, "--append")
    assert text.count("begins series") == 1
    assert text.count("begun above") == 1


def test_each_case_is_told_where_nobody_sees_a_progress_line(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal stderr has one line a case, with what is swept; none under --json."""
    sweep = ["bench", "steady", "--set", "repeats=5,6"]
    assert run(sweep) == 0
    assert capsys.readouterr().err.splitlines() == [
        "steady: case 1 of 2 begins (repeats=5)",
        "steady: case 2 of 2 begins (repeats=6)",
    ]
    assert run([*sweep, "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_an_impossible_figure_fails_the_run(
    bench: Path, refused: Callable[..., str], gamekit: Command
) -> None:
    """A benchmark that counts wrongly leaves a failed run, and the knowledge base stays right."""
    assert "steady failed" in refused(6, "bench", "steady", "--set", "rate=-80", "--append")
    (file,) = run_files(bench)
    assert "it cannot be negative" in file.read_text(encoding="utf-8")
    gamekit("check")


def test_a_subject_that_contradicts_itself_is_refused_before_measuring(
    bench: Path, refused: Callable[..., str]
) -> None:
    """Steps and draft tokens of a chain that do not fit are wrong usage, and nothing is written."""
    told = ["--subject", "steps=3", "--subject", "topk=1", "--subject", "draft_tokens=9"]
    assert "3 steps give 4" in refused(2, "bench", "steady", *told, "--append")
    assert "no parameters" in refused(2, "bench", "steady", "--subject", "parameters=x")
    assert run_files(bench) == []


def test_names_are_recorded_as_the_series_spells_them(bench: Path, gamekit: Command) -> None:
    """--subject host=BOX is the host that the declared series calls box; check agrees with it."""
    assert "joins series steady-rate" in gamekit(
        "bench", "steady", "--subject", "host=BOX", "--append"
    )
    gamekit("check")
    newest = parsed(gamekit("query", "--kind", "measurement", "--subject", "host=box", "--json"))
    assert [row["subject"]["host"] for row in newest] == ["box"]


def test_a_broken_benchmark_file_is_told_and_hides_no_other(
    bench: Path, refused: Callable[..., str], gamekit: Command
) -> None:
    """A file that cannot be imported is exit 1 with its line; another one, named, still runs."""
    (bench / "benchmarks" / "broken.py").write_text("x = (\n", encoding="utf-8")
    assert "broken.py:1" in refused(1, "bench", "--list")
    assert "broken.py:1" in refused(1, "check")
    gamekit("bench", "steady")


def test_samples_that_are_all_equal_are_said_to_be(bench: Path, gamekit: Command) -> None:
    """Without a range a reader would not know whether anything was seen of the spread."""
    file = bench / "benchmarks" / "steady.py"
    file.write_text(STEADY.replace("+ step / 10", "+ 0"), encoding="utf-8")
    assert "decode_rate: 80 tok/s (all of n = 5 equal)" in gamekit("bench", "steady")
    told = gamekit("bench", "steady", "--set", "repeats=1")
    assert "decode_rate: 80 tok/s (n = 1)" in told


def test_check_tells_a_broken_benchmark_beside_all_else(
    bench: Path, refused: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be imported hides neither what there is nor what else is wrong."""
    (bench / "benchmarks" / "broken.py").write_text("x = (\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["check"]) == 1
    shown = capsys.readouterr()
    assert "kinds:" in shown.out
    assert "no errors" not in shown.out
    assert "broken.py:1" in shown.err
    wrong = "schema: 1\ntitle: Wrong\nfindings:\n  - id: odd\n    kind: nothing\n"
    (bench / "findings" / "wrong.yaml").write_text(wrong, encoding="utf-8")
    told = refused(1, "check")
    assert "wrong.yaml:" in told
    assert "broken.py:1" in told
