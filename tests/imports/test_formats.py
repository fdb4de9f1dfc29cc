"""Conventions are kept, versions of one field told apart, and nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamekit.errors import UsageFault
from imports.reading import DATA, by_metric, from_file, from_text


def nccl(name: str) -> dict[str, float]:
    return {figure.key: figure.value for figure in from_file(DATA / name).figures}


def test_nccl_tests_says_the_same_as_text_and_as_json() -> None:
    """Each size's latency is the same from both; bandwidths agree as far as they are printed."""
    text, whole = nccl("nccl-tests.txt"), nccl("nccl-tests.json")
    assert len(text) == len(whole) == 7 * 2 * 2
    for key, value in text.items():
        assert value == pytest.approx(whole[key], abs=0.0051), key
    assert text["allreduce_latency.57344.float16.in-place"] == 23.8


def test_columns_of_an_older_release_are_found_by_their_headings() -> None:
    """Without the root column and the program's name, the same figures come out."""
    assert nccl("nccl-tests-without-root.txt") == nccl("nccl-tests.txt")


def test_nccl_tests_records_nothing_of_the_environment_but_nccls() -> None:
    """Its JSON holds all variables; those of NCCL and the visible devices are kept."""
    found = from_file(DATA / "nccl-tests.json")
    assert found.environment["variables"] == {
        "NCCL_PROTO": "LL",
        "NCCL_DEBUG": "WARN",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
    }
    assert found.environment["nccl"] == "2.28.3"
    assert len(found.environment["gpus"]) == 4
    assert "not-to-be-recorded" not in repr(found)


def test_another_collective_is_no_all_reduce(tmp_path: Path) -> None:
    """By the program's name, and where there is none by the ratio of the bandwidths."""
    text = (DATA / "nccl-tests.txt").read_text()
    with pytest.raises(UsageFault, match=r":14: it is of all_gather_perf"):
        from_text(tmp_path, text.replace("all_reduce_perf", "all_gather_perf"))
    older = (DATA / "nccl-tests-without-root.txt").read_text()
    fewer = "\n".join(line for line in older.splitlines() if "Rank  3" not in line)
    with pytest.raises(UsageFault, match="not those of an all-reduce"):
        from_text(tmp_path, fewer)


def test_wrong_values_and_a_single_rank_are_no_figures(tmp_path: Path) -> None:
    """A size whose sums were wrong is left out; one rank's bandwidth of 0 is none."""
    whole = json.loads((DATA / "nccl-tests.json").read_text())
    whole["results"][0]["in_place"]["nwrong"] = 3.0
    del whole["config"]["devices"][1:]
    for result in whole["results"]:
        result["out_of_place"]["bus_bw"] = result["in_place"]["bus_bw"] = 0.0
    found = from_text(tmp_path, json.dumps(whole))
    keys = {figure.key for figure in found.figures}
    assert "allreduce_latency.8192.float16.in-place" not in keys
    assert "allreduce_latency.8192.float16.out-of-place" in keys
    assert not any("bus_bandwidth" in key for key in keys)
    assert any("3 values were wrong" in text for text in found.left_out)


def test_a_row_that_was_cut_is_told_with_its_line(tmp_path: Path) -> None:
    """Text that ends within a row is refused: its last figures would be others."""
    text = (DATA / "nccl-tests.txt").read_text()
    with pytest.raises(UsageFault, match=r":20: it has \d+ of 13 columns"):
        from_text(tmp_path, text[: text.index("10.52")])


def test_specforge_leaves_the_bonus_out_and_it_is_added() -> None:
    """0.64 + 0.64·0.61 + 0.64·0.61·0.58 = 1.256832 drafts: an accept length of 2.256832."""
    found = from_file(DATA / "specforge.log")
    figures = {figure.key: figure for figure in found.figures}
    assert figures["accept_length"].value == pytest.approx(2.256832)
    assert "plus 1" in figures["accept_length"].convention
    accuracies = [figures[f"conditional_accuracy.{at}"].value for at in (1, 2, 3)]
    assert accuracies == [0.64, 0.61, 0.58]
    assert found.aside["training_step"] == 200
    assert any("100" in text for text in found.left_out)
    best = from_file(DATA / "specforge-best.json")
    assert {f.key: f.value for f in best.figures} == {f.key: f.value for f in found.figures}


def test_earlier_specforge_tells_accuracies_alone() -> None:
    """Lines of one position each give accuracies; no accept length is made of rounded ones."""
    found = from_file(DATA / "specforge-earlier.log")
    assert [figure.value for figure in found.figures] == [0.64, 0.61, 0.58]
    assert {figure.metric for figure in found.figures} == {"conditional_accuracy"}


@pytest.mark.parametrize(("told", "value"), [(2.256832, 2.256832), (0.64, None)])
def test_a_length_of_the_same_name_is_what_the_accuracies_make_it(
    tmp_path: Path, told: float, value: float | None
) -> None:
    """With the bonus token in it nothing is added; one that fits neither is left out."""
    metrics = {"eval/per_position_acc": [0.64, 0.61, 0.58], "eval/simulated_acc_len": told}
    found = from_text(tmp_path, f"step 5: {metrics!r}\n")
    lengths = [figure.value for figure in found.figures if figure.metric == "accept_length"]
    assert lengths == ([] if value is None else [value])
    assert bool(found.left_out) is (value is None)


