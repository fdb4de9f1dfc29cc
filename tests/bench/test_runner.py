"""The runner: what runs becomes a run with findings, whatever happens to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workbench import COUNTING, engine, files_below, knowledge_base, series_file

from gamekit.bench import runner
from gamekit.bench.discovery import discover
from gamekit.bench.runner import RunOutcome, run_benchmarks
from gamekit.errors import BenchmarkFailed, KnowledgeErrors, UsageFault
from gamekit.findings import Measurement, Series
from gamekit.store.load import load
from gamekit.store.spool import SPOOL_FOLDER

MODELS = {
    "/v1/models": {"data": [{"id": "tiny", "owned_by": "vllm"}]},
    "/version": {"version": "9"},
}
# A run file's own parts that a test writes in place of COUNTING's loop.
LOOP = 'for number in range(context["requests"]):\n'


def counting(body: str) -> str:
    """COUNTING with another body of its loop."""
    before, after = COUNTING.split(LOOP)
    rest = after.partition("\n\n\n")[2]
    return f"{before}{LOOP}        {body}\n\n\n{rest}"


def run(root: Path | None, *names: str, **options: Any) -> list[RunOutcome]:
    return run_benchmarks(root, names, command=["gamekit", "bench", *names], **options)


def measurement(outcome: RunOutcome, metric: str = "decode_rate") -> Measurement:
    assert outcome.record is not None
    (found,) = [
        one
        for one in outcome.record.findings
        if isinstance(one, Measurement) and one.metric == metric
    ]
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return knowledge_base(tmp_path / "kb", {"counting": COUNTING})


def no_spool_is_left(root: Path) -> bool:
    folder = root / SPOOL_FOLDER
    return not folder.exists() or not any(folder.iterdir())


def test_a_benchmark_that_a_user_added_runs(root: Path) -> None:
    """Its samples become a measurement with the subject that it told, in a series it began."""
    (outcome,) = run(root, "counting", subject=["host=bench-host", "target=GLM"])
    found = measurement(outcome)
    assert found.value.samples == [80.0, 81.0, 82.0, 83.0, 84.0]
    assert (found.subject.target, found.subject.host) == ("GLM", "bench-host")
    assert (found.subject.workload, found.subject.concurrency) == ("counting", 1)
    (joined,) = outcome.joined
    assert joined.begins is not None
    assert found.series == joined.series
    assert outcome.measured


def test_without_append_nothing_is_written(root: Path) -> None:
    """A run without --append leaves every file as it was, and makes none."""
    before = files_below(root)
    (outcome,) = run(root, "counting")
    assert files_below(root) == before
    assert outcome.file is None


def test_an_appended_run_loads_equal_and_the_next_joins_its_series(root: Path) -> None:
    """The run file holds the record; a later run of the same subject joins and begins nothing."""
    (first,) = run(root, "counting", append=True)
    (second,) = run(root, "counting", append=True)
    base = load(root)
    for outcome in (first, second):
        assert outcome.record is not None
        assert base.runs[outcome.record.run.id] == outcome.record.run
        assert measurement(outcome) == base.records[measurement(outcome).id].finding
    assert measurement(first).series == measurement(second).series
    assert second.joined[0].begins is None
    assert sum(isinstance(one.finding, Series) for one in base.records.values()) == 1
    assert no_spool_is_left(root)


def test_runs_that_begin_one_series_at_once_leave_a_good_knowledge_base(root: Path) -> None:
    """Two runs that each began the same series (on two branches, say) load as one series."""
    other = knowledge_base(root.parent / "branch", {"counting": COUNTING})
    (there,) = run(other, "counting", append=True)
    run(root, "counting", append=True)
    assert there.file is not None
    (root / there.file).write_bytes((other / there.file).read_bytes())
    base = load(root)
    assert len(base.runs) == 2
    assert sum(isinstance(one.finding, Series) for one in base.records.values()) == 1


def test_a_sweep_is_one_run_with_a_case_a_value(root: Path) -> None:
    """Each value gives a case with its samples and a measurement of its own."""
    (outcome,) = run(root, "counting", settings=["rate=10,20", "requests=2"], append=True)
    assert outcome.record is not None
    cases = outcome.record.run.cases
    assert [one.samples["decode_rate"] for one in cases] == [[10.0, 11.0], [20.0, 21.0]]
    found = [one for one in outcome.record.findings if isinstance(one, Measurement)]
    assert [one.value.samples for one in found] == [[10.0, 11.0], [20.0, 21.0]]
    assert len({one.id for one in found}) == 2
    assert len(load(root).runs) == 1


KEEPING = '''"""Opens one thing a run, and writes down when."""

from contextlib import contextmanager
from pathlib import Path

from gamekit.bench.module import Benchmark, Measures, Parameter

LOG = Path(__file__).with_name("log")


def note(line):
    with LOG.open("a") as log:
        log.write(line + " ")


@contextmanager
def opened():
    note("open")
    yield "thing"
    note("close")


def run(context):
    note(context.keep("thing", opened) + str(context["size"]))
    if context["size"] > context["largest"]:
        raise ValueError("too large")
    yield {"decode_rate": float(context["size"])}


BENCHMARK = Benchmark(
    name="keeping",
    description="keeps",
    measures=[Measures("decode_rate", headline=True)],
    parameters=[
        Parameter("size", int, (1, 2), "a sweep"),
        Parameter("largest", int, 9, "larger ones fail", effort=True),
    ],
    run=run,
)
'''


@pytest.mark.parametrize(("settings", "measured"), [([], True), (["largest=1"], False)])
def test_what_a_run_keeps_is_opened_once_and_closed_whatever_comes(
    tmp_path: Path, settings: list[str], measured: bool
) -> None:
    """Two cases share it; it is closed behind the last one, and behind one that fails."""
    root = knowledge_base(tmp_path, {"keeping": KEEPING})
    (outcome,) = run(root, "keeping", settings=settings)
    assert outcome.measured is measured
    log = (root / "benchmarks" / "log").read_text(encoding="utf-8")
    assert log.split() == ["open", "thing1", "thing2", "close"]


def test_a_swept_default_is_a_case_a_value_and_belongs_to_the_subject(tmp_path: Path) -> None:
    """Without a setting all values are measured, each with a series of its own."""
    root = knowledge_base(tmp_path, {"keeping": KEEPING})
    (outcome,) = run(root, "keeping", subject=["host=h"])
    assert outcome.record is not None
    subjects = [one.subject.parameters for one in outcome.record.run.cases]
    assert subjects == [{"size": 1}, {"size": 2}]
    assert len({one.series for one in outcome.joined}) == 2


@pytest.mark.parametrize(
    ("body", "reason", "samples"),
    [
        (
            'yield {"decode_rate": 80.0 / (2 - number)}',
            "ZeroDivisionError: float division by zero (counting.py:9)",
            [40.0, 80.0],
        ),
        ('yield {"decode_rate": float("nan")}', "NaN is not a number", None),
        ('yield {"decode_rate": "fast"}', "yielded 'fast' for the metric decode_rate", None),
        ('yield {"rates": [1, 2]}', "several values for rates", None),
        ("yield 7", "yielded a int, not a sample", None),
        ('yield {"decode_rate": 1e200}', "yielded 1e+200 for the metric decode_rate", None),
        ('yield {"decode_rate": 10**400}', "an integer beyond 64 bits", None),
        ('yield {"tokens": 2**70}', "sample.tokens: an integer beyond 64 bits", None),
        ('yield {"": 1}', "yielded 1 without a name", None),
        ("yield None", "yielded a NoneType, not a sample", None),
        ('context.warn("")', "a warning is '', and not a text", None),
        ('context.flaw(" ")', "a flaw is ' ', and not a text", None),
        ('context.not_known("decode_rate", "")', "why decode_rate is not known is ''", None),
        ('context.fact("", 1)', "the name of a fact is ''", None),
        ('context.fact("n" * 400, 1); yield {"decode_rate": 1.0}', "cannot be recorded", None),
        ('context.fact("d", {1, 2})', "the fact d: a set cannot be recorded", None),
        ('context.fact("d", eval("[" * 90 + "]" * 90))', "nested more than", None),
        ('yield {"decode_rate": 1.0}; raise SystemExit(3)', "SystemExit: 3 (counting.py:9)", [1.0]),
        ("raise GeneratorExit", "GeneratorExit", None),
        ('yield {"error": "reset by peer"}', "every one of 5 replicates failed", [None]),
        ('yield {"number": 1}', "its samples have number, and not decode_rate", [None]),
        ('yield {"decode_rate": None}', "decode_rate is empty in all samples", [None]),
        ("return", "the benchmark yielded no sample", None),
    ],
)
def test_a_failed_run_is_recorded_with_its_reason_and_no_number(
    tmp_path: Path, body: str, reason: str, samples: list[float | None] | None
) -> None:
    """Samples stay raw, every figure is unknown with the reason, and the spool is gone."""
    root = knowledge_base(tmp_path / "kb", {"counting": counting(body)})
    (outcome,) = run(root, "counting", append=True)
    assert outcome.record is not None
    recorded = load(root).runs[outcome.record.run.id]
    assert recorded.outcome == "failed"
    assert recorded.reason is not None
    assert reason in recorded.reason
    assert measurement(outcome).value.unknown == recorded.reason
    assert not outcome.measured
    kept = [case.samples.get("decode_rate") for case in recorded.cases]
    if samples is not None and samples != [None]:
        assert kept == [samples]
    else:
        assert not any(any(column or ()) for column in kept)
    assert no_spool_is_left(root)


def test_replicates_that_failed_are_a_flaw_of_the_rest(tmp_path: Path) -> None:
    """A figure of the replicates that succeeded says how many did not, and why."""
    body = 'yield {"error": "reset"} if number == 1 else {"decode_rate": 80.0 + number}'
    root = knowledge_base(tmp_path / "kb", {"counting": counting(body)})
    (outcome,) = run(root, "counting")
    found = measurement(outcome)
    assert found.value.samples == [80.0, 82.0, 83.0, 84.0]
    assert found.flaws == ["1 of 5 replicates failed, the first with: reset"]


def test_a_contradiction_is_refused_and_nothing_is_recorded(root: Path) -> None:
    """What the user says against what the benchmark fixes is a usage error without a trace."""
    with pytest.raises(UsageFault, match="--subject says concurrency=4, counting says"):
        run(root, "counting", subject=["concurrency=4"], append=True)
    assert load(root).runs == {}
    assert no_spool_is_left(root)


def test_a_choice_of_series_is_refused_before_more_is_measured(root: Path) -> None:
    """Two declared series that fit equally are a usage error; --series settles it."""
    series_file(
        root,
        {"id": "a", "match": {"host": "h", "workload": "counting"}},
        {"id": "b", "match": {"host": "h", "concurrency": 1}},
    )
    with pytest.raises(UsageFault, match="--series a or --series b"):
        run(root, "counting", subject=["host=h"], append=True)
    assert load(root).runs == {}
    assert no_spool_is_left(root)
    (outcome,) = run(root, "counting", subject=["host=h"], series=["b"])
    assert measurement(outcome).series == "b"


def test_the_series_told_fills_what_is_unknown_and_never_overrides(root: Path) -> None:
    """Unknown fields come from the series told; a known one that differs is refused."""
    series_file(root, {"id": "kimi", "match": {"target": "Kimi-K2.5", "host": "kimi-pcie8"}})
    (outcome,) = run(root, "counting", series=["kimi"])
    assert measurement(outcome).subject.target == "Kimi-K2.5"
    assert (outcome.joined[0].series, outcome.joined[0].begins) == ("kimi", None)
    with pytest.raises(UsageFault, match="--subject says target=GLM, series kimi says"):
        run(root, "counting", subject=["target=GLM"], series=["kimi"])


def test_a_series_told_concerns_only_what_measures_its_metric(tmp_path: Path) -> None:
    """The subject of another benchmark of the same call is not filled from it."""
    other = COUNTING.replace("counting", "other").replace("decode_rate", "end_to_end_rate")
    root = knowledge_base(tmp_path / "kb", {"counting": COUNTING, "other": other})
    series_file(root, {"id": "kimi", "match": {"target": "Kimi-K2.5"}})
    first, second = run(root, "counting", "other", series=["kimi"])
    assert measurement(first).subject.target == "Kimi-K2.5"
    assert measurement(second, "end_to_end_rate").subject.target is None


def test_a_refusal_behind_another_run_hides_that_run_from_nobody(tmp_path: Path) -> None:
    """The second benchmark contradicts --subject: the first one's outcome is still returned."""
    other = COUNTING.replace("counting", "other").replace("concurrency=1", "concurrency=2")
    root = knowledge_base(tmp_path / "kb", {"counting": COUNTING, "other": other})
    first, second = run(root, "counting", "other", subject=["concurrency=1"], append=True)
    assert first.measured
    assert isinstance(second.fault, UsageFault)
    assert len(load(root).runs) == 1
    assert no_spool_is_left(root)


