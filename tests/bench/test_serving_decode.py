"""The bundled benchmarks, against the stand-in engine and against scripted servers."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from workbench import engine, knowledge_base, series_file

from gamekit.bench.engine_facts import ask_engine
from gamekit.bench.execution import surroundings
from gamekit.bench.runner import RunOutcome, run_benchmarks
from gamekit.errors import UsageFault
from gamekit.findings import Measurement, Run
from gamekit.host.capture import capture
from gamekit.host.redact import Redactor
from gamekit.stand_in.config import SimulatorConfig
from gamekit.stand_in.process import StandInEngine
from gamekit.store.load import load

SPECULATING = {
    "/server_info": {
        "model_path": "lab/tiny",
        "version": "0.5.23",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_draft_model_path": "lab/drafter",
    },
    "/v1/models": {"data": [{"id": "lab/tiny"}]},
}
PLAIN = {"/server_info": {"model_path": "lab/tiny", "speculative_algorithm": None}}
FEW = ["requests=3", "max_tokens=9", "warmup=1"]


def generated(count: int, limit: int | None = None) -> list[dict[str, Any]]:
    """sglang's events of an answer of ``count`` tokens that stops there, or at the limit asked."""
    finish = {"type": "stop" if limit is None else "length"}
    return [
        {
            "text": "x" * n,
            "meta_info": {
                "completion_tokens": n,
                "prompt_tokens": 40,
                "cached_tokens": 0,
                "finish_reason": finish if n == count else None,
            },
        }
        for n in range(1, count + 1)
    ]


def chatted(count: int) -> list[dict[str, Any]]:
    """OpenAI's events of ``count`` tokens, with the usage at the end."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]}
        for _ in range(count)
    ]
    chunks[-1]["choices"][0]["finish_reason"] = "length"
    return [*chunks, {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": count}}]


def serving(root: Path | None = None, **options: Any) -> RunOutcome:
    (outcome,) = run_benchmarks(root, ["serving_decode"], command=["gamekit", "bench"], **options)
    assert outcome.record is not None
    return outcome


def run_of(outcome: RunOutcome) -> Run:
    assert outcome.record is not None
    return outcome.record.run


def figures(outcome: RunOutcome) -> dict[str, Measurement]:
    assert outcome.record is not None
    return {one.metric: one for one in outcome.record.findings if isinstance(one, Measurement)}


def test_the_truth_of_the_stand_in_is_found(tmp_path: Path) -> None:
    """Rate, TTFT, time per token, cycle and accept length are those that the stand-in was given."""
    root = knowledge_base(tmp_path)
    config = SimulatorConfig(prefill_ms=100, cycle_ms=20, accept_len=2.0, steps=2)
    with StandInEngine(config) as stand_in:
        outcome = serving(
            root, urls=[stand_in.url], settings=["requests=5", "max_tokens=65"], append=True
        )
    found = figures(outcome)
    truth = {"ttft": 100, "time_per_output_token": 10, "decode_rate": 100, "cycle_time": 20}
    for metric, value in truth.items():
        assert found[metric].value.sample_count == 5
        samples = found[metric].value.samples
        assert samples is not None
        # A busy machine can only make things slower: the best replicate is the one to judge.
        best = max(samples) if metric == "decode_rate" else min(samples)
        assert best == pytest.approx(value, rel=0.05), metric
    assert found["accept_length"].value.samples == [2.0] * 5
    run = load(root).runs[run_of(outcome).id]
    assert run.engine is not None
    assert run.engine.stand_in
    assert run.cases[0].facts["client_floor"]["concurrency"] == 1  # type: ignore[index,call-overload]
    subject = found["decode_rate"].subject
    assert (subject.target, subject.steps, subject.output_tokens) == ("gamekit-stand-in", 2, 65)
    assert not any(one.flaws for one in found.values())


def test_without_a_server_the_stand_in_is_measured_and_says_so() -> None:
    """No --url: the run is one of the stand-in, never of an engine that happens to be there."""
    run = run_of(serving(settings=FEW))
    assert run.engine is not None
    assert run.engine.stand_in
    assert run.cases[0].subject.target == "gamekit-stand-in"


def test_an_accept_length_that_nobody_tells_is_a_flaw() -> None:
    """Under speculation over OpenAI's route the rate is flawed and the accept length unknown."""
    with engine(SPECULATING, chatted(9), gap_s=0.002) as url:
        found = figures(serving(urls=[url], settings=[*FEW, "api=openai"]))
    assert found["accept_length"].value.unknown is not None
    assert "nobody tells the accept length" in found["accept_length"].value.unknown
    assert any("nobody tells the accept length" in flaw for flaw in found["decode_rate"].flaws)
    assert found["ttft"].flaws == []


