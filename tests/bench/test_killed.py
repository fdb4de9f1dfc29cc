"""Runs that are interrupted or killed, as real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from workbench import COUNTING, knowledge_base

from gamekit.bench.runner import run_benchmarks
from gamekit.findings import Measurement, Run
from gamekit.knowledge import build
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.store.load import load
from gamekit.store.spool import SPOOL_FOLDER

# Two samples, then nothing more for longer than any test waits.
STUCK = COUNTING.replace('"number": number}', '"number": number}; pause(number)').replace(
    "def run",
    "import sys, time\n\n\ndef pause(number):\n    if number == 1:\n"
    "        print('sampled', flush=True)\n        time.sleep(600)\n\n\ndef run",
)
PROGRAM = (
    "import sys; from pathlib import Path; from gamekit.bench.runner import run_benchmarks;"
    "[o] = run_benchmarks(Path(sys.argv[1]), ['stuck'], append=True); print(o.interrupted)"
)


# All its samples, then the client's own floor, which takes a second at least and is told to begin.
FLOORED = '''"""Yields some rates, and measures the client itself behind them."""

from gamekit.bench import floor
from gamekit.bench.module import Benchmark, Measures, Needs

measure = floor.measure_floor


def told(*arguments):
    print("sampled", flush=True)
    return measure(*arguments)


def run(context):
    context.tell(workload="floored")
    floor.measure_floor = told
    yield from ({"decode_rate": 80.0 + number} for number in range(5))
    floor.floor_for(1, 5.0)


BENCHMARK = Benchmark("stuck", "gets stuck", [Measures("decode_rate")], run, Needs.SERVER)
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    stuck = STUCK.replace('name="counting"', 'name="stuck"')
    return knowledge_base(tmp_path / "kb", {"stuck": stuck, "counting": COUNTING})


def ended_by(root: Path, number: signal.Signals, program: str = PROGRAM) -> tuple[int, str]:
    """Start the stuck benchmark, send the signal after its second sample; code and output."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sampled\n"
        process.send_signal(number)
        output = process.stdout.read()
    return process.returncode, output


def test_cases_finished_before_an_interruption_keep_their_figures(root: Path) -> None:
    """The figure of the first case counts, in its series; that of the second is unknown."""
    sweep = "append=True, settings=['requests=1,5']"
    assert ended_by(root, signal.SIGINT, PROGRAM.replace("append=True", sweep)) == (0, "True\n")
    base = load(root)
    (run,) = base.runs.values()
    assert run.outcome == "interrupted"
    assert [case.samples["decode_rate"] for case in run.cases] == [[80.0], [80.0, 81.0]]
    first, second = (base.records[f"{run.id}.{n}.decode_rate"].finding for n in (1, 2))
    assert isinstance(first, Measurement)
    assert isinstance(second, Measurement)
    assert first.value.samples == [80.0]
    assert first.series in base.records
    assert second.value.unknown == "interrupted by Ctrl-C"
    build(base)


def test_an_interruption_while_the_client_is_measured_keeps_the_figures(tmp_path: Path) -> None:
    """Both engines measured in turn have all their samples, and a flaw says what is missing."""
    root = knowledge_base(tmp_path / "kb", {"stuck": FLOORED})
    with StandInEngine(SimulatorConfig()) as one, StandInEngine(SimulatorConfig()) as other:
        program = PROGRAM.replace("append=True", f"append=True, urls={[one.url, other.url]}")
        program = program.replace("[o]", "[o, _]")
        assert ended_by(root, signal.SIGINT, program) == (0, "True\n")
    runs = load(root).runs.values()
    assert [run.reason for run in runs] == ["interrupted by Ctrl-C"] * 2
    for run in runs:
        found = figure(root, run)
        assert found.value.samples == [80.0, 81.0, 82.0, 83.0, 84.0]
        (flaw,) = found.flaws
        assert flaw.startswith("whether the client limited the run is not known")


def figure(root: Path, run: Run) -> Measurement:
    (found,) = [
        one.finding
        for one in load(root).records.values()
        if isinstance(one.finding, Measurement) and one.run == run
    ]
    return found


@pytest.mark.parametrize(
    ("number", "how"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_an_interrupted_run_is_recorded_as_interrupted(
    root: Path, number: signal.Signals, how: str
) -> None:
    """Ctrl-C and SIGTERM end the run; its samples stay raw and its figure is unknown."""
    assert ended_by(root, number) == (0, "True\n")
    (run,) = load(root).runs.values()
    assert (run.outcome, run.reason) == ("interrupted", f"interrupted by {how}")
    assert run.cases[0].samples["decode_rate"] == [80.0, 81.0]
    assert figure(root, run).value.unknown == run.reason
    assert not any((root / SPOOL_FOLDER).iterdir())


def test_a_killed_run_becomes_a_failed_one_at_the_next_append(root: Path) -> None:
    """kill -9 leaves findings as they were; the next --append records it, and itself."""
    code, _ = ended_by(root, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert load(root).runs == {}
    killed, own = run_benchmarks(root, ["counting"], append=True)
    assert (killed.recovered, own.recovered) == (True, False)
    base = load(root)
    assert killed.record is not None
    run = base.runs[killed.record.run.id]
    assert (run.benchmark, run.outcome) == ("stuck", "failed")
    assert run.cases[0].samples["decode_rate"] == [80.0, 81.0]
    assert figure(root, run).value.unknown == run.reason
    assert len(base.runs) == 2


def test_a_run_without_append_recovers_nothing(root: Path) -> None:
    """Only --append writes: the spool of a killed run waits for it."""
    ended_by(root, signal.SIGKILL)
    run_benchmarks(root, ["counting"])
    assert load(root).runs == {}
    assert len(list((root / SPOOL_FOLDER).glob("*.jsonl"))) == 1