def test_a_declared_series_is_joined_by_its_subject(root: Path) -> None:
    """A run whose subject has all the fields of a declared series joins it unasked."""
    series_file(root, {"id": "kimi", "match": {"target": "Kimi-K2.5", "concurrency": 1}})
    (outcome,) = run(root, "counting", subject=["target=kimi-k2.5"], append=True)
    assert measurement(outcome).series == "kimi"
    assert load(root).records[measurement(outcome).id].finding == measurement(outcome)


@pytest.mark.parametrize(
    ("needs", "reason"), [("GPU", "no nvidia-smi answers"), ("GPUS", "no nvidia-smi answers")]
)
def test_what_cannot_run_here_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str, reason: str
) -> None:
    """A need that is not met is an outcome without a record."""
    text = COUNTING.replace("run=run", f"run=run, needs=Needs.{needs}").replace(
        "import Benchmark", "import Needs, Benchmark"
    )
    root = knowledge_base(tmp_path / "kb", {"counting": text})
    monkeypatch.setenv("PATH", str(tmp_path))
    (outcome,) = run(root, "counting", append=True)
    assert outcome.record is None
    assert outcome.skipped is not None
    assert reason in outcome.skipped
    assert load(root).runs == {}


def test_a_broken_file_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    """Without names everything runs that can, and the broken file is an outcome with its fault."""
    small = COUNTING.replace("int, 5", "int, 1")
    # In place of the packaged ones: those take their time.
    names = list(discover(None).benchmarks)
    files = {name: small.replace('"counting",', f'"{name}",') for name in names}
    root = knowledge_base(tmp_path / "kb", {"broken": "import (\n", **files})
    outcomes = run(root)
    assert [one.benchmark for one in outcomes] == ["broken", *names]
    assert [one.measured for one in outcomes] == [False, *(True for _ in names)]
    assert "broken.py:1" in str(outcomes[0].fault)


