"""Discovery: files are benchmarks, one's own come first, and a broken one hides no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from workbench import COUNTING, knowledge_base

from gamekit.bench.discovery import discover, raise_problems
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter
from gamekit.errors import KnowledgeError, KnowledgeErrors, UsageFault


def test_the_packaged_benchmarks_are_found_without_a_knowledge_base() -> None:
    """client_floor and serving_decode come with the package, and each says what it needs."""
    found = discover(None)
    assert found.problems == ()
    assert {"client_floor", "serving_decode"} <= found.benchmarks.keys()
    assert found.benchmarks["client_floor"].needs is Needs.NOTHING
    assert found.benchmarks["serving_decode"].needs is Needs.SERVER


def test_a_user_adds_a_benchmark_by_adding_a_file(tmp_path: Path) -> None:
    """A file in the knowledge base's benchmarks/ is found beside the packaged ones."""
    found = discover(knowledge_base(tmp_path, {"counting": COUNTING}))
    assert {"counting", "client_floor"} <= found.benchmarks.keys()
    assert found.benchmarks["counting"].file == tmp_path / "benchmarks/counting.py"


def test_a_file_of_ones_own_takes_the_place_of_the_packaged_one(tmp_path: Path) -> None:
    """Only the file of that name is overridden; the others still come from the package."""
    own = COUNTING.replace('name="counting"', 'name="client_floor"')
    found = discover(knowledge_base(tmp_path, {"client_floor": own}))
    assert found.benchmarks["client_floor"].description == "counts"
    assert found.problems == ()
    assert "serving_decode" in found.benchmarks


def test_helpers_are_no_benchmarks(tmp_path: Path) -> None:
    """A file whose name begins with _ is not loaded."""
    found = discover(knowledge_base(tmp_path, {"_helper": "raise RuntimeError"}))
    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1\ndef run(:\n", 2, "is no Python"),
        ("import json\n\njson.no_such()\n", 3, "AttributeError"),
        ("import no_such_module_here\n", 1, "ModuleNotFoundError"),
        ("x = 1\n", 1, "declares no benchmark"),
        (
            COUNTING.replace('"decode_rate", headline', '"my_metric", headline'),
            15,
            r'Measures("my_metric", unit="ms", better="lower")',
        ),
        (COUNTING.replace('name="counting"', 'name="No Good"'), 12, "lower case"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_hides_no_other(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    """The error has file and line; every other benchmark is there."""
    found = discover(knowledge_base(tmp_path, {"broken": text, "counting": COUNTING}))
    assert {"counting", "client_floor"} <= found.benchmarks.keys()
    (problem,) = found.problems
    assert problem.file == str(tmp_path / "benchmarks/broken.py")
    assert problem.line == line
    assert says in str(problem)
    with pytest.raises(KnowledgeError, match=r"broken\.py"):
        found.select(("broken",))
    with pytest.raises(KnowledgeError, match=r"broken\.py"):
        raise_problems(found)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """A name is unique: the second file that declares it is an error that names the first."""
    found = discover(knowledge_base(tmp_path, {"a": COUNTING, "b": COUNTING, "c": "import ("}))
    assert found.benchmarks["counting"].file == tmp_path / "benchmarks/a.py"
    assert "a.py" in str(found.problems[0])
    with pytest.raises(KnowledgeErrors):
        raise_problems(found)


def test_an_unknown_name_is_told_with_what_is_near(tmp_path: Path) -> None:
    """A misspelt benchmark is a usage error that names the likely one."""
    with pytest.raises(UsageFault, match="did you mean serving_decode"):
        discover(None).select(("serving_decod",))


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Parameter("n", int, 1, "n", low=1, high=10), "10", 10),
        (Parameter("x", float, 1.0, "x"), "2.5", 2.5),
        (Parameter("b", bool, False, "b"), "TRUE", True),
        (Parameter("s", str, None, "s", choices=("sglang", "openai")), "openai", "openai"),
    ],
)
def test_parameters_read_their_type(parameter: Parameter, text: str, value: object) -> None:
    """A value within its limits is read as the declared type."""
    assert parameter.parse(text) == value


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (Parameter("n", int, 1, "n", low=1), "0"),
        (Parameter("n", int, 1, "n", high=5), "6"),
        (Parameter("n", int, 1, "n"), "1.5"),
        (Parameter("x", float, 1.0, "x", low=0, high=1), "nan"),
        (Parameter("x", float, 1.0, "x"), "inf"),
        (Parameter("b", bool, False, "b"), "maybe"),
        (Parameter("s", str, None, "s", choices=("sglang",)), "vllm"),
    ],
)
def test_values_beyond_the_limits_are_refused(parameter: Parameter, text: str) -> None:
    """What is of another type, or outside the range, is a usage error that names the parameter."""
    with pytest.raises(UsageFault, match=f"{parameter.name}={text}"):
        parameter.parse(text)


def test_a_declaration_that_does_not_hold_together_is_refused() -> None:
    """No metric, two parameters of one name, a metric in another unit: each is refused."""

    def run(context: object) -> object:
        yield {}

    def declared(**changes: object) -> Benchmark:
        return Benchmark(
            **{"name": "x", "description": "x", "measures": [Measures("ttft")], "run": run}
            | changes
        )

    for wrong in (
        {"measures": []},
        {"description": "a\nb"},
        {"parameters": [Parameter("n", int, 1, "n")] * 2},
    ):
        with pytest.raises(ValueError, match=r"declare|one line|twice"):
            declared(**wrong)
    with pytest.raises(ValueError, match="is in ms"):
        Measures("ttft", unit="s")
    assert [one.metric for one in declared().headlines] == ["ttft"]


@pytest.mark.parametrize("leaves", ["import sys; sys.exit(3)", "raise KeyboardInterrupt"])
def test_a_file_that_ends_the_program_is_a_broken_file(tmp_path: Path, leaves: str) -> None:
    """It is named with its line and hides no other."""
    found = discover(knowledge_base(tmp_path, {"broken": f"x = 1\n{leaves}\n", "a": COUNTING}))
    assert "counting" in found.benchmarks
    (problem,) = found.problems
    assert "broken.py:2: cannot be imported" in str(problem)
