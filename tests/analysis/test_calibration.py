"""The cycle time that findings give: from which pairs, with which spread, what is left open."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge.bases import (
    STAND_IN,
    Data,
    claim,
    finding,
    known,
    measurement,
    published,
    review,
    run,
    said,
    series,
)

from gamekit.analysis.calibration import Calibration, Cycle, baseline_of, calibrate

from .cycles import SUBJECT, imposed, lengths, rates, served, subject, timed

STEADY = (-0.02, -0.01, 0.0, 0.01, 0.02)


def around(cycle: float, spread: float = 1.0) -> list[float]:
    return [cycle * (1 + spread * step) for step in STEADY]


def calibrated(*parts: Data, **options: Any) -> Calibration:
    return calibrate(known(*parts, **options))


def only(calibration: Calibration) -> Cycle:
    (cycle,) = calibration.cycles
    return cycle


@settings(max_examples=25, deadline=None)
@given(
    st.floats(1, 100),
    st.floats(1, 3),
    st.lists(st.floats(-0.02, 0.02), min_size=2, max_size=4),
)
def test_a_known_cycle_comes_back_from_rates_and_accept_lengths(
    cycle: float, length: float, starts: list[float]
) -> None:
    """Runs made of T give T: the mean of their own means, whatever the accept length."""
    means = [cycle * (1 + start) for start in starts]
    found = only(
        calibrated(
            *(served(f"r{i}", SUBJECT, around(mean), length) for i, mean in enumerate(means))
        )
    )
    assert found.time.mid == pytest.approx(statistics.fmean(means), rel=1e-9)
    assert found.time.low * (1 - 1e-9) <= statistics.fmean(means) <= found.time.high * (1 + 1e-9)
    assert found.steps == 2
    assert {one.pairing for one in found.estimates} == {"run"}
    assert found.interval == "between starts"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=4), st.floats(0.1, 1))
def test_spread_within_starts_and_between_them_is_kept_apart(
    shifts: list[float], spread: float
) -> None:
    """Moving whole starts changes only the spread between them, widening them only that within."""

    def spreads(by: list[float], width: float) -> tuple[float | None, float | None]:
        parts = [
            served(f"r{i}", SUBJECT, [30 + shift + width * step for step in STEADY], 2.0)
            for i, shift in enumerate(by)
        ]
        cycle = only(calibrated(*parts))
        return cycle.within, cycle.between

    within, between = spreads(shifts, spread)
    assert within == pytest.approx(spread * statistics.stdev(STEADY), rel=1e-6)
    assert between == pytest.approx(statistics.stdev(shifts), rel=1e-6, abs=1e-9)
    assert spreads([2 * shift for shift in shifts], spread)[0] == pytest.approx(within, rel=1e-6)
    assert spreads(shifts, 2 * spread)[1] == pytest.approx(between, rel=1e-6, abs=1e-9)


def test_boots_are_told_apart_from_starts() -> None:
    """Two starts on each of two boots: between boots counts their means, and one boot none."""
    boots = {0: "a", 1: "a", 2: "b", 3: "b"}
    parts = [
        served(f"r{i}", SUBJECT, around(30 + i), 2.0, environment={"boot": boots[i]})
        for i in range(4)
    ]
    cycle = only(calibrated(*parts))
    assert cycle.between_boots == pytest.approx(statistics.stdev([30.5, 32.5]))
    assert cycle.between == pytest.approx(statistics.stdev([30, 31, 32, 33]))
    assert only(calibrated(*parts[:2])).between_boots is None


def test_one_start_has_no_spread_between_starts() -> None:
    """The interval of a single start is that of its requests, and is called so."""
    cycle = only(calibrated(served("r1", SUBJECT, around(30), 2.0)))
    assert cycle.interval == "within one start"
    assert cycle.between is None
    assert cycle.within is not None


def test_a_timed_cycle_goes_before_a_pair_of_the_same_start() -> None:
    """Where cycles were counted, the quotient of rate and length is no second witness."""
    parts = run(
        "r1",
        "2026-12-01T10:00:00Z",
        rates("rate", SUBJECT, around(31), 2.0),
        lengths("length", SUBJECT, 2.0, 5),
        timed("cycle", SUBJECT, around(30)),
    )
    cycle = only(calibrated(parts))
    assert cycle.time.mid == pytest.approx(30)
    assert cycle.estimates[0].timed
    assert cycle.estimates[0].accept_length == 2.0


def test_an_imposed_length_needs_no_measured_one() -> None:
    """The engine draws around what was imposed; a natural length is not guessed."""
    of = imposed(2.5)
    cycle = only(calibrated(run("r1", "2026-12-01T10:00:00Z", rates("rate", of, around(30), 2.5))))
    assert cycle.time.mid == pytest.approx(30)
    assert cycle.estimates[0].pairing == "imposed"
    alone = run("r1", "2026-12-01T10:00:00Z", rates("rate", SUBJECT, around(30), 2.0))
    assert calibrated(alone).cycles == ()


def stated(name: str, value: float, metric: str, unit: str, **fields: Any) -> Data:
    return measurement(name, {"value": value, "unit": unit}, metric=metric, **fields)


def reported(of_rate: Data, of_length: Data, **fields: Any) -> list[Data]:
    return [
        stated("rate", 60, "decode_rate", "tok/s", subject=of_rate, **fields),
        stated("length", 2.0, "accept_length", "tok/cycle", subject=of_length, **fields),
    ]


def test_records_pair_where_all_that_a_length_belongs_to_is_known_and_equal() -> None:
    """Agreeing subjects pair, with roundings; a field that one leaves open matches nothing."""
    cycle = only(calibrated(*reported(SUBJECT, SUBJECT)))
    assert cycle.time.mid == pytest.approx(100 / 3)
    assert (cycle.rounded.low, cycle.rounded.high) == pytest.approx((1950 / 60.5, 2050 / 59.5))
    assert cycle.estimates[0].pairing == "subject"
    for other in (
        subject(workload=None),
        subject(workload="others"),
        subject(drafter="another"),
        subject(concurrency=None),
    ):
        assert calibrated(*reported(SUBJECT, other)).cycles == ()
        assert calibrated(*reported(other, SUBJECT)).cycles == ()
    open_in_both = subject(workload=None)
    assert calibrated(*reported(open_in_both, open_in_both)).cycles == ()


def roles() -> Data:
    return {
        "model": {
            "baseline": "rates",
            "speculative_rate": "rates",
            "cycle_time": "cycle",
            "accept_length": "lengths",
        }
    }


CYCLE = claim("cycle", "[lengths] / [rates] * 1000", "ms")
LENGTHS = {"metric": "accept_length", "unit": "tok/cycle"}


def test_reported_figures_of_the_named_series_pair_and_say_what_is_untold() -> None:
    """gamekit.yaml pairs two reported figures whose subjects leave something open, never clash."""
    told = subject(workload=None, concurrency=None, topk=None)
    rate, length = reported(told, told)
    parts = [
        series("rates"),
        series("lengths", **LENGTHS),
        {**rate, "series": "rates"},
        {**length, "series": "lengths"},
        CYCLE,
    ]
    found = calibrated(*parts, config=roles())
    assert found.host is only(found)
    assert found.host.estimates[0].pairing == "roles"
    assert found.host.estimates[0].untold == ("workload", "concurrency")
    assert (found.host.within, found.host.between) == (None, None)
    assert calibrated(*parts).cycles == ()
    clashing = {**length, "series": "lengths", "subject": subject(drafter="another")}
    assert calibrated(*parts[:3], CYCLE, clashing, config=roles()).cycles == ()


def test_the_host_moves_to_what_was_measured() -> None:
    """An adequate run of the named series takes the place of the reported pair."""
    told = subject(workload=None, concurrency=None)
    rate, length = reported(told, told)
    measured = run(
        "r1",
        "2026-12-01T10:00:00Z",
        {**rates("r1.rate", SUBJECT, around(25), 2.0), "series": "rates"},
        {**lengths("r1.length", SUBJECT, 2.0, 5), "series": "lengths"},
    )
    found = calibrated(
        series("rates"),
        series("lengths", **LENGTHS),
        {**rate, "series": "rates"},
        {**length, "series": "lengths"},
        CYCLE,
        measured,
        config=roles(),
    )
    assert found.host is not None
    assert found.host.time.mid == pytest.approx(25)
    assert found.host is found.of("r1.rate")


def test_what_does_not_count_calibrates_nothing() -> None:
    """Simulated, inadequate, failed and refuted figures give no cycle time."""
    wide = [10.0, 20.0, 30.0, 40.0, 50.0]
    assert calibrated(served("r1", SUBJECT, around(30), 2.0, engine=STAND_IN)).cycles == ()
    assert calibrated(served("r1", SUBJECT, wide, 2.0)).cycles == ()
    failed = {"outcome": "failed", "reason": "cut"}
    assert calibrated(served("r1", SUBJECT, around(30), 2.0, **failed)).cycles == ()
    refuted = review("no", "retracts", ["r1.rate"])
    assert calibrated(served("r1", SUBJECT, around(30), 2.0), refuted).cycles == ()


def test_a_cycle_belongs_to_its_chain_and_host() -> None:
    """Other steps, targets, hosts or graphs are other cycles; an open one stands alone."""
    others = [
        subject(steps=3, draft_tokens=4),
        subject(target="Other"),
        subject(host="there"),
        subject(cuda_graphs="eager"),
        subject(topk=None),
        subject(topk=None),
    ]
    parts = [served(f"r{i}", of, around(30 + i), 2.0) for i, of in enumerate([SUBJECT, *others])]
    found = calibrated(*parts)
    assert [cycle.time.mid for cycle in found.cycles] == pytest.approx([30, 31, 32, 33, 34, 35, 36])


def test_adequate_figures_take_the_place_of_published_ones() -> None:
    """Within one cycle what somebody published counts only until it was measured."""
    word = timed("word", SUBJECT, [40.0])
    word["source"] = published()
    assert only(calibrated(word)).time.mid == 40
    assert only(calibrated(word, served("r1", SUBJECT, around(30), 2.0))).time.mid == pytest.approx(
        30
    )


def test_whole_requests_stay_apart_from_decoding() -> None:
    """A rate that has prefill in it gives a cycle of its own, marked as such."""
    of = imposed(2.0)
    found = calibrated(
        run(
            "r1",
            "2026-12-01T10:00:00Z",
            rates("decode", of, around(30), 2.0),
            rates("whole", of, around(32), 2.0, metric="end_to_end_rate"),
        )
    )
    assert [(one.whole_requests, round(one.time.mid)) for one in found.cycles] == [
        (False, 30),
        (True, 32),
    ]


def test_a_split_needs_a_source_for_it() -> None:
    """Without a verify time there is none; with one, the rest is draft and overhead together."""
    assert only(calibrated(*reported(SUBJECT, SUBJECT))).split is None
    verify = stated("verify", 30, "verify_time", "ms", subject=subject(drafter=None))
    split = only(calibrated(*reported(SUBJECT, SUBJECT), verify)).split
    assert split is not None
    assert (split.verify, split.verify_time.mid) == ("verify", 30)
    assert split.rest.mid == pytest.approx(10 / 3)
    assert (split.rest_rounded.low, split.rest_rounded.high) == pytest.approx(
        (1950 / 60.5 - 30.5, 2050 / 59.5 - 29.5)
    )
    assert split.untold == ("cuda_graphs",)
    for other in (subject(host="there"), subject(draft_tokens=4, steps=3), subject(target=None)):
        elsewhere = stated("verify", 30, "verify_time", "ms", subject=other)
        assert only(calibrated(*reported(SUBJECT, SUBJECT), elsewhere)).split is None


def chain(steps: int, topk: int = 1) -> Data:
    return subject(steps=steps, topk=topk, draft_tokens=steps + 1)


@settings(max_examples=20, deadline=None)
@given(st.floats(10, 50), st.floats(0, 5))
def test_growth_with_the_steps_is_the_slope_of_the_sum(base: float, slope: float) -> None:
    """T = base + slope·k gives the slope with an interval around it, and no part of it apart."""
    parts = [
        served(f"r{i}", chain(steps), around(base + slope * steps, 0.1), 2.0)
        for i, steps in enumerate((1, 2, 3, 5))
    ]
    (growth,) = calibrated(*parts).growth
    assert growth.per_step.mid == pytest.approx(slope, abs=1e-6)
    assert growth.has_interval
    assert growth.per_step.low <= slope + 1e-6
    assert growth.per_step.high >= slope - 1e-6
    assert all(cycle.split is None for cycle in growth.cycles)


def test_growth_is_told_for_one_candidate_a_step_and_two_chains_at_least() -> None:
    """One chain has no slope, two have no interval, and more candidates widen verify otherwise."""
    two, three = (served(f"r{k}", chain(k), around(30 + k), 2.0) for k in (2, 3))
    assert calibrated(two).growth == ()
    (growth,) = calibrated(two, three).growth
    assert growth.per_step.mid == pytest.approx(1)
    assert not growth.has_interval
    wide = [served(f"r{k}", chain(k, topk=4), around(30 + k), 2.0) for k in (2, 3)]
    assert calibrated(*wide).growth == ()


def test_a_persons_samples_without_a_start_stand_for_themselves() -> None:
    """Two records whose server starts nobody told are not pooled into one start."""
    parts = [timed(name, SUBJECT, around(cycle)) for name, cycle in (("a", 30), ("b", 31))]
    for part in parts:
        part["source"] = said("2026-12-01")
    cycle = only(calibrated(*parts))
    assert [start.name for start in cycle.starts] == [None, None]
    assert cycle.between == pytest.approx(statistics.stdev([30, 31]))
    for part in parts:
        part["environment"] = {"start": "the same"}
    assert len(only(calibrated(*parts)).starts) == 1


def test_what_the_target_is_made_of_is_taken_from_its_own_finding() -> None:
    """An engine does not tell the precision of what it loaded; the model's finding does."""
    untold = subject(quantization=None)
    runs = (served("r1", untold, around(30), 2.0), served("r2", untold, around(31), 2.0))
    assert len(calibrated(*runs).cycles) == 2
    model = finding("model", "big", role="target", name="Big", quantization="INT4")
    (cycle,) = calibrated(*runs, model).cycles
    assert cycle.subject.quantization == "INT4"
    assert len(cycle.starts) == 2


