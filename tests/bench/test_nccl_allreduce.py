"""nccl_allreduce: which groups it starts, what it refuses to force, what it says of each case.

The ranks are a script that speaks as they do and writes NCCL's log: NCCL itself needs GPUs. What
gloo measures on a CPU is tested beside the engine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gamekit.bench.discovery import discover
from gamekit.bench.runner import RunOutcome, run_benchmarks, why_not_here
from gamekit.bench.sweep import cases_of, parse_settings
from gamekit.errors import NotApplicable, UsageFault
from gamekit.findings import Case, Measurement
from gamekit.host.capture import capture
from gamekit.host.redact import Redactor

LOGS = Path(__file__).resolve().parent.parent / "data" / "nccl_logs"
BENCHMARK = discover(None).benchmarks["nccl_allreduce"]
RANKS = """
import json, os, socket, sys
if "-c" in sys.argv[1:3]:
    sys.exit(0)
if "--probe" in sys.argv:
    print(json.dumps({{"python": "3.12.1", "torch": "2.11.0", "gpus": {gpus}, "nccl": "2.28.9"}}))
    sys.exit()
with open({started!r}, "a") as file:
    file.write(os.environ.get("NCCL_PROTO", "-") + " ")
one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[sys.argv.index("--socket") + 1])
file = one.makefile("rwb")
def tell(**event):
    file.write(json.dumps(event).encode() + b"\\n"); file.flush()
logs = os.environ["GAMEKIT_NCCL_LOGS"]
with open(logs + "/start.host.1", "w") as log:
    log.write(open({log!r}).read())
    for name in ("NCCL_PROTO", "NCCL_MIN_NCHANNELS"):
        if name in os.environ:
            log.write(f"x NCCL INFO {{name}} set by environment to {{os.environ[name]}}\\n")
size = int(sys.argv[sys.argv.index("--nproc-per-node") + 1])
tell(about={{"torch": "2.11.0", "nccl": "2.28.9", "quiet": True}}, size=size, rank=0)
wrong = 1 if os.environ.get("NCCL_PROTO") == "Simple" else 0
fast = 0.5 if os.environ.get("NCCL_PROTO") == "LL" else 1.0
number = 0
for line in file:
    command = json.loads(line)
    if command["do"] == "end":
        sys.exit()
    number += 1
    latency = fast * (20 + number % 3 * 0.01)
    tell(ranks=[{{"latency_us": latency, "wrong": wrong}}] * size)
"""


@pytest.fixture
def measure(tmp_path: Path) -> Any:
    """Runs the benchmark with such ranks; ``log`` is what their NCCL says when it starts."""
    (tmp_path / "kb" / "findings").mkdir(parents=True)
    (tmp_path / "kb" / "gamekit.yaml").write_text("schema: 1\ntitle: T\nplan: p.md\n")

    def call(*settings: str, log: str = "2.28-nvlink.log", gpus: int = 2) -> RunOutcome:
        started = str(tmp_path / "started")
        python = tmp_path / "python"
        ranks = RANKS.format(started=started, log=str(LOGS / log), gpus=gpus)
        python.write_text(f"#!{sys.executable}\n{ranks}")
        python.chmod(0o755)
        (outcome,) = run_benchmarks(
            tmp_path / "kb",
            ["nccl_allreduce"],
            settings=[f"python={python}", "repeats=6", *settings],
            subject=["host=lab"],
            command=["gamekit", "bench"],
        )
        return outcome

    return call


def cases(outcome: RunOutcome) -> list[Case]:
    assert outcome.record is not None
    return outcome.record.run.cases


def figures(outcome: RunOutcome) -> dict[tuple[Any, str], Measurement]:
    """By setting and metric."""
    assert outcome.record is not None
    return {
        (one.subject.parameters.get("setting"), one.metric): one
        for one in outcome.record.findings
        if isinstance(one, Measurement)
    }


def test_a_setting_is_measured_against_its_control(measure: Any, tmp_path: Path) -> None:
    """Half the time is half the ratio; each group starts once for all sizes and modes."""
    outcome = measure("bytes=8192,16384", "setting=none,NCCL_PROTO=LL")
    assert len(cases(outcome)) == 8
    found = figures(outcome)
    assert found["NCCL_PROTO=LL", "latency_ratio"].value.samples == pytest.approx([0.5] * 6, 1e-3)
    assert (None, "latency_ratio") not in found
    assert sorted((tmp_path / "started").read_text().split()) == ["-", "LL"]


def test_the_bandwidths_are_those_of_the_ranks(measure: Any) -> None:
    """Of four ranks the bus bandwidth is one and a half times the algorithm's."""
    outcome = measure("bytes=8192", "mode=graph", "ranks=4", "backend=nccl", gpus=4)
    samples = cases(outcome)[0].samples
    for latency, algorithm, bus in zip(
        samples["allreduce_latency"],
        samples["algorithm_bandwidth"],
        samples["bus_bandwidth"],
        strict=True,
    ):
        assert algorithm == pytest.approx(8.192 / latency, 1e-4)
        assert bus == pytest.approx(1.5 * algorithm, 1e-4)


def test_what_nccl_says_is_recorded(measure: Any) -> None:
    """Transport, channels, what it took from the environment, what it chose; and what not."""
    setting = "NCCL_MIN_NCHANNELS=8+NCCL_CUMEM_ENABLE=0"
    (case,) = cases(measure("bytes=8192", "mode=eager", f"setting={setting}"))
    assert case.facts["nccl"]["transports"] == {"P2P/CUMEM": 3}
    assert case.facts["nccl"]["set_by_environment"]["NCCL_MIN_NCHANNELS"] == "8"
    assert "NCCL_MIN_NCHANNELS" not in case.facts["nccl_of_control"]["set_by_environment"]
    assert case.facts["chosen"] == "RING/LL, 4 channels"
    assert case.facts["ranks_run"]["nccl"] == "2.28.9"
    (warning,) = case.warnings
    assert "did not" not in warning
    assert "NCCL_CUMEM_ENABLE" in warning