def test_without_speculation_there_is_no_accept_length() -> None:
    """A baseline has neither accept length nor cycle time, and no flaw for it."""
    with engine(PLAIN, generated(9, 9), gap_s=0.002) as url:
        found = figures(serving(urls=[url], settings=FEW))
    assert found.keys() == {"ttft", "time_per_output_token", "decode_rate"}
    assert found["decode_rate"].flaws == []
    assert found["decode_rate"].subject.speculation == "none"


def test_an_early_end_is_warned_of_and_its_own_count_used() -> None:
    """57 of 128 tokens: the rate is that of the 57, and the run says so."""
    with engine(PLAIN, generated(57), gap_s=0.001) as url:
        outcome = serving(urls=[url], settings=["requests=2", "warmup=0", "max_tokens=128"])
    case = run_of(outcome).cases[0]
    assert "2 of 2 requests: finished early: 57 of 128 tokens (stop)" in case.warnings
    assert case.samples["output_tokens"] == [57, 57]
    assert figures(outcome)["decode_rate"].subject.output_tokens == 57


def test_every_request_is_unique_and_warming_up_is_apart() -> None:
    """One request more than asked for reaches the server, and no two prompts begin alike."""
    bodies: list[bytes] = []
    with engine(PLAIN, generated(9, 9), bodies=bodies) as url:
        outcome = serving(urls=[url], settings=FEW)
    sent = [json.loads(body) for body in bodies if b"measure the client" not in body]
    assert len({one["text"][:20] for one in sent}) == len(sent) == 4
    assert {one["sampling_params"]["temperature"] for one in sent} == {0.0}
    assert len(run_of(outcome).cases[0].samples["ttft"]) == 3


def test_token_ids_are_sent_where_asked_for_and_the_result_says_so() -> None:
    """input_ids=N sends N ids, names the workload so and warns of the acceptance."""
    bodies: list[bytes] = []
    with engine(PLAIN, generated(9, 9), bodies=bodies) as url:
        outcome = serving(urls=[url], settings=[*FEW, "input_ids=40"])
    assert {len(json.loads(body)["input_ids"]) for body in bodies} == {40}
    case = run_of(outcome).cases[0]
    assert (case.subject.workload, case.subject.input_tokens) == ("random-token-ids", 40)
    assert any("understate" in warning for warning in case.warnings)


def test_the_users_prompts_take_the_users_name(tmp_path: Path) -> None:
    """prompts=FILE sends its texts; --subject workload= names them, the bundled set has a name."""
    (tmp_path / "mine.txt").write_text("tell me more\n")
    bodies: list[bytes] = []
    settings = [*FEW, f"prompts={tmp_path / 'mine.txt'}"]
    with engine(PLAIN, generated(9, 9), bodies=bodies) as url:
        outcome = serving(urls=[url], settings=settings, subject=["workload=mt-bench"])
        with pytest.raises(UsageFault, match="workload=mt-bench"):
            serving(urls=[url], settings=FEW, subject=["workload=mt-bench"])
    assert all(json.loads(body)["text"].endswith(". tell me more") for body in bodies[:4])
    assert figures(outcome)["ttft"].subject.workload == "mt-bench"