def test_two_urls_are_measured_in_turn(tmp_path: Path) -> None:
    """Sample by sample, first and second change places; each url has a run of its own."""
    text = counting('ORDER.append(context.engine.url); yield {"decode_rate": float(len(ORDER))}')
    text = text.replace("def run", "ORDER = []\n\n\ndef run", 1)
    text = text.replace("run=run", "run=run, needs=Needs.SERVER").replace(
        "import Benchmark", "import Needs, Benchmark"
    )
    root = knowledge_base(tmp_path / "kb", {"counting": text})
    with engine(MODELS) as a, engine(MODELS) as b:
        first, second = run(root, "counting", urls=[a, b], settings=["requests=4"], append=True)
    assert measurement(first).value.samples == [1.0, 4.0, 5.0, 8.0]
    assert measurement(second).value.samples == [2.0, 3.0, 6.0, 7.0]
    assert len(load(root).runs) == 2
    assert first.record is not None
    assert first.record.run.engine is not None
    assert (first.record.run.engine.name, first.record.run.engine.version) == ("vllm", "9")
    assert first.record.run.engine.stand_in is False


def test_a_url_that_does_not_answer_fails_and_is_no_run(root: Path) -> None:
    """Nothing was measured: the error says so, and no stand-in takes the engine's place."""
    with pytest.raises(BenchmarkFailed, match="does not answer"):
        run(root, "serving_decode", urls=["http://127.0.0.1:9"], append=True)
    assert load(root).runs == {}


