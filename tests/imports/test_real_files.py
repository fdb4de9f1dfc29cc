"""Files that the tools themselves wrote give the figures that the tools themselves printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamekit.imports.detect import FORMATS
from gamekit.imports.given import Given
from imports.reading import DATA, LAB, RECORDINGS, by_metric, from_file

SERVING = {
    "ttft": r"Mean TTFT \(ms\): +([\d.]+)",
    "time_per_output_token": r"Mean TPOT \(ms\): +([\d.]+)",
    "request_rate": r"Request throughput \(req/s\): +([\d.]+)",
    "output_throughput": r"Output token throughput \(tok/s\): +([\d.]+)",
}
SGLANG = {
    **SERVING,
    "request_latency": r"Mean E2E Latency \(ms\): +([\d.]+)",
    "accept_length": r"Accept length: +([\d.]+)",
}
AIPERF = {
    "ttft": r"│ +Time to First Token \(ms\) │ +([\d.]+)",
    "time_per_output_token": r"│ +Inter Token Latency \(ms\) │ +([\d.]+)",
    "decode_rate": r"│ +Output Token Throughput Per User │ +([\d.]+)",
    "request_latency": r"│ +Request Latency \(ms\) │ +([\d.]+)",
    "request_rate": r"│ +Request Throughput \(requests/sec\) │ +([\d.]+)",
    "output_throughput": r"│ +Output Token Throughput \(tokens/sec\) │ +([\d.]+)",
}
PRINTED = [
    ("sglang-serving.jsonl", "sglang bench_serving", SGLANG),
    ("sglang-serving-rust.jsonl", "sglang bench_serving", SGLANG),
    ("vllm-serve.json", "vllm bench serve", SERVING),
    ("aiperf.json", "aiperf", AIPERF),
]


@pytest.mark.parametrize(("name", "tool", "lines"), PRINTED, ids=[one[0] for one in PRINTED])
def test_figures_are_those_that_the_tool_printed(
    name: str, tool: str, lines: dict[str, str]
) -> None:
    """Each figure, rounded as printed, is what the tool said of the same run; no other is taken."""
    found = from_file(DATA / name)
    printed = (DATA / name).with_suffix(".printed.txt").read_text("utf-8")
    assert found.tool == tool
    assert found.stand_in
    figures = by_metric(found)
    assert figures.keys() == lines.keys()
    for metric, pattern in lines.items():
        told = re.search(pattern, printed)
        assert told is not None, metric
        digits = len(told[1].partition(".")[2])
        assert f"{figures[metric].value:.{digits}f}" == told[1], metric


def test_guidellm_gives_what_it_printed_with_its_interval() -> None:
    """TTFT has the printed ±, latency is in ms, and ITL is the time per output token, not TPOT."""
    found = from_file(DATA / "guidellm.json")
    rows = (DATA / "guidellm.printed.txt").read_text("utf-8").splitlines()
    row = next(line for line in rows if line.startswith("| concurrent@2 "))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[4] == "106.2 ± 9.7"
    assert cells[1].startswith("0.4 ")
    assert (cells[10], cells[13]) == ("8.0", "10.4")
    figures = by_metric(found)
    ttft = figures["ttft"]
    assert ttft.interval is not None
    low, high, kind = ttft.interval
    assert f"{ttft.value:.1f} ± {(high - low) / 2:.1f}" == cells[4]
    assert kind == "confidence"
    assert f"{figures['request_latency'].value / 1e3:.1f}" == "0.4"
    assert f"{figures['time_per_output_token'].value:.1f}" == cells[10]
    assert (found.version, found.measured is not None) == ("0.8.1", True)


def test_batches_of_the_real_tool() -> None:
    """Each line's rate and times are those that bench_one_batch_server printed of that batch."""
    found = from_file(DATA / "sglang-batch.jsonl")
    figures = {figure.key: figure for figure in found.figures}
    printed = (DATA / "sglang-batch.printed.txt").read_text("utf-8")
    rates = re.findall(r"^output throughput: ([\d.]+) tok/s", printed, re.MULTILINE)
    told = [figures["1.decode_rate"].value, figures["2.output_throughput"].value]
    assert [f"{rate:.2f}" for rate in told] == rates
    firsts = re.findall(r"^last_ttft: ([\d.]+) s", printed, re.MULTILINE)
    assert f"{figures['1.ttft'].value / 1e3:.2f}" == firsts[0]
    assert "2.ttft" not in figures
    latencies = re.findall(r"^latency: ([\d.]+) s", printed, re.MULTILINE)
    assert [f"{figures[f'{at}.request_latency'].value / 1e3:.2f}" for at in (1, 2)] == latencies
    assert re.findall(r"^acc_length: ([\d.]+)", printed, re.MULTILINE) == [
        f"{figures[f'{at}.accept_length'].value:.2f}" for at in (1, 2)
    ]
    assert figures["2.output_throughput"].subject["concurrency"] == 2


