"""Files that are cut, giant, nested, wrong or no text end in one line that names file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamekit.errors import UsageFault
from gamekit.host.redact import Redactor
from gamekit.imports.aside import kept_aside
from gamekit.imports.given import read
from gamekit.strict_yaml import write_yaml
from imports.reading import DATA, LAB, from_text

# One file for all examples: each overwrites it.
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
NAMES = (
    "aiperf.json", "guidellm.json", "vllm-serve.json", "sglang-serving.jsonl", "nccl-tests.json",
    "nccl-tests.txt", "specforge.log", "specforge-best.json", "sglang-batch.jsonl",
)  # fmt: skip
HOSTILE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [
            float("nan"),
            float("inf"),
            -1,
            -0.5,
            10**400,
            1e308,
            "",
            "x",
            "\ud800",
            [],
            {},
            [[]],
            [{}],
        ]
    ),
    st.text(max_size=5),
)


@pytest.mark.parametrize("name", NAMES)
@shared
@given(data=st.data())
def test_a_cut_file_gives_figures_or_one_line(name: str, data: st.DataObject, tmp_path) -> None:
    """Wherever a file ends, there is a result or a usage error of one line."""
    raw = (DATA / name).read_bytes()
    assert faults_in_importing(tmp_path, raw[: data.draw(st.integers(0, len(raw)))]) == []


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.endswith(("json", "serving.jsonl"))]
)
@shared
@given(data=st.data())
def test_a_wrong_value_anywhere_gives_figures_or_one_line(
    name: str, data: st.DataObject, tmp_path
) -> None:
    """Any value replaced by one of another type or size ends in a result or one line."""
    whole = json.loads((DATA / name).read_text("utf-8"))
    at = whole
    for _ in range(data.draw(st.integers(0, 5))):
        if not isinstance(at, dict | list) or not at:
            break
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(at[key], dict | list):
            at[key] = data.draw(HOSTILE)
            break
        at = at[key]
    assert faults_in_importing(tmp_path, json.dumps(whole).encode()) == []


def faults_in_importing(folder: Path, raw: bytes) -> list[str]:
    """What is wrong with the figures that a file gave, or with the line that refused it."""
    try:
        found = from_text(folder, raw)
    except UsageFault as error:
        refused = str(error)
        one_line = "\n" not in refused and refused.startswith(f"{folder / 'given'}:")
        return [] if one_line else [refused]
    write_yaml(kept_aside(found.aside, Redactor()))  # what is kept aside can be written
    if not found.figures:
        return ["neither figures nor a refusal"]
    return [str(one) for one in found.figures if not 0 <= one.value <= 1e103]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\x00\x01\x02", ":1: no format fits"),
        (b"ok\nv\xe4lue\n", ":2: it is not UTF-8"),
        (b"[" * 100_000, ":1: no format fits"),
        (b'{"a":' * 100_000, ":1: no format fits"),
        (b"[]", ":1: no format fits"),
        (b"{}", ":1: no format fits"),
        (b"9" * 10_000, ":1: no format fits"),
        (b'{"benchmarks": 3, "metadata": {"guidellm_version": 1}}', ":1: no format fits"),
    ],
)
def test_what_is_of_no_tool_says_what_was_tried(tmp_path: Path, raw: bytes, says: str) -> None:
    """Each format that was tried is named with why it does not fit."""
    with pytest.raises(UsageFault, match=says) as caught:
        from_text(tmp_path, raw)
    if "no format" in says:
        assert "guidellm: it" in str(caught.value)
        assert "nccl-tests text: no line" in str(caught.value)


def test_a_line_that_was_cut_is_named(tmp_path: Path) -> None:
    """Of several lines of JSON the one that ends too early is told."""
    line = (DATA / "sglang-serving.jsonl").read_text()
    with pytest.raises(UsageFault, match=r"given:2: it is no JSON object"):
        from_text(tmp_path, f"{line.strip()}\n{line[:500]}")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "mean_ttft_ms is no figure: nan"),
        (-3.0, "mean_ttft_ms is negative"),
        ("fast", "mean_ttft_ms is no number: fast"),
        (True, "mean_ttft_ms is no number"),
        ([1], "mean_ttft_ms is no number: list"),
    ],
)
def test_a_value_that_is_no_figure_is_named(tmp_path: Path, value: object, says: str) -> None:
    """NaN, negative and wrongly typed values are refused with file, line and field."""
    data = json.loads((DATA / "sglang-serving.jsonl").read_text())
    with pytest.raises(UsageFault, match=f"given:1: {says}"):
        from_text(tmp_path, json.dumps({**data, "mean_ttft_ms": value}))


def test_empty_missing_and_giant_files_are_refused(tmp_path: Path) -> None:
    """Nothing is read of a file that cannot be a result."""
    empty, giant = tmp_path / "empty", tmp_path / "giant"
    empty.write_bytes(b" \n")
    with giant.open("wb") as file:
        file.truncate(1 << 40)
    for path, says in (
        (empty, "it is empty"),
        (giant, "1048576 MiB"),
        (tmp_path / "none", "there is no such file"),
        (tmp_path, "it is no file"),
        (Path("/dev/zero"), "it is no file"),
    ):
        with pytest.raises(UsageFault, match=says):
            read(path, Redactor())


def test_secrets_of_a_servers_arguments_are_not_kept() -> None:
    """What a secret's name holds is taken out, wherever it stands; long lists tell their length."""
    info = json.loads((LAB / "baseline-c1.jsonl").read_text().splitlines()[0])["server_info"]
    info |= {"api_key": "abc-def-123", "latencies": [1.0] * 1000}
    kept = kept_aside({"line 1": {"server_info": info}}, Redactor())
    assert "abc-def-123" not in repr(kept)
    assert kept["line 1"]["server_info"]["latencies"] == "left out: 1000 values"
    assert len(write_yaml(kept)) < 200_000