def test_a_wrong_knowledge_base_is_told_before_anything_is_measured(root: Path) -> None:
    """A findings file that does not load stops the run."""
    (root / "findings/bad.yaml").write_text("schema: 1\nfindings: [{id: x}]\n")
    with pytest.raises(KnowledgeErrors):
        run(root, "counting", append=True)


def test_appending_needs_a_knowledge_base() -> None:
    """Outside a knowledge base --append is a usage error."""
    with pytest.raises(UsageFault, match="--append needs a knowledge base"):
        run(None, "client_floor", append=True)


def test_secrets_and_homes_do_not_reach_a_run_file(tmp_path: Path) -> None:
    """Command, reason and samples are redacted when they are captured."""
    body = 'yield {"decode_rate": 1.0, "note": "/home/joe/x token=abcdefgh"}'
    root = knowledge_base(tmp_path / "kb", {"counting": counting(body)})
    (outcome,) = run_benchmarks(
        root, ["counting"], append=True, command=["gamekit", "--api-key", "abcdefgh", "/home/joe/m"]
    )
    assert outcome.file is not None
    text = (root / outcome.file).read_text()
    assert "joe" not in text
    assert "abcdefgh" not in text


def test_a_url_that_nothing_needs_is_not_asked(root: Path) -> None:
    """A benchmark without need of a server runs, and its record says that --url was not used."""
    (outcome,) = run(root, "counting", urls=["http://127.0.0.1:9"])
    assert outcome.measured
    assert outcome.record is not None
    assert outcome.record.run.cases[0].warnings == ["--url was not used: no server is needed"]