def test_vllm_tells_the_accept_length_of_its_own_run(tmp_path: Path) -> None:
    """Its acceptance length has the bonus token; its rates by position are cumulative."""
    data = json.loads((DATA / "vllm-serve.json").read_text())
    data |= {
        "spec_decode_acceptance_length": 2.5,
        "spec_decode_per_position_acceptance_rates": [0.75, 0.5, 0.25],
    }
    figures = {figure.key: figure for figure in from_text(tmp_path, json.dumps(data)).figures}
    assert figures["accept_length"].value == 2.5
    assert figures["accept_length"].joins
    assert figures["cumulative_acceptance.3"].value == 0.25


def test_the_server_s_lifetime_value_joins_no_series() -> None:
    """sglang's accept length is of all requests since the server's start, and says so."""
    length = by_metric(from_file(DATA / "sglang-serving.jsonl"))["accept_length"]
    assert not length.joins
    assert "since its start" in length.convention


def test_counts_of_chunks_are_taken_by_no_format() -> None:
    """A peak rate or gap that counts chunks as tokens becomes no figure, and is kept aside."""
    for name in ("sglang-serving.jsonl", "vllm-serve.json"):
        found = from_file(DATA / name)
        assert 68.0 not in [figure.value for figure in found.figures]
        assert any("max_output_tokens_per_s: counts chunks" in text for text in found.left_out)
        assert "max_output_tokens_per_s" in json.dumps(found.aside)


def test_units_are_read_and_not_assumed(tmp_path: Path) -> None:
    """aiperf names its units: seconds become ms, and a unit that is not known is refused."""
    data = json.loads((DATA / "aiperf.json").read_text())
    data["request_latency"] |= {"unit": "sec", "avg": 0.5}
    assert by_metric(from_text(tmp_path, json.dumps(data)))["request_latency"].value == 500
    data["request_latency"]["unit"] = "fortnights"
    with pytest.raises(UsageFault, match=r"request_latency\.unit is not ms or sec: fortnights"):
        from_text(tmp_path, json.dumps(data))


def test_names_of_aiperf_before_its_models_were_objects(tmp_path: Path) -> None:
    """The model and the concurrency are found where earlier releases put them."""
    data = json.loads((DATA / "aiperf.json").read_text())
    data["input_config"] = {
        "endpoint": {"model_names": ["m"]},
        "loadgen": {"concurrency": 8},
    }
    subject = from_text(tmp_path, json.dumps(data)).figures[0].subject
    assert (subject["target"], subject["concurrency"]) == ("m", 8)


def test_a_rate_of_arrivals_is_no_concurrency(tmp_path: Path) -> None:
    """With a finite request rate the limit in flight is no subject; the rate is."""
    data = json.loads((DATA / "sglang-serving.jsonl").read_text())
    data["request_rate"] = 2.5
    figure = from_text(tmp_path, json.dumps(data)).figures[0]
    assert "concurrency" not in figure.subject
    assert figure.parameters == {"request_rate": 2.5}


BATCH = {
    "run_name": "default", "batch_size": 1, "input_len": 1024, "output_len": 65,
    "latency": 1.28, "input_throughput": 3200.0, "output_throughput": 67.71,
    "overall_throughput": 850.78, "last_ttft": 0.32, "last_gen_throughput": 66.0,
    "acc_length": 2.1,
}  # fmt: skip


def test_batches_of_one_give_decode_rates_and_larger_ones_throughput(tmp_path: Path) -> None:
    """Seconds become ms; a batch's last ttft is none of its requests'; -1 is no accept length."""
    larger = {**BATCH, "batch_size": 8, "output_throughput": 541.67, "acc_length": -1}
    found = from_text(tmp_path, f"{json.dumps(BATCH)}\n{json.dumps(larger)}\n")
    assert {figure.key: figure.value for figure in found.figures} == {
        "1.request_latency": 1280.0, "1.ttft": 320.0, "1.decode_rate": 67.71,
        "1.accept_length": 2.1, "2.request_latency": 1280.0, "2.output_throughput": 541.67,
    }  # fmt: skip
    assert any("last_gen_throughput" in text for text in found.left_out)


def test_releases_of_the_log_that_lack_fields_give_what_they_have(tmp_path: Path) -> None:
    """Fields are found by key in any order; without accept length and graphs, only the rate."""
    line = "[2026-01-01 00:00:{:02}] Decode batch. #running-req: 1, #token: 9, "
    line += "gen throughput (token/s): {}, #queue-req: 0\n"
    text = "".join(line.format(at, rate) for at, rate in enumerate((3.0, 100.0, 110.0)))
    text = text.replace("Decode batch.", "Decode batch,")
    (figure,) = from_text(tmp_path, text).figures
    assert (figure.metric, figure.value, figure.count) == ("decode_rate", 105.0, 2)
    assert "cuda_graphs" not in figure.subject