def test_what_the_subject_tells_is_no_parameter_besides(tmp_path: Path) -> None:
    """A length that all answers had is output_tokens; where they end early, max_tokens is kept."""
    root = knowledge_base(tmp_path / "base")
    match = {"host": "h", "output_tokens": 9}
    series_file(root, {"id": "nine", "match": match}, {"id": "one", "match": {"host": "h"}})
    with engine(PLAIN, generated(9, 9), gap_s=0.001) as url:
        told = serving(root, urls=[url], settings=FEW, subject=["host=h"])
        chosen = serving(root, urls=[url], settings=FEW, subject=["host=h"], series=["one"])
        longer = serving(
            root,
            urls=[url],
            settings=[*FEW[:1], "max_tokens=64"],
            subject=["host=h", "output_tokens=64"],
        )
    rate = figures(told)["decode_rate"]
    assert (rate.subject.parameters, rate.series) == ({}, "nine")
    assert figures(chosen)["decode_rate"].series == "one"
    assert figures(longer)["decode_rate"].subject.parameters == {"max_tokens": 64}


def test_a_wave_of_requests_is_one_sample() -> None:
    """concurrency=3 sends three at one moment, belongs to the subject, and their mean is one."""
    with engine(PLAIN, generated(9, 9), gap_s=0.001) as url:
        outcome = serving(urls=[url], settings=["requests=2", "concurrency=3", "warmup=1"])
    ttft = figures(outcome)["ttft"]
    assert ttft.subject.concurrency == 3
    columns = run_of(outcome).cases[0].samples
    assert columns["part"] == [None, *["request"] * 3] * 2
    requests = columns["ttft"]
    assert ttft.value.samples == [
        pytest.approx(sum(float(one or 0) for one in requests[first : first + 3]) / 3)
        for first in (1, 5)
    ]


def test_a_failed_request_of_a_wave_is_a_flaw_and_counts_in_no_mean() -> None:
    """Five of six requests are answered: two samples, each over those that were, and a flaw."""
    with engine(PLAIN, generated(9, 9), fails=4) as url:
        outcome = serving(urls=[url], settings=["requests=2", "concurrency=3", "warmup=0"])
    ttft = figures(outcome)["ttft"]
    assert ttft.value.sample_count == 2
    assert any(flaw.startswith("1 of 6 requests failed, the first with: ") for flaw in ttft.flaws)
    columns = run_of(outcome).cases[0].samples
    answered = [figure for figure in columns["ttft"][5:] if figure is not None]
    assert len(answered) == 2
    assert ttft.value.samples is not None
    assert ttft.value.samples[1] == pytest.approx(fmean(map(float, answered)))


def test_an_engine_that_dies_in_mid_run_fails_the_run(tmp_path: Path) -> None:
    """What was sampled before is kept raw; every figure is unknown with the reason."""
    root = knowledge_base(tmp_path)
    with engine(PLAIN, generated(9, 9), breaks_after=4) as url:
        outcome = serving(root, urls=[url], settings=["requests=50", "max_tokens=9"], append=True)
    run = load(root).runs[run_of(outcome).id]
    assert run.outcome == "failed"
    assert run.reason is not None
    assert re.match(r"after \d samples?(, the last|: http).*does not answer", run.reason)
    assert len(run.cases[0].samples["ttft"]) >= 3
    assert all(one.value.unknown == run.reason for one in figures(outcome).values())
    assert figures(outcome).keys() == {"ttft", "time_per_output_token", "decode_rate"}


def test_without_a_count_no_rate_is_made_up() -> None:
    """An engine that tells no tokens gives a TTFT; its rate is unknown with that reason."""
    with engine(PLAIN, chatted(9)[:-1], gap_s=0.001) as url:
        found = figures(serving(urls=[url], settings=[*FEW, "api=openai"]))
    assert found["ttft"].value.sample_count == 3
    for metric in ("decode_rate", "time_per_output_token"):
        assert "told no token count" in (found[metric].value.unknown or "")