def test_aiperf_and_vllm_know_what_was_measured() -> None:
    """Model, requests in flight and route are read; the version where the file has one."""
    for name in ("aiperf.json", "vllm-serve.json", "guidellm.json"):
        figure = from_file(DATA / name).figures[0]
        assert dict(figure.subject) == {
            "api": "openai",
            "target": "gamekit-stand-in",
            "concurrency": 2,
        }
        assert figure.count == 4
    assert from_file(DATA / "aiperf.json").version == "0.13.0"


@pytest.mark.parametrize("length", ["baseline", "eagle3-length2"])
def test_sglang_bench_of_a_real_gpu(length: str) -> None:
    """The server's arguments are the subject, and what the tool did not see is left out."""
    found = from_file(LAB / f"{length}-c16.jsonl")
    figures = by_metric(found)
    # Without a tokenizer the tool sees no first token, and writes 0 for its time.
    assert "ttft" not in figures
    assert "time_per_output_token" not in figures
    assert any("saw no first token" in text for text in found.left_out)
    subject = figures["output_throughput"].subject
    assert (subject["concurrency"], subject["input_tokens"], subject["output_tokens"]) == (
        16,
        64,
        257,
    )
    assert subject["weights"] == "dummy"
    assert found.environment == {"engine": "sglang", "engine_version": "0.5.15"}
    if length == "baseline":
        assert subject["speculation"] == "none"
        assert "accept_length" not in figures
    else:
        assert (subject["speculation"], subject["steps"], subject["draft_tokens"]) == (
            "EAGLE3",
            3,
            4,
        )
        assert figures["accept_length"].value == 2.0


def test_decode_lines_of_a_real_log() -> None:
    """Each load's lines by key, the first after idle left out, the subject from its arguments."""
    found = from_file(RECORDINGS / "eagle3-sim2.6" / "server.log")
    figures = {figure.key: figure for figure in found.figures}
    text = (RECORDINGS / "eagle3-sim2.6" / "server.log").read_text("utf-8")
    rates = [
        float(rate)
        for rate in re.findall(
            r"Decode batch, #running-req: 1, .*gen throughput \(token/s\): ([\d.]+)", text
        )
    ]
    rate = figures["1.decode_rate"]
    # 17.45 and the like span the idle time before them.
    assert min(rates) < 50
    assert rate.interval is not None
    assert rate.interval[0] > 400
    assert rate.count is not None
    assert rate.count < len(rates)
    assert 2.5 < figures["1.accept_length"].value < 2.7
    assert dict(rate.subject) == {
        "speculation": "EAGLE3",
        "steps": 3,
        "topk": 1,
        "draft_tokens": 4,
        "target": "SmolLM2-135M-Instruct",
        "concurrency": 1,
        "cuda_graphs": "captured",
    }
    assert figures["16.output_throughput"].subject["concurrency"] == 16


FILES = sorted(
    [
        *(path for path in DATA.iterdir() if path.suffix in (".json", ".jsonl", ".log")),
        *DATA.glob("nccl-tests*.txt"),
        *LAB.iterdir(),
        *RECORDINGS.glob("*/server.log"),
    ]
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_file_fits_one_format_only(path: Path) -> None:
    """No two formats take the same file for theirs."""
    given = Given(path, path.read_bytes())
    assert len([name for name, one in FORMATS.items() if one.recognises(given) is None]) == 1