def test_a_line_separator_within_a_text_ends_no_line(tmp_path: Path) -> None:
    """JSON that holds U+2028 as it is, as clients write answers, is one line."""
    data = json.loads((DATA / "sglang-serving-rust.jsonl").read_text())
    data["generated_texts"] = ["a\u2028b\x85c"] * 4
    found = from_text(tmp_path, json.dumps(data, ensure_ascii=False))
    assert len(found.figures) == 6


@pytest.mark.parametrize(
    "word",
    ["Decode batch ", "server_args=ServerArgs(a", "step 1: {'eval/", "Eval - Step 1 ", "# size"],
)
def test_a_line_without_end_is_read_to_its_end(tmp_path: Path, word: str) -> None:
    """A megabyte in one line, of the words that formats look for, is refused like any other."""
    with pytest.raises(UsageFault, match="no format fits"):
        from_text(tmp_path, word * (1_000_000 // len(word)))


@pytest.mark.parametrize("word", ["step 1: {'eval/'}", "Eval - Step 1 position 1, Acc: 1 "])
def test_a_line_of_many_evaluations_is_read_once(tmp_path: Path, word: str) -> None:
    """Lines as long as an evaluation may be, of words that begin and end one, take no powers."""
    line = word * (9_990 // len(word))
    with pytest.raises(UsageFault, match="given:"):
        from_text(tmp_path, f"{line}x\n" * 200)


def test_a_graph_count_of_thousands_of_digits_is_none(tmp_path: Path) -> None:
    """A number that Python itself refuses to read is not read as nccl-tests' setting."""
    text = (DATA / "nccl-tests.txt").read_text().replace("graph: 0", f"graph: {'1' * 5000}")
    assert all("mode" not in figure.parameters for figure in from_text(tmp_path, text).figures)


@pytest.mark.parametrize("value", ["0x" + "f" * 5000, "1e400", "'" + "9" * 5000 + "'", "True"])
def test_an_accuracy_that_is_giant_is_named(tmp_path: Path, value: str) -> None:
    """A literal of any size or type in a log's metrics is told with its line."""
    with pytest.raises(UsageFault, match=r"given:1: .* lies not between 0 and 1"):
        from_text(tmp_path, f"step 5: {{'eval/acc_0': {value}}}\n")


@pytest.mark.parametrize("first", ['"mean_ttft_ms": 3.0', '"server_info": {"a": 1, "a": 1}'])
def test_a_key_that_is_there_twice_is_named(tmp_path: Path, first: str) -> None:
    """Of two values nobody knows which was measured: file, line and key are told."""
    line = (DATA / "sglang-serving.jsonl").read_text().strip()
    key = "a" if "info" in first else "mean_ttft_ms"
    if key == "a":
        line = line.replace('"server_info"', '"server_info_before"', 1)
    doubled = f"{{{first}, {line[1:]}"
    with pytest.raises(UsageFault, match=f"given:2: key {key} is there twice"):
        from_text(tmp_path, f"{line}\n{doubled}\n")


def test_a_key_that_is_there_twice_in_a_whole_file_is_named(tmp_path: Path) -> None:
    """In a file with a line for each key, the line of the second one is told, nested or not."""
    text = json.dumps(json.loads((DATA / "vllm-serve.json").read_text()), indent=1)
    twice = text.replace("{", '{"mean_ttft_ms": 1.0,', 1)
    line = text[: text.index('"mean_ttft_ms"')].count("\n") + 1
    with pytest.raises(UsageFault, match=f"given:{line}: key mean_ttft_ms is there twice"):
        from_text(tmp_path, twice)
    with pytest.raises(UsageFault, match="given:1: key b is there twice"):
        from_text(tmp_path, '{"a": [{"b": 1, "b": 2}]}')


@pytest.mark.parametrize("name", ["guidellm.json", "aiperf.json", "nccl-tests.json"])
def test_json_that_was_cut_is_told_with_the_line_where_it_ends(tmp_path: Path, name: str) -> None:
    """Wherever a file of many lines ends, its last line is told, and not its first."""
    text = json.dumps(json.loads((DATA / name).read_text("utf-8")), indent=1)
    for part in (0.3, 0.6, 0.9):
        cut = text[: int(len(text) * part)].rstrip()
        last = cut.count("\n") + 1
        with pytest.raises(UsageFault, match=rf"given:{last}: its JSON breaks off there"):
            from_text(tmp_path, f"{cut}\n\n")


def test_json_that_was_changed_is_told_with_its_line(tmp_path: Path) -> None:
    """A comma too few in the middle is told where it is missing."""
    text = json.dumps(json.loads((DATA / "vllm-serve.json").read_text("utf-8")), indent=1)
    line = text[: text.index('"completed"')].count("\n") + 1
    with pytest.raises(UsageFault, match=rf"given:{line}: its JSON breaks off there"):
        from_text(tmp_path, text.replace(',\n "completed"', '\n "completed"'))


@pytest.mark.parametrize(
    ("name", "indent"), [("vllm-serve.json", 1), ("sglang-serving.jsonl", None)]
)
def test_a_number_of_thousands_of_digits_is_named(
    tmp_path: Path, name: str, indent: int | None
) -> None:
    """What Python refuses to read as a number is told with its line and field."""
    data = json.loads((DATA / name).read_text("utf-8"))
    text = json.dumps({**data, "completed": "@"}, indent=indent)
    line = text[: text.index('"@"')].count("\n") + 1
    with pytest.raises(UsageFault, match=rf"given:{line}: completed is no figure"):
        from_text(tmp_path, text.replace('"@"', "9" * 5000))