def test_an_error_inside_the_stream_fails_that_request() -> None:
    """When every request fails the run has failed, with the first error as its reason."""
    with engine(PLAIN, [{"error": {"message": "out of memory", "type": "abort"}}]) as url:
        outcome = serving(urls=[url], settings=FEW)
    reason = run_of(outcome).reason
    assert reason is not None
    assert "every one of 3 replicates failed" in reason
    assert "out of memory" in reason


def test_a_contradiction_with_the_engine_costs_no_request() -> None:
    """--subject against the engine is refused before anything is sent."""
    bodies: list[bytes] = []
    with (
        engine(SPECULATING, generated(9, 9), bodies=bodies) as url,
        pytest.raises(UsageFault, match="the engine says speculation=EAGLE3"),
    ):
        serving(urls=[url], subject=["speculation=none"])
    assert bodies == []


def test_the_floor_of_the_client_is_really_measured() -> None:
    """client_floor gives one positive figure a repetition, for this machine and concurrency."""
    (outcome,) = run_benchmarks(
        None, ["client_floor"], settings=["repeats=2", "chunks=20"], subject=["host=bench-host"]
    )
    found = figures(outcome)["client_time_per_chunk"]
    assert found.value.unit == "us"
    assert found.value.samples is not None
    assert len(found.value.samples) == 2
    assert min(found.value.samples) > 0
    assert found.subject.known() == {"concurrency": 1, "host": "bench-host"}
    assert run_of(outcome).engine is None


def test_the_environment_of_an_engine_elsewhere_is_not_that_of_this_machine() -> None:
    """Of a remote engine only what it told is known; this machine is kept as the client's."""
    around = capture(Redactor())
    with engine(SPECULATING) as url:
        facts = ask_engine(url, None, Redactor())
    here, _ = surroundings(facts, around)
    assert (here.engine, here.engine_version, here.kernel) == (
        "sglang",
        "0.5.23",
        around.environment.kernel,
    )
    there, state = surroundings(replace(facts, is_local=False), around)
    assert (there.engine, there.kernel, there.boot) == ("sglang", None, None)
    assert state["client_machine"]["kernel"] == around.environment.kernel


def test_more_tokens_than_were_asked_for_are_a_flaw_of_every_figure() -> None:
    """A server that counts more than max_tokens is not believed."""
    with engine(PLAIN, generated(12, 12)) as url:
        found = figures(serving(urls=[url], settings=FEW))
    assert found["decode_rate"].flaws
    for one in found.values():
        assert "the server counted more tokens than were asked for" in one.flaws


def test_prompts_that_are_not_there_are_refused_before_anything_is_measured() -> None:
    """A file that is missing is a usage error, also as the second of a sweep."""
    with pytest.raises(UsageFault, match="nowhere"):
        run_benchmarks(None, ["serving_decode"], settings=["prompts=/nowhere/a.txt"])


class AtOnce(BaseHTTPRequestHandler):
    """Sends a whole answer of nine chunks as one packet."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        body = json.dumps(PLAIN.get(self.path, {})).encode()
        self.send_response(200 if self.path in PLAIN else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        events = [f"data: {json.dumps(event)}" for event in generated(9, 9)]
        body = "\n\n".join([*events, "data: [DONE]", ""]).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        self.wfile.write(head + body)
        self.close_connection = True


@pytest.mark.parametrize("concurrency", [1, 3])
def test_chunks_that_all_come_at_one_moment_have_no_rate(concurrency: int) -> None:
    """An answer without any time between its chunks gives a TTFT, and says why there is no rate."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), AtOnce)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        found = figures(serving(urls=[url], settings=[*FEW, f"concurrency={concurrency}"]))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert found["ttft"].value.sample_count == 3
    assert found["decode_rate"].value.unknown == "no answer took any time to decode"
