"""The first knowledge base holds the facts of the investigation, and nothing nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from gamekit.findings import (
    Approach,
    Evaluation,
    FailedExperiment,
    Finding,
    Host,
    Investigation,
    Measurement,
    Setting,
    Unknown,
    texts_of,
)
from gamekit.findings import (
    Model as Checkpoint,
)
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record

from .curated import ROOT, curated_files


@dataclass(frozen=True)
class Fact:
    """A fact: the messages it is from, the findings that hold it, and fields they must have."""

    messages: tuple[str, ...]
    findings: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()


# fmt: off
FACTS = {
    "F1": Fact(("4932-4937",), ("target-kimi-k25", "host-kimi-pcie8"), {
        "target-kimi-k25.name": "Kimi-K2.5", "target-kimi-k25.quantization": "INT4",
        "target-kimi-k25.layers": 61, "target-kimi-k25.parameters": "about 1 trillion",
        "host-kimi-pcie8.gpu_count": 8, "host-kimi-pcie8.interconnect": "PCIe",
        "host-kimi-pcie8.engine": "sglang",
    }, ("DeepSeek-V3 / MLA", "mixture of experts", "glm-kimi-sm120-rtx6000bw")),
    "F2": Fact(("4912-4931",), ("baseline-reported",), {
        "baseline-reported.value.low": 82, "baseline-reported.value.high": 83,
        "baseline-reported.value.unit": "tok/s", "baseline-reported.subject.speculation": "none",
    }),
    "F3": Fact(("4912-4931",), ("baseline-early",), {
        "baseline-early.value.value": 89, "baseline-early.subject.speculation": "none",
        "baseline-reported.supersedes": ["baseline-early"],
    }),
    "F4": Fact(("4912-4931",), ("eagle3-early", "early-gain"), {
        "eagle3-early.value.value": 94, "eagle3-early.subject.speculation": "EAGLE3",
        "early-gain.stated.value": 5.9, "early-gain.unit": "%",
    }),
    "F5": Fact(("4912-4931",), ("eagle3-reported", "loss-stated"), {
        "eagle3-reported.value.low": 59, "eagle3-reported.value.high": 61,
        "eagle3-reported.subject.steps": 2, "loss-stated.stated.value": 27,
        "eagle3-reported.supersedes": ["eagle3-early"],
    }),
    "F6": Fact(("4912-4931",), ("verify-reported",), {
        "verify-reported.value.value": 30, "verify-reported.value.unit": "ms",
        "verify-reported.subject.draft_tokens": 3, "verify-reported.subject.cuda_graphs": "eager",
    }, ("extend mode", "all layers of the target")),
    "F7": Fact(("4912-4931",), ("attention-mode-decode",), {
        "attention-mode-decode.deciding": ["verify-reported"],
    }, ("stayed the same in either mode",)),
    "F8": Fact(("4912-4931",), ("verify-early", "early-figures-not-reproduced"), {
        "verify-early.value.value": 19,
        "verify-early.environment.boot": "an earlier container boot",
        "verify-reported.supersedes": ["verify-early"],
        "early-figures-not-reproduced.verdict": "fails_to_reproduce",
    }),
    "F9": Fact(
        ("4912-4931", "4936"),
        ("graphed-verify", "verify-cannot-be-graphed", "question-verify-graphed"),
        {}, ("hidden states", "limit of the architecture", "not a bug", "Abandoned"),
    ),
    "F10": Fact(("4937",), (
        "accept-length-reported", "rate-from-verify", "verify-explains-rate",
    ), {
        "accept-length-reported.value.value": 2.0, "accept-length-reported.value.unit": "tok/cycle",
        "rate-from-verify.stated.value": 67,
    }),
    "F11": Fact(("4935-4937",), ("break-even-stated",), {"break-even-stated.stated.value": 2.46}),
    "F12": Fact(("4937",), (
        "target-rate", "target-accept-length-stated", "target-accuracy-stated",
    ), {
        "target-rate.formula": "150", "target-accept-length-stated.stated.value": 4.5,
        "target-accuracy-stated.stated.value": 78,
    }),
    "F13": Fact(("4935", "4937"), ("conditional-accuracy-reported",), {
        "conditional-accuracy-reported.value.value": 0.64,
        "conditional-accuracy-reported.subject.workload": "training validation",
    }),
    "F14": Fact(("4933-4936",), ("drafter-own",), {"drafter-own.samples_trained": 37_000}),
    "F15": Fact(("4933-4937",), (
        "drafter-aq-medai-k2", "aq-accept-length-quoted", "aq-accuracy-stated",
    ), {
        "drafter-aq-medai-k2.samples_trained": 1_400_000,
        "aq-accept-length-quoted.value.low": 3.2, "aq-accept-length-quoted.value.high": 3.5,
        "aq-accuracy-stated.stated.low": 69, "aq-accuracy-stated.stated.high": 71,
    }),
    "F16": Fact(("4930",), ("drafter-own", "drafter-aq-medai-k2"), {
        f"{drafter}.{name}": value
        for drafter in ("drafter-own", "drafter-aq-medai-k2")
        for name, value in (
            ("hidden_size", 7168), ("intermediate_size", 18_432), ("draft_vocab_size", 32_000),
        )
    }, ("inspected",)),
    "F17": Fact(("4933-4937",), ("approach-a",), {"approach-a.label": "A"}),
    "F18": Fact(("4933-4937",), ("approach-b",), {"approach-b.label": "B"},
                ("200K to 500K", "200K and more")),
    "F19": Fact(("4933-4937",), ("approach-c",), {"approach-c.label": "C"},
                ("accept length", "hidden states of K2 and K2.5")),
    "F20": Fact(("4933-4937",), ("order-cheapest-first",), {
        "order-cheapest-first.decision": "C before A before B.",
    }),
    "F21": Fact(("4937",), ("k2-close-to-k25",), {
        "k2-close-to-k25.kind": "assumption",
        "k2-close-to-k25.tested_by": ["approach-c", "eval-probe"],
    }),
    "F22": Fact(("4935-4937",), ("nccl-persisted",), {
        "nccl-persisted.persisted_in": "/usr/lib/python3.12/sitecustomize.py",
    }, ("survive reboots",)),
    "F23": Fact(("4935",), ("attention-mode-decode", "override-num-steps", "hidden-state-format"), {
        f"{name}.kind": "failed_experiment"
        for name in ("attention-mode-decode", "override-num-steps", "hidden-state-format")
    }),
    "F24": Fact(("4912-4931",), ("regression-causes",), {}, (
        "the code", "clocks and configuration", "the driver", "sgl-kernel", "flashinfer",
    )),
    "F25": Fact(("4936",), ("goal",), {}, ("Kimi-K2.5 INT4", "AQ-MedAI")),
    "F26": Fact(("4935",), ("self-contained-plan",), {}, ("why", "baselines", "evaluations")),
    "F27": Fact(("4936",), ("read-before-write",), {}, ("Another process", "first lines")),
    "F28": Fact(("4936",), ("environment-with-every-number",), {},
                ("[[eagle3-reported]]", "[[eagle3-early]]")),
}
# fmt: on


def at(finding: Finding, path: str) -> Any:
    value: Any = finding
    for step in path.split("."):
        value = getattr(value, step)
    return value


def everything_said(finding: Finding) -> str:
    return "\n".join(texts_of(finding.model_dump()))


def test_no_fact_is_left_out() -> None:
    """The table of this test has all 28 facts of the investigation."""
    assert list(FACTS) == [f"F{number}" for number in range(1, 29)]


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_a_fact_is_held_with_its_message_reference(
    curated: Mapping[str, Record], fact: Fact
) -> None:
    """Each fact is in the findings with the messages it is from, its figures and its key words."""
    for name in fact.findings:
        source = curated[name].finding.source
        assert isinstance(source, Investigation)
        assert set(fact.messages) & set(source.messages), name
    cited = {
        message
        for name in fact.findings
        if isinstance(source := curated[name].finding.source, Investigation)
        for message in source.messages
    }
    assert set(fact.messages) <= cited
    for path, value in fact.fields.items():
        name, _, rest = path.partition(".")
        assert at(curated[name].finding, rest) == value, path
    said = "\n".join(everything_said(curated[name].finding) for name in fact.findings)
    for words in fact.words:
        assert words in said


UNKNOWN = (
    ("nccl-persisted", "variables"),
    ("nccl-persisted", "effect"),
    ("host-kimi-pcie8", "gpus"),
    ("host-kimi-pcie8", "engine_version"),
    ("host-kimi-pcie8", "driver"),
    ("host-kimi-pcie8", "cpu"),
    ("drafter-own", "attention_heads"),
    ("drafter-own", "fc_shape"),
    ("drafter-aq-medai-k2", "attention_heads"),
    ("drafter-aq-medai-k2", "fc_shape"),
    ("approach-a", "effort"),
    ("approach-a", "confidence"),
    ("approach-b", "effort"),
    ("approach-b", "confidence"),
    ("approach-c", "effort"),
    ("approach-c", "confidence"),
    ("eval-running-then", "state"),
    ("eval-running-then", "command"),
    ("override-num-steps", "hypothesis"),
    ("override-num-steps", "outcome"),
    ("override-num-steps", "reason"),
    ("hidden-state-format", "hypothesis"),
    ("hidden-state-format", "tried"),
    ("hidden-state-format", "outcome"),
    ("graphed-verify", "tried"),
)


@pytest.mark.parametrize(("name", "path"), UNKNOWN)
def test_what_the_texts_do_not_tell_is_unknown(
    curated: Mapping[str, Record], name: str, path: str
) -> None:
    """What the texts leave open is unknown with a reason, and nothing stands in its place."""
    value = at(curated[name].finding, path)
    assert isinstance(value, Unknown)
    assert len(value.unknown.split()) >= 4


def test_no_efforts_versions_or_samples_are_invented(curated: Mapping[str, Record]) -> None:
    """No approach has hours, and no figure of the investigation a version, driver or sample."""
    for record in curated.values():
        finding = record.finding
        if isinstance(finding, Approach):
            assert finding.effort_hours is None
        if isinstance(finding, Measurement) and isinstance(finding.source, Investigation):
            told = finding.environment.model_dump(exclude_defaults=True)
            assert set(told) <= {"engine", "boot"}, record.id
            assert finding.value.samples is None
            assert finding.value.count is None
            assert finding.subject.concurrency is None
        if isinstance(finding, Evaluation):
            assert finding.state != "running"
            assert finding.results == []


def test_the_texts_rates_say_that_their_definition_is_unknown(
    curated: Mapping[str, Record],
) -> None:
    """Every rate of the texts carries the remark that its definition is not stated."""
    rates = [
        record.finding
        for record in curated.values()
        if isinstance(record.finding, Measurement)
        and isinstance(record.finding.source, Investigation)
        and record.finding.metric == "decode_rate"
    ]
    assert len(rates) == 4
    assert all((rate.convention or "").startswith("definition not stated") for rate in rates)


def test_early_figures_are_superseded_and_unreproduced(knowledge: Knowledge) -> None:
    """The three early figures are kept, and none of them is the figure of its series."""
    for name in ("baseline-early", "eagle3-early", "verify-early"):
        standing = knowledge.standing(name)
        assert not standing.current
        assert {"superseded", "unreproduced"} <= set(standing.statuses)
        finding = knowledge.record(name).finding
        assert isinstance(finding, Measurement)
        assert finding.series is not None
        current = knowledge.series(finding.series).current
        assert current is not None
        assert current.id != name


def test_approaches_consist_of_each_other(curated: Mapping[str, Record]) -> None:
    """C is loading and evaluating, A is C and training on what exists, B is A and more data."""

    def items(name: str) -> set[str]:
        approach = curated[name].finding
        assert isinstance(approach, Approach)
        return set(approach.work).union(*(items(other) for other in approach.includes))

    assert items("approach-c") == {"load", "evaluate"}
    assert items("approach-a") == items("approach-c") | {"train-on-existing-data"}
    assert items("approach-b") == items("approach-a") | {"generate-data"}


def test_failed_experiments_say_when_to_try_again(curated: Mapping[str, Record]) -> None:
    """A failed experiment names a condition for another try, in more than a word."""
    tried = [
        record.finding
        for record in curated.values()
        if isinstance(record.finding, FailedExperiment)
    ]
    assert len(tried) >= 5
    assert all(len(one.retry_when.split()) > 8 for one in tried)


def test_the_nccl_setting_can_be_checked(curated: Mapping[str, Record]) -> None:
    """The NCCL setting has commands for the file, an interpreter and a running server."""
    setting = curated["nccl-persisted"].finding
    assert isinstance(setting, Setting)
    for part in ("sitecustomize", "os.environ", "/proc/PID/environ", "set by environment"):
        assert any(part in command for command in setting.verify)
    assert all(name.startswith("NCCL_") for name in setting.candidates)


# Figures of the texts that may stand in one place only, as they would be written in a sentence.
FIGURES = re.compile(
    r"\b(?:82|83|59|61|89|94|67|150) ?tok/s\b|\b(?:30|19|33(?:\.3)?) ?ms\b"
    r"|\b(?:27|5\.9|5\.6|64|78|69|71|85|91) ?%|\b(?:2\.46|2\.75|4\.5|3\.2|3\.5|2\.05|0\.64)\b"
    r"|\b37K\b|\b1\.4M\b|\b37,?000\b"
)


def test_no_text_repeats_the_figure_of_another_finding(curated: Mapping[str, Record]) -> None:
    """Titles and texts refer to a figure by its id, so that it stands in one place."""
    for record in curated.values():
        data = record.finding.model_dump(exclude={"formula", "command", "source"})
        for text in texts_of(data):
            assert not FIGURES.search(text), f"{record.id}: {text}"


def test_nothing_private_is_in_the_findings() -> None:
    """No home folder and no user name of the machine is in any curated file."""
    for path in [ROOT / "gamekit.yaml", *curated_files()]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/home/|/root/|/Users/|theuser", text), path


def test_curated_files_are_laid_out_for_editors_and_readers() -> None:
    """A curated file begins with its schema for editors, and has a title and what it is about."""
    files = curated_files()
    assert {
        "approaches", "baselines", "claims", "conclusions", "decisions", "evaluations",
        "failed_experiments", "hosts", "models", "nccl", "published", "questions", "speculation",
        "verify_costs",
    } <= {path.stem for path in files}  # fmt: skip
    for path in files:
        first, second, third, fourth, *_ = path.read_text(encoding="utf-8").splitlines()
        assert first == "# yaml-language-server: $schema=findings.schema.json"
        assert second == "schema: 1"
        assert third.startswith("title: ")
        assert fourth.startswith("about: ")


def test_the_folder_name_is_no_gpu_model(curated: Mapping[str, Record]) -> None:
    """The project folder's name is quoted once, as a name, and nothing claims that GPU."""
    named = [
        name for name, record in curated.items() if "rtx6000" in everything_said(record.finding)
    ]
    assert named == ["host-kimi-pcie8"]
    host = curated["host-kimi-pcie8"].finding
    assert isinstance(host, Host)
    assert "rtx6000" in (host.notes or "")


def test_every_drafter_with_a_figure_is_a_checkpoint(curated: Mapping[str, Record]) -> None:
    """A measured or published drafter is described by a model finding of its name."""
    names = {
        record.finding.name
        for record in curated.values()
        if isinstance(record.finding, Checkpoint) and record.finding.role == "drafter"
    }
    used = {
        record.finding.subject.drafter.partition(" ")[0]
        for record in curated.values()
        if isinstance(record.finding, Measurement) and record.finding.subject.drafter is not None
    }
    assert used <= names


def test_the_configuration_names_what_leads_the_plan(knowledge: Knowledge) -> None:
    """Title, file name, goal and the roles of the speculation model are those of the design."""
    config = knowledge.config
    assert config.title == "EAGLE-3 K2→K2.5 Fine-tune Game Plan"
    assert config.plan == "eagle-k2finetune-game-plan.md"
    assert config.goal == "goal"
    assert config.model is not None
    assert config.budgets.total <= 36_000
    for name in (
        *config.key_numbers,
        config.model.baseline,
        config.model.speculative_rate,
        config.model.cycle_time,
        config.model.accept_length,
    ):
        assert knowledge.figure(name).known is not None