def test_a_protocol_that_nccl_does_not_allow_is_not_forced(measure: Any, tmp_path: Path) -> None:
    """Its case has no figure and says why; the others have theirs."""
    settings = ("bytes=8192", "mode=eager", "setting=none,NCCL_PROTO=LL128")
    outcome = measure(*settings, log="2.28-pcie.log")
    found = figures(outcome)
    assert found[None, "allreduce_latency"].value.samples
    value = found["NCCL_PROTO=LL128", "allreduce_latency"].value
    assert "NCCL's own table allows LL, Simple" in (value.unknown or "")
    assert ("NCCL_PROTO=LL128", "bus_bandwidth") not in found


def test_wrong_values_give_no_bandwidth(measure: Any) -> None:
    """A case in which a value came back wrong has no time and no bandwidth."""
    outcome = measure("bytes=8192", "mode=eager", "setting=none,NCCL_PROTO=Simple")
    found = figures(outcome)
    wrong = found["NCCL_PROTO=Simple", "allreduce_latency"]
    assert wrong.value.samples is None
    assert any("came back wrong" in flaw for flaw in wrong.flaws)
    assert ("NCCL_PROTO=Simple", "bus_bandwidth") not in found
    assert found[None, "bus_bandwidth"].value.samples


def test_one_rank_is_a_smoke_run(measure: Any) -> None:
    """Every figure of it says so as a flaw, so that none is adequate."""
    found = figures(measure("bytes=8192", "mode=eager", "ranks=1", "backend=nccl"))
    assert {metric for _, metric in found} == {"allreduce_latency", "algorithm_bandwidth"}
    assert all("one rank: a smoke run, no figure" in one.flaws for one in found.values())


def test_a_decode_step_shares_the_series_of_its_bytes(measure: Any) -> None:
    """batch, draft tokens and hidden give the bytes, and only those are of the subject."""
    outcome = measure("batch=1", "draft_tokens=4", "hidden=7168", "mode=eager")
    (case,) = cases(outcome)
    assert case.subject.parameters == {
        "bytes": 57344,
        "mode": "eager",
        "ranks": 2,
        "backend": "nccl",
    }


def test_without_settings_the_sizes_of_decode_steps_are_swept() -> None:
    """Ten sizes, eager and graphed; a message given otherwise takes the place of the sizes."""
    assert len(cases_of(BENCHMARK, {})) == 20
    assert len(cases_of(BENCHMARK, parse_settings(["hidden=7168,4096"], [BENCHMARK]))) == 4


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (["bytes=8192", "hidden=7168"], "same in two ways"),
        (["batch=4"], "hidden=N"),
        (["bytes=8190", "dtype=float32"], "multiple of 4"),
        (["nodes=2"], "rendezvous"),
        (["rendezvous=a:1"], "rendezvous"),
        (["rendezvous=a"], "no HOST:PORT"),
        (["nodes=2", "rendezvous=a:1", "node_rank=2"], "node_rank=2 of 2"),
        (["setting=x"], "no NAME=value"),
        (["setting=NCCL_ALGO=foo"], "NCCL does not understand 'foo'"),
        (["backend=gloo", "setting=none,NCCL_PROTO=LL"], "gloo does not read NCCL_PROTO"),
        (["backend=nccl", "setting=GLOO_SOCKET_IFNAME=lo"], "nccl does not read GLOO_SOCKET"),
        (["python=/nowhere"], "does not run"),
    ],
)
def test_what_does_not_fit_is_refused(pairs: list[str], why: str) -> None:
    """Before any rank is started."""
    with pytest.raises(UsageFault, match=why):
        cases_of(BENCHMARK, parse_settings(pairs, [BENCHMARK]))


@pytest.mark.parametrize(
    ("gpus", "settings", "kind", "why"),
    [
        (0, ["backend=nccl"], NotApplicable, "finds none here"),
        (0, ["backend=nccl", "ranks=2"], NotApplicable, "finds none here"),
        (2, ["ranks=3"], UsageFault, "3 ranks with nccl need as many GPUs, and there are 2"),
        (0, ["setting=none,NCCL_PROTO=LL"], UsageFault, "gloo does not read NCCL_PROTO"),
    ],
)
def test_what_the_gpus_here_cannot_do_is_refused(
    measure: Any, tmp_path: Path, gpus: int, settings: list[str], kind: type[UsageFault], why: str
) -> None:
    """No GPU, too few, or a setting of NCCL without it: no rank is started to find out."""
    with pytest.raises(kind, match=why):
        measure("bytes=8192", "mode=eager", *settings, gpus=gpus)
    assert not (tmp_path / "started").exists()


def test_too_long_a_row_is_refused(measure: Any) -> None:
    """Values that would overflow could not be verified."""
    with pytest.raises(UsageFault, match="can be verified for 70 all-reduces"):
        measure("bytes=8192", "mode=eager", "iterations=71", "ranks=8", "backend=nccl", gpus=8)


def test_torch_may_be_in_another_interpreter() -> None:
    """With ``python`` set in every case the benchmark can run where gamekit has no torch."""
    around = capture(Redactor())
    with_python = [{"python": "/somewhere"}]
    assert why_not_here(BENCHMARK, around, with_python) is None
    without = why_not_here(BENCHMARK, around, [{"python": None}, *with_python])
    assert without == why_not_here(BENCHMARK, around)
