"""Subjects: user, engine and benchmark are merged, and what contradicts is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gamekit.bench.engine_facts import EngineFacts, facts_of
from gamekit.bench.subject import Told, merge, parse_subject
from gamekit.errors import BenchmarkFailed, UsageFault
from gamekit.findings import Subject
from gamekit.host.redact import Redactor
from gamekit.streaming.server_identity import ServerIdentity

RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"


def recorded(name: str, **changes: Any) -> EngineFacts:
    """The facts of a recorded sglang server, with changes to what it answered."""
    folder = RECORDINGS / name
    info = json.loads((folder / "server_info.json").read_text()) | changes
    models = json.loads((folder / "models.json").read_text())
    identity = ServerIdentity(
        "sglang",
        info,
        json.loads((folder / "model_info.json").read_text()),
        tuple(one["id"] for one in models["data"]),
    )
    return facts_of("http://127.0.0.1:30000", identity, Redactor())


def merged(facts: EngineFacts, *pairs: str) -> Subject:
    return merge([Told("--subject", firm=parse_subject(pairs).known()), facts.told])


def test_an_engine_with_speculation_fixes_its_chain() -> None:
    """Target, algorithm, steps, topk and draft tokens come from /server_info."""
    subject = merged(recorded("eagle3-sim2.6"))
    assert subject.known() == {
        "target": "SmolLM2-135M-Instruct",
        "weights": "real",
        "speculation": "EAGLE3",
        "drafter": "draft",
        "steps": 3,
        "topk": 1,
        "draft_tokens": 4,
        "attention_mode": "prefill",
    }


def test_an_engine_without_speculation_says_so() -> None:
    """No algorithm is the speculation none; what does not apply stays unknown."""
    subject = merged(recorded("baseline"))
    assert (subject.speculation, subject.drafter, subject.steps) == ("none", "none", None)


def test_unknown_stays_unknown() -> None:
    """A null quantization says nothing, and neither do graphs that are merely not disabled."""
    subject = merged(recorded("baseline"))
    assert (subject.quantization, subject.cuda_graphs, subject.acceptance) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"quantization": "fp8"}, "quantization", "fp8"),
        ({"quantization": "compressed-tensors"}, "quantization", None),
        ({"load_format": "dummy"}, "weights", "dummy"),
        ({"disable_cuda_graph": True}, "cuda_graphs", "eager"),
        ({"speculative_eagle_topk": True}, "topk", None),
        ({"speculative_draft_model_path": "lab/eagle-x"}, "drafter", "eagle-x"),
    ],
)
def test_arguments_are_read(changes: dict[str, Any], field: str, value: Any) -> None:
    """Each argument that fixes a field of the subject does so, and no other."""
    assert getattr(merged(recorded("eagle3-sim2.6", **changes)), field) == value


@pytest.mark.parametrize(
    "pair",
    ["speculation=none", "steps=2", "target=Kimi-K2.5", "draft_tokens=8", "weights=dummy"],
)
def test_a_contradiction_with_the_engine_is_refused(pair: str) -> None:
    """What the user says against the engine is a usage error that names both."""
    field, _, value = pair.partition("=")
    with pytest.raises(UsageFault, match=f"--subject says {field}={value}, the engine says"):
        merged(recorded("eagle3-sim2.6"), pair)


@pytest.mark.parametrize(
    "name",
    ["smollm2-135m-instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2_135M_Instruct"],
)
def test_another_spelling_of_the_model_is_no_contradiction(name: str) -> None:
    """Case, underscores and the owner of a repository do not matter; the user's spelling stays."""
    assert merged(recorded("baseline"), f"target={name}").target == name


def test_any_name_of_the_model_may_be_used() -> None:
    """The repository is the same model as the name it is served under."""
    facts = recorded("baseline", model_path="HuggingFaceTB/other-name")
    assert merged(facts, "target=other-name").target == "other-name"


def test_the_name_of_a_local_folder_is_only_a_hint() -> None:
    """Where nobody named the model, its folder does; a user's name takes its place."""
    facts = recorded("eagle3-sim2.6")
    assert merged(facts).drafter == "draft"
    assert merged(facts, "drafter=own-k2.5-drafter").drafter == "own-k2.5-drafter"


def test_the_user_fills_what_is_unknown() -> None:
    """Fields that the engine does not tell are taken from the user, with their types."""
    subject = merged(recorded("baseline"), "host=h200-lab", "quantization=none", "input_tokens=64")
    assert (subject.host, subject.quantization, subject.input_tokens) == ("h200-lab", "none", 64)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["target"], "no pair"),
        (["target="], "no pair"),
        (["targt=x"], "did you mean target"),
        (["zzz=x"], "the fields are"),
        (["steps=two"], "steps=two"),
        (["steps=1_7"], "digits alone"),
        (["steps=\u0661\u0667"], "steps=\u0661\u0667"),
        (["weights=light"], "weights=light"),
        (["host=a", "host=b"], "given twice"),
    ],
)
def test_what_is_no_subject_is_refused(pairs: list[str], says: str) -> None:
    """Each kind of mistake in --subject is a usage error."""
    with pytest.raises(UsageFault, match=says):
        parse_subject(pairs)


@pytest.mark.parametrize("name", ["x" * 1_000_000, "m " * 500_000])
def test_a_value_of_the_engine_that_cannot_be_is_a_failure_of_the_benchmark(name: str) -> None:
    """Nothing on the command line is wrong: exit 6, in a line that one can read."""
    with pytest.raises(BenchmarkFailed, match="the engine says") as caught:
        merged(recorded("eagle3-sim2.6", served_model_name=name))
    assert len(str(caught.value)) < 4_500


def test_an_engine_that_contradicts_itself_is_a_failure_of_the_benchmark() -> None:
    """A chain that cannot be is none of the command line's, unless it has a part in it."""
    odd = {"speculative_num_steps": 0, "speculative_num_draft_tokens": 4}
    with pytest.raises(BenchmarkFailed, match="as the engine says"):
        merged(recorded("eagle3-sim2.6", **odd), "host=box")
    with pytest.raises(UsageFault, match="as --subject and the engine say"):
        merged(recorded("eagle3-sim2.6", speculative_num_steps=None), "steps=7")


def test_the_engine_is_described_without_secrets_and_noise() -> None:
    """What is set is kept, secrets are taken out, what changes by chance is left out."""
    engine = recorded("baseline", api_key="sesame-sesame", model_path="/home/joe/hf").engine
    assert (engine.name, engine.version, engine.stand_in) == ("sglang", "0.5.15", False)
    assert engine.description["api_key"] == "[redacted]"
    assert engine.description["model_path"] == "~/hf"
    assert engine.description["attention_backend"] == "triton"
    assert engine.description["memory_usage_gib"]["kvcache"] == 27.47
    assert not {"random_seed", "port", "quantization"} & engine.description.keys()


def test_an_engine_elsewhere_is_told_from_a_local_one() -> None:
    """Only a loopback address is this machine."""
    identity = ServerIdentity("openai", None, None, ("m",))
    for url, local in (
        ("http://127.0.0.1:1", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.7:1", False),
        ("http://gpu-box:1", False),
    ):
        assert facts_of(url, identity, Redactor()).is_local is local