@pytest.mark.parametrize("kind", ["a=b c", "", "Ä", "x" * 41, "../x", 3])
def test_a_type_that_no_id_can_hold_is_named(tmp_path: Path, kind: object) -> None:
    """nccl-tests' type is part of a figure's id: another text is refused with file and field."""
    whole = json.loads((DATA / "nccl-tests.json").read_text())
    whole["results"][0]["type"] = kind
    with pytest.raises(UsageFault, match=r"given:1: .*type is no"):
        from_text(tmp_path, json.dumps(whole))
    text = (DATA / "nccl-tests.txt").read_text().replace(" half ", " hälf ", 1)
    with pytest.raises(UsageFault, match=r"given:\d+: .*type is no name of a type: hälf"):
        from_text(tmp_path, text)


@pytest.mark.parametrize("name", ["nccl-tests.txt", "nccl-tests-without-root.txt"])
@pytest.mark.parametrize("other", ["all_reduce_perf", "all_gather_perf"])
def test_a_second_run_of_nccl_tests_in_one_text_is_told(
    tmp_path: Path, name: str, other: str
) -> None:
    """Two runs have ranks and settings of their own: the line where the second begins is told."""
    text = (DATA / name).read_text()
    second = text.count("\n") + 1
    with pytest.raises(UsageFault, match=rf"given:{second}: a second run begins there"):
        from_text(tmp_path, text + text.replace("all_reduce_perf", other))


def test_a_row_of_another_collective_is_told_with_its_line(tmp_path: Path) -> None:
    """A row whose bandwidths are not those of an all-reduce of the ranks came from elsewhere."""
    text = (DATA / "nccl-tests.txt").read_text()
    gathered = text.replace("8.69   13.04", "8.69    6.52")
    assert gathered != text
    with pytest.raises(UsageFault, match=r"given:19: its bandwidths are not those"):
        from_text(tmp_path, gathered)


@pytest.mark.parametrize("cut", [" 0", "       0", "\n"])
def test_a_last_row_without_an_end_is_no_row(tmp_path: Path, cut: str) -> None:
    """Text that ends within or behind the last number may have lost digits of it."""
    text = (DATA / "nccl-tests.txt").read_text()
    until = text.index("15.88") + len("15.88       0\n") - len(cut)
    with pytest.raises(UsageFault, match=r"given:20: it (has no end|has 12 of 13 columns)"):
        from_text(tmp_path, text[:until])


def test_two_rows_in_one_line_are_no_row(tmp_path: Path) -> None:
    """More cells than columns are a line that was mixed, not figures of the first columns."""
    text = (DATA / "nccl-tests.txt").read_text()
    joined = text.replace("0.85       0\n", "0.85       0 ", 1)
    with pytest.raises(UsageFault, match=r"given:14: it has 26 of 13 columns"):
        from_text(tmp_path, joined)


def earlier(step: int, *accuracies: float, unit: str = "Step") -> str:
    return "".join(
        f"Eval - {unit} {step} [1/10], position {at},  Acc: {accuracy}\n"
        for at, accuracy in enumerate(accuracies)
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (earlier(10, 0.6, 0.5) + earlier(10, 0.7, 0.5), 3),
        (earlier(20, 0.6, 0.5) + earlier(10, 0.7, 0.5), 3),
        (earlier(1, 0.6, 0.5) + earlier(2, 0.7, 0.5, unit="Epoch"), 3),
        ("step 5: {'eval/acc_0': 0.6}\nstep 5: {'eval/acc_0': 0.7}\n", 2),
        ("step 5: {'eval/acc_0': 0.6}\nstep 4: {'eval/acc_0': 0.7}\n", 2),
        (earlier(5, 0.6) + "step 5: {'eval/acc_0': 0.6, 'eval/acc_1': 0.5}\n", 2),
    ],
)
def test_evaluations_of_several_trainings_are_not_one(tmp_path: Path, text: str, line: int) -> None:
    """A step that is told twice and otherwise, or goes back, is of another run."""
    with pytest.raises(UsageFault, match=rf"given:{line}: it is of another run"):
        from_text(tmp_path, text)


def test_an_evaluation_that_is_told_twice_alike_is_one(tmp_path: Path) -> None:
    """Several ranks, or two streams of one log, may print the same lines."""
    once = earlier(5, 0.6, 0.5)
    text = "step 5: {'eval/acc_0': 0.6, 'eval/avg_loss': 2.5}\n"
    assert from_text(tmp_path, once + once).figures[1].value == 0.5
    assert len(from_text(tmp_path, text + text).figures) == 1


def test_an_accuracy_at_the_end_of_a_cut_log_is_not_taken(tmp_path: Path) -> None:
    """0.6 may be what was left of 0.64: the line without an end is told."""
    with pytest.raises(UsageFault, match=r"given:2: it has no end"):
        from_text(tmp_path, earlier(5, 0.61, 0.64)[:-2])