def test_a_spool_that_holds_no_run_is_told_and_stops_nothing(root: Path) -> None:
    """It is set aside, and the benchmark runs."""
    (root / SPOOL_FOLDER).mkdir(parents=True)
    (root / SPOOL_FOLDER / "odd.jsonl").write_text("{}")
    aside, own = run(root, "counting", append=True)
    assert own.measured
    assert (aside.benchmark, aside.recovered) == ("odd", True)
    assert aside.skipped is not None
    assert "odd.jsonl.bad" in aside.skipped


@pytest.mark.parametrize("at", ["capture", "Execution"])
def test_an_interruption_before_the_first_case_is_a_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Whatever had no time to begin was asked for, and is recorded as interrupted."""
    root = knowledge_base(tmp_path, {"counting": COUNTING})
    real, called = getattr(runner, at), []

    def first_interrupted(*arguments: Any, **options: Any) -> Any:
        called.append(at)
        if len(called) == 1:
            raise runner.Terminated("SIGHUP")
        return real(*arguments, **options)

    monkeypatch.setattr(runner, at, first_interrupted)
    (outcome,) = run(root, "counting", append=True)
    assert outcome.interrupted
    assert outcome.record is not None
    assert outcome.record.run.reason == "interrupted by SIGHUP"
    assert len(files_below(root / "findings" / "measured")) == 1
