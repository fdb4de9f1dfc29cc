"""Published figures are those of the cards, and claims are what plain arithmetic gives."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from gamekit.analysis import claims
from gamekit.findings import (
    Measurement,
    Publication,
)
from gamekit.formula import Known
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record

# From the model cards, by drafter: the figures of each benchmark.
PUBLISHED = {
    "AQ-MedAI/Kimi-K2-Instruct-eagle3": {"HumanEval": 3.372, "GSM8K": 3.165, "Math500": 3.490},
    "lightseekorg/kimi-k2.5-eagle3": {
        "MTBench": 2.687, "CEval": 2.295, "GSM8K": 3.201, "HumanEval": 3.285, "MATH500": 3.342,
        "AIME": 3.033, "MMStar": 2.787, "BFCL v3 simple": 3.798, "BFCL v3 multiple": 3.809,
        "BFCL v3 parallel": 3.669,
    },
    "lightseekorg/kimi-k2.5-eagle3 (after phase 1)": {
        "MTBench": 2.624, "CEval": 1.482, "GSM8K": 3.123, "HumanEval": 3.242, "MATH500": 3.323,
        "AIME": 2.972, "MMStar": 2.566, "BFCL v3 simple": 3.729, "BFCL v3 multiple": 3.745,
        "BFCL v3 parallel": 3.596,
    },
    "lightseekorg/kimi-k2.5-eagle3-mla": {
        "MTBench": 2.940, "CEval": 2.829, "GSM8K": 3.017, "HumanEval": 2.969, "MATH500": 3.051,
        "AIME": 3.139, "MMStar": 2.597,
    },
    "lightseekorg/kimi-k2.6-eagle3-mla": {
        "MTBench": 2.624, "CEval": 2.494, "GSM8K": 2.987, "HumanEval": 3.241, "MATH500": 3.245,
        "AIME": 2.982, "LiveCodeBench": 2.706,
    },
    "k-l-lambda/kimi-k2.6-eagle3-mla": {"own": 2.345},
    "k-l-lambda/kimi-k2.6-eagle3-mla (baseline_init)": {"own": 2.30},
}  # fmt: skip


def published(curated: Mapping[str, Record], metric: str) -> list[Measurement]:
    return [
        record.finding
        for record in curated.values()
        if isinstance(record.finding, Measurement)
        and isinstance(record.finding.source, Publication)
        and record.file == "findings/published.yaml"
        and record.finding.metric == metric
    ]


def test_published_accept_lengths_are_those_of_the_cards(curated: Mapping[str, Record]) -> None:
    """Every published accept length is there, by drafter and benchmark, and no other."""
    found: dict[str, dict[str, float | None]] = {}
    for finding in published(curated, "accept_length"):
        subject = finding.subject
        workload = "own" if "own prompts" in (subject.workload or "") else subject.workload
        found.setdefault(str(subject.drafter), {})[str(workload)] = finding.value.value
        assert (subject.steps, subject.topk, subject.draft_tokens) == (3, 1, 4)
        assert "does not say whether the token sampled by prefill" in (finding.convention or "")
    assert found == PUBLISHED


def test_published_figures_name_their_card_and_day(curated: Mapping[str, Record]) -> None:
    """A published figure names the card of its own drafter and the day it was read."""
    figures = [
        *published(curated, "accept_length"),
        *published(curated, "cumulative_acceptance"),
        *published(curated, "speedup"),
    ]
    assert len(figures) == 39 + 6 + 2
    for finding in figures:
        source = finding.source
        assert isinstance(source, Publication)
        repository = str(finding.subject.drafter).partition(" ")[0]
        assert source.address == f"https://huggingface.co/{repository}"
        assert source.read == "2026-11-29"
        assert finding.series is None


def test_published_speedups_and_rates_are_those_of_the_cards(curated: Mapping[str, Record]) -> None:
    """The two published speedups and the two sets of cumulative rates are there."""
    speedups = {one.subject.workload: one.value.value for one in published(curated, "speedup")}
    assert speedups == {"MT-Bench": 1.24, "Math500": 1.80}
    rates = [one.value.value for one in published(curated, "cumulative_acceptance")]
    assert rates == [0.648, 0.419, 0.278, 0.633, 0.404, 0.264]


def two_step_accuracy(accept_length: float) -> float:
    # In percent, from a² + a + 1 = L.
    return 50 * (math.sqrt(4 * accept_length - 3) - 1)


# By claim: the verdict, and the figure (low, middle, high) by plain arithmetic over the figures of
# the texts.
CLAIMS: dict[str, tuple[str, tuple[float, float, float]]] = {
    "early-gain": ("holds within rounding", (500 / 89, 500 / 89, 500 / 89)),
    "loss-stated": ("holds", (2100 / 82, 2250 / 82.5, 2400 / 83)),
    "break-even-stated": ("holds", (2.46, 2.475, 2.49)),
    "rate-from-verify": ("holds", (200 / 3, 200 / 3, 200 / 3)),
    "verify-explains-rate": ("contradicted", (200 / 3, 200 / 3, 200 / 3)),
    "target-accept-length-stated": ("holds", (4.5, 4.5, 4.5)),
    "aq-accuracy-stated": ("rests on another model", (85.27, 88.28, 91.16)),
    "accuracy-fits-two-steps": ("holds", (2.0496, 2.0496, 2.0496)),
    "kll-rates-sum-up": ("holds", (2.345, 2.345, 2.345)),
    "kll-rates-conditional": ("rests on another model", (1.995, 1.995, 1.995)),
    "slowdown": ("computed", (2100 / 82, 2250 / 82.5, 2400 / 83)),
    "calibrated-cycle": ("computed", (2000 / 61, 2000 / 60, 2000 / 59)),
    "overhead-per-cycle": ("computed", (2000 / 61 - 30, 2000 / 60 - 30, 2000 / 59 - 30)),
    "break-even": ("computed", (164 / 61, 165 / 60, 166 / 59)),
    "break-even-verify-only": ("computed", (2.46, 2.475, 2.49)),
    "ceiling": ("computed", (88.5, 90, 91.5)),
    "ceiling-verify-only": ("computed", (100, 100, 100)),
    "rate-at-verify-only": ("computed", (200 / 3, 200 / 3, 200 / 3)),
    "accept-length-for-target": ("computed", (300 / 61, 5.0, 300 / 59)),
    "steps-for-target": ("computed", (4, 4, 5)),
    "steps-for-target-verify-only": ("computed", (4, 4, 4)),
    "cycle-for-target": ("computed", (20, 20, 20)),
    "accept-length-from-accuracy": ("computed", (2.0496, 2.0496, 2.0496)),
    "accuracy-for-break-even": (
        "computed",
        (two_step_accuracy(164 / 61), two_step_accuracy(2.75), two_step_accuracy(166 / 59)),
    ),
    "accuracy-for-break-even-verify-only": (
        "computed",
        (two_step_accuracy(2.46), two_step_accuracy(2.475), two_step_accuracy(2.49)),
    ),
    "accuracy-for-break-even-three-steps-verify-only": ("computed", (68.08, 68.48, 68.88)),
    # 0.7390 + 0.7390² + 0.7390³ = 1.689, and so on
    "accuracy-for-break-even-three-steps": ("computed", (73.90, 75.37, 76.86)),
    # 1 + 0.8527 + 0.8527² = 2.580, and so on, with the accuracies of aq-accuracy-stated
    "transfer-at-best": ("computed", (2.580, 2.662, 2.743)),
    # the cycle is the calibrated one with 11 ms less, 30 - 19
    "rate-at-early-verify": (
        "computed",
        (2000 / (2000 / 59 - 11), 2000 / (2000 / 60 - 11), 2000 / (2000 / 61 - 11)),
    ),
    "longest-cycle-published-chat": ("computed", (2687 / 83, 2687 / 82.5, 2687 / 82)),
    "longest-cycle-published-math": ("computed", (3342 / 83, 3342 / 82.5, 3342 / 82)),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_come_to_their_figures(knowledge: Knowledge, name: str) -> None:
    """A claim's verdict and figure are those of plain arithmetic over the texts' figures."""
    verdict, figure = CLAIMS[name]
    result = claims.evaluate(knowledge, name)
    assert result.verdict == verdict
    assert isinstance(result.computed, Known)
    spread = result.computed.range
    assert (spread.low, spread.mid, spread.high) == pytest.approx(figure, rel=2e-4)


def test_what_no_chain_can_give_is_no_contradiction_but_another_model(
    knowledge: Knowledge,
) -> None:
    """78 % for 4.5 tokens a cycle comes from a chain without end: 1 - 1/4.5 is 77.8 %."""
    result = claims.evaluate(knowledge, "target-accuracy-stated")
    assert result.verdict == "rests on another model"
    assert isinstance(result.other, Known)
    assert result.other.range.mid == pytest.approx(100 * (1 - 1 / 4.5))
    for name in ("accuracy-for-target", "accuracy-for-target-three-steps"):
        assert claims.evaluate(knowledge, name).verdict == "impossible"


@pytest.mark.parametrize("name", ["ceiling-three-steps", "break-even-three-steps"])
def test_what_rests_on_the_three_step_cycle_is_unknown(knowledge: Knowledge, name: str) -> None:
    """Nobody has measured a 3-step cycle here, so its ceiling and break-even are unknown."""
    assert claims.evaluate(knowledge, name).verdict == "unknown"
