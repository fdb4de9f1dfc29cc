"""The recorded streams say what the findings of the recordings say, and calibrate the model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from gamekit.analysis import claims
from gamekit.analysis.calibration import Calibration, calibrate
from gamekit.analysis.model_error import ModelError, judge
from gamekit.findings import Measurement
from gamekit.formula import Known
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record
from gamekit.streaming.figures import StreamFigures, stream_figures
from gamekit.streaming.reader import read_stream

RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"
STREAMS = {
    "h200-baseline": "baseline",
    "h200-at26": "eagle3-sim2.6",
}
NAMES = ("generate", "chat", "chat-stops-early", "completions-no-usage")
# Tokens per second of whole requests, one after another, as the client's clock told them.
WHOLE_REQUESTS = {
    "h200-baseline-whole-requests": [477.7, 498.9, 496.3, 772.5, 817.0],
    "h200-at26-whole-requests": [701.0, 642.1, 697.7, 723.2, 713.0],
    "h200-other-baseline": [785, 834, 856],
    "h200-other-eager": [54, 49, 66],
    "h200-other-at1": [307, 349, 340],
    "h200-other-at2": [684, 674, 682],
    "h200-other-at3": [965, 969, 1001],
    "h200-other-at1-eager": [33, 42, 38],
}


def figures_of(stream: str) -> StreamFigures:
    lines = (RECORDINGS / f"{stream}.jsonl").read_text(encoding="utf-8").splitlines()
    reads = [(at, text.encode("latin-1")) for at, text in map(json.loads, lines[1:])]
    return stream_figures(read_stream(reads))


def measured(curated: Mapping[str, Record], name: str) -> Measurement:
    finding = curated[name].finding
    assert isinstance(finding, Measurement)
    return finding


@pytest.mark.parametrize("prefix", STREAMS)
@pytest.mark.parametrize("name", NAMES)
def test_findings_of_a_stream_are_what_the_stream_gives(
    curated: Mapping[str, Record], prefix: str, name: str
) -> None:
    """Rate, TTFT, cycle and accept length are those that are read from the recording."""
    figures = figures_of(f"{STREAMS[prefix]}/{name}")
    given = {
        "rate": figures.decode_rate,
        "cycle": figures.cycle_ms,
        "accept-length": figures.accept_length,
        "ttft": figures.ttft_ms if name == "chat" else None,
    }
    for what, figure in given.items():
        key = f"{prefix}-{name}-{what}"
        if figure is not None:
            finding = measured(curated, key)
            assert finding.value.samples == pytest.approx([figure], rel=1e-5)
            assert finding.subject.output_tokens == figures.completion_tokens
        elif what == "rate":
            assert measured(curated, key).value.unknown is not None
        else:
            assert key not in curated


def test_whole_requests_are_those_of_the_clock(curated: Mapping[str, Record]) -> None:
    """Every figure of whole requests has its samples in order, and there is no other."""
    found = {
        name: measured(curated, name).value.samples
        for name, record in curated.items()
        if isinstance(record.finding, Measurement) and record.finding.metric == "end_to_end_rate"
    }
    assert found == WHOLE_REQUESTS
    assert measured(curated, "h200-baseline-whole-requests").flaws


def test_the_recordings_stay_out_of_everything_of_this_host(
    knowledge: Knowledge, curated: Mapping[str, Record]
) -> None:
    """They are published, of another target and host, and members of no series."""
    for record in curated.values():
        if record.file == "findings/recordings.yaml" and isinstance(record.finding, Measurement):
            assert record.finding.series is None
            assert record.finding.subject.host == "h200-recordings"
            assert record.finding.subject.target == "SmolLM2-135M-Instruct"
            assert str(knowledge.grade(record.id)).startswith("published")


@pytest.fixture(scope="module")
def calibration(knowledge: Knowledge) -> Calibration:
    return calibrate(knowledge)


def test_the_cycle_of_this_host_is_that_of_the_texts(
    knowledge: Knowledge, calibration: Calibration
) -> None:
    """2.0 over 59 to 61 tok/s is 32.8 to 33.9 ms, and 31.7 to 35.0 with the roundings of both."""
    host = calibration.host
    assert host is not None
    assert host.steps == 2
    assert (host.time.low, host.time.mid, host.time.high) == pytest.approx(
        (2000 / 61, 2000 / 60, 2000 / 59)
    )
    assert (host.rounded.low, host.rounded.high) == pytest.approx((1950 / 61.5, 2050 / 58.5))
    assert host.estimates[0].untold == ("workload", "concurrency")
    claim = knowledge.figure("calibrated-cycle")
    assert claim.known == host.time
    assert isinstance(claim.rounded, Known)
    assert (claim.rounded.range.low, claim.rounded.range.high) == pytest.approx(
        (host.rounded.low, host.rounded.high)
    )


def test_what_this_hosts_figures_leave_open_is_not_reported(calibration: Calibration) -> None:
    """Verify is split off by its own measurement; no spread, no growth, no split of the rest."""
    host = calibration.host
    assert host is not None
    assert host.split is not None
    assert host.split.verify == "verify-reported"
    assert (host.split.rest.low, host.split.rest.high) == pytest.approx(
        (2000 / 61 - 30, 2000 / 59 - 30)
    )
    assert (host.within, host.between, host.between_boots) == (None, None, None)
    assert calibration.growth == ()


def test_the_recorded_cycle_is_that_of_the_counters(calibration: Calibration) -> None:
    """The stream that tells its verify count is timed; its own rate is no second estimate."""
    cycle = calibration.of("h200-at26-generate-cycle")
    assert cycle is not None
    assert cycle.time.mid == pytest.approx((541.348 - 53.444) / 96, rel=1e-5)
    assert [one.timed for one in cycle.estimates] == [True]
    assert calibration.of("h200-at26-generate-rate") is None


@pytest.fixture(scope="module")
def judgement(calibration: Calibration) -> ModelError:
    (found,) = [one for cycle in calibration.cycles if (one := judge(cycle)) is not None]
    return found


def test_one_cycle_time_serves_for_the_imposed_lengths(judgement: ModelError) -> None:
    """About 3 ms at 1, 2 and 3 tokens a cycle; each is predicted from the others within 4 %."""
    cycles = {one.accept_length: one.cycle_ms for one in judgement.held_out}
    assert cycles == {
        length: pytest.approx(
            1000 * length / math.prod(WHOLE_REQUESTS[f"h200-other-at{length:.0f}"]) ** (1 / 3)
        )
        for length in (1.0, 2.0, 3.0)
    }
    assert all(abs(one.error.mid) < 0.04 for one in judgement.held_out)
    assert judgement.noise == "within starts"
    assert judgement.within_noise is True
    assert judgement.cycle.whole_requests
    # One start a length: what they differ by is the model's error, and no spread of starts.
    assert judgement.cycle.between is None


def test_the_errors_are_findings_that_another_route_gives(
    knowledge: Knowledge, judgement: ModelError
) -> None:
    """The claims compute them over mean rates, the judgement over logarithms of requests."""
    for one in judgement.held_out:
        claim = claims.evaluate(knowledge, f"h200-model-error-at{one.accept_length:.0f}")
        assert claim.verdict == "computed"
        assert isinstance(claim.computed, Known)
        assert claim.computed.range.mid == pytest.approx(100 * one.error.mid, abs=0.3)