def test_a_counted_cycle_and_the_pair_of_its_requests_count_once() -> None:
    """What a run both timed and paired is one sample a request, whoever told the precision."""
    untold = subject(quantization=None)
    one = served("r1", untold, around(30), 2.0)
    one["findings"].append(
        {**timed("r1.cycle", untold, around(30)), "source": one["findings"][0]["source"]}
    )
    model = finding("model", "big", role="target", name="Big", quantization="INT4")
    (cycle,) = calibrated(one, model).cycles
    assert cycle.ids == ("r1.cycle", "r1.length")  # not the rate
    assert len(cycle.starts[0].samples) == len(STEADY)


def test_the_rate_without_speculation_is_that_of_the_same_engine_and_host() -> None:
    """The mean of its starts; of another host, of other graphs or of shorter answers it is not."""
    of = subject(weights="dummy", cuda_graphs="captured", output_tokens=257)
    plain = {**of, "speculation": "none"}
    for field in ("drafter", "steps", "topk", "draft_tokens", "acceptance"):
        del plain[field]
    parts = [served("r1", of, around(30), 2.0)]
    for number, (rate, changed) in enumerate(
        [
            (80, {}),
            (82, {}),
            (50, {"host": "there"}),
            (20, {"cuda_graphs": "eager"}),
            (90, {"output_tokens": 65}),
        ],
        start=2,
    ):
        samples = {
            "samples": [rate * one for one in (0.99, 0.995, 1, 1.005, 1.01)],
            "unit": "tok/s",
        }
        parts.append(
            run(
                f"r{number}",
                f"2026-12-0{number}T10:00:00Z",
                measurement(
                    f"r{number}.rate", samples, metric="decode_rate", subject={**plain, **changed}
                ),
            )
        )
    knowledge = known(*parts)
    (cycle,) = calibrate(knowledge).cycles
    baseline = baseline_of(knowledge, cycle)
    assert baseline is not None
    assert baseline.mid == pytest.approx(81)
    # Two starts: Student's t with one degree of freedom.
    assert baseline.high - baseline.mid == pytest.approx(12.706, rel=1e-3)
    open_graphs = calibrate(known(served("r1", subject(), around(30), 2.0))).cycles[0]
    assert baseline_of(knowledge, open_graphs) is None


def test_what_accept_lengths_differ_by_is_no_spread_of_starts() -> None:
    """Starts at one imposed length tell a spread; another length tells of the model."""
    parts = [
        served("r1", imposed(1.0), around(30), 1.0),
        served("r2", imposed(1.0), around(31), 1.0),
        served("r3", imposed(2.0), around(40), 2.0),
    ]
    assert only(calibrated(*parts)).between == pytest.approx(statistics.stdev([30, 31]))
    assert only(calibrated(parts[0], parts[2])).between is None
