"""The writer: what it writes reads back equal everywhere, is deterministic and meant for people."""

from __future__ import annotations

import datetime
import enum
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gamekit.errors import YamlError
from gamekit.strict_yaml import MAX_DEPTH, parse_yaml, write_yaml

from .readers import read_1_1, read_1_1_pure, read_1_2, same
from .test_scalars import SCALARS

# Texts that YAML could take for something else: half of them from its own characters.
TRICKY = st.text(alphabet="ab -:#?,[]{}&*!|>'\"%@`~=<\\/.\n\t\r\x85\u2028\u00a0é→0", max_size=20)
TEXTS = st.one_of(SCALARS, TRICKY, st.text(max_size=30))
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 1e16, 123456789.0]),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(TEXTS, inner, max_size=4),
        st.lists(NUMBERS, max_size=30),
    ),
    max_leaves=25,
)


@settings(max_examples=600, deadline=None)
@given(DATA)
@example(
    {"a": "x\n y\n\nz\n", "b": ["p\nq", {"c": "r\n\ns"}], "d": "\nx", "e": " x\ny", "f": "x \ny"}
)
@example(["a\nb", [["c\nd"]], {}, [], [[]], [{}], "", [1, "1"], [None, 2.5]])
@example("top\nlevel\n")
@example(["=======", "<<<<<<< HEAD", "--- x", "...", "# x", "%YAML 1.1", "\ufeff", "a: b", "a #b"])
@example({"<<": 1, "=": 2, "": 3, "y": 4, "1": 5, "a b: c": 6, "# d": 7, "? e": 8, "x\ny": 9})
def test_what_is_written_reads_back_equal_everywhere(data: Any) -> None:
    """Our reader, PyYAML (1.1, with libyaml and without) and ruamel.yaml (1.2) read equal data."""
    text = write_yaml(data, ["a comment", ""])
    assert same(parse_yaml(text.encode(), "f.yaml").data, data)
    assert same(read_1_1(text), data)
    assert same(read_1_1_pure(text), data)
    assert same(read_1_2(text), data)


@settings(max_examples=200, deadline=None)
@given(DATA)
def test_every_written_line_is_plain_and_ends_in_no_blank(data: Any) -> None:
    """Lines end in LF alone and in no space, and hold no tab."""
    text = write_yaml(data)
    assert text.endswith("\n")
    assert "\t" not in text
    assert "\r" not in text
    assert all(line == line.rstrip(" ") for line in text.split("\n"))


@settings(max_examples=300, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=200))
def test_samples_are_wrapped_at_100_columns(numbers: list[int | float]) -> None:
    """A list of numbers stands in brackets, on lines of at most 100 characters."""
    text = write_yaml({"findings": [{"value": {"samples": numbers}}]})
    assert max(map(len, text.split("\n"))) <= 100
    assert same(parse_yaml(text.encode(), "f").data["findings"][0]["value"]["samples"], numbers)


def test_the_form_of_a_document() -> None:
    """Block style with two spaces, keys in their order, texts quoted only where they must be."""
    data = {
        "schema": 1,
        "findings": [
            {
                "id": "kimi-baseline",
                "title": "Baseline, 82 tok/s without speculation",
                "date": "2026-11-29",
                "value": {"value": 82, "unit": "tok/s", "low": 2.0, "high": 1e22},
                "subject": {"drafter": None, "graphed": True, "version": "3.10", "answer": "NO"},
                "note": "First line\n  indented: yes\n\nlast line\n",
                "tags": ["a", "b: c", "https://example.org/x?y=1#z"],
                "nested": [["p", "q"], [1, 2], []],
                "nothing": {},
            },
            "text",
        ],
        "samples": [100.0, 101, -0.0],
    }
    assert write_yaml(data, ["yaml-language-server: $schema=x.json", "", "Of run 7"]) == (
        "# yaml-language-server: $schema=x.json\n"
        "#\n"
        "# Of run 7\n"
        "schema: 1\n"
        "findings:\n"
        "  - id: kimi-baseline\n"
        "    title: Baseline, 82 tok/s without speculation\n"
        '    date: "2026-11-29"\n'
        "    value:\n"
        "      value: 82\n"
        "      unit: tok/s\n"
        "      low: 2.0\n"
        "      high: 1.0e+22\n"
        "    subject:\n"
        "      drafter: null\n"
        "      graphed: true\n"
        '      version: "3.10"\n'
        '      answer: "NO"\n'
        "    note: |\n"
        "      First line\n"
        "        indented: yes\n"
        "\n"
        "      last line\n"
        "    tags:\n"
        "      - a\n"
        '      - "b: c"\n'
        '      - "https://example.org/x?y=1#z"\n'
        "    nested:\n"
        "      - - p\n"
        "        - q\n"
        "      - [1, 2]\n"
        "      - []\n"
        "    nothing: {}\n"
        "  - text\n"
        "samples: [100.0, 101, -0.0]\n"
    )


def test_numpy_scalars_are_written_as_plain_numbers() -> None:
    """Every numpy number, boolean and text becomes the plain value it holds."""
    data = {
        "f64": np.float64(1.5),
        "f32": np.float32(0.1),
        "long": np.longdouble(2.5),
        "i8": np.int8(-3),
        "u64": np.uint64(7),
        "bool": np.bool_(True),
        "text": np.str_("NO"),
        "samples": [np.float64(1), np.int64(2)],
        np.str_("key"): 0,
    }
    assert write_yaml(data) == (
        "f64: 1.5\nf32: 0.10000000149011612\nlong: 2.5\ni8: -3\nu64: 7\nbool: true\n"
        'text: "NO"\nsamples: [1.0, 2]\nkey: 0\n'
    )


def test_subclasses_of_plain_types_are_written_as_the_value_they_hold() -> None:
    """Enumerations with text or number values and tuples need no conversion by the caller."""

    class Grade(enum.StrEnum):
        REPORTED = "reported"

    class Count(enum.IntEnum):
        TWO = 2

    assert write_yaml({"grade": Grade.REPORTED, "count": [Count.TWO], "pair": ("a", 1)}) == (
        "grade: reported\ncount: [2]\npair:\n  - a\n  - 1\n"
    )


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: Any = "x"
for _ in range(MAX_DEPTH + 1):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": [{"b": math.nan}]}, "a[0].b: NaN is not a number that can be measured"),
        ({"samples": [1.0, -math.inf]}, "samples[1]: infinity is not a number"),
        ({"a": np.float32("nan")}, "a: NaN is not"),
        ({"a": np.longdouble("1e4000")}, "a: infinity is not"),
        ({"a": [2**63]}, "a[0]: an integer beyond 64 bits"),
        ({"a": np.uint64(2**64 - 1)}, "a: an integer beyond 64 bits"),
        ({"a": {"b": datetime.date(2026, 11, 29)}}, "a.b: a value of type date"),
        ({"a": np.datetime64("2026-11-29")}, "a: a value of type datetime64"),
        ({"a": np.complex128(1)}, "a: a value of type complex128"),
        ({"a": np.array([1.0])}, "a: a value of type ndarray"),
        ({"a": b"x"}, "a: a value of type bytes"),
        ({"a": {1, 2}}, "a: a value of type set"),
        ([object()], "[0]: a value of type object"),
        ({"a": {1: 2}}, "a: a key of type int"),
        ({"a": {None: 2}}, "a: a key of type NoneType"),
        ({"a": "x\ud800"}, "a: half of a surrogate pair"),
        ({"a": "x\ny\ud800"}, "a: half of a surrogate pair"),
        ({"x\ud800": 1}, "half of a surrogate pair"),
        ({"a": {"k" * 2000: 1}}, "a key of more than"),
        (CYCLE, "nested more than 64 levels deep"),
        (DEEP, "nested more than 64 levels deep"),
        ({"a": ["x" * 1000] * 20_000}, "larger than 16 MiB"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_field(data: Any, words: str) -> None:
    """A value that no reader would read back equal is refused in one line that names its path."""
    with pytest.raises(YamlError) as caught:
        write_yaml(data)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.mend


@pytest.mark.parametrize("inner", [{}, [], [1.0], {"a": 1}, ["a"]])
def test_the_deepest_document_that_is_written_is_read(inner: Any) -> None:
    """Writer and reader count nesting alike, so that nothing is written that cannot be read."""
    data = inner
    for _ in range(MAX_DEPTH - 1):
        data = [data]
    assert parse_yaml(write_yaml(data).encode(), "f.yaml").data == data
    with pytest.raises(YamlError, match="levels deep"):
        write_yaml([data])


def test_a_header_line_that_would_end_its_comment_is_refused() -> None:
    """A line break in a header line cannot smuggle content into the document."""
    for line in ("a\nb: 1", "a\x85b: 1", "a\u2028b"):
        with pytest.raises(YamlError, match="header line"):
            write_yaml({}, [line])


def test_writing_does_not_import_numpy() -> None:
    """A program without numpy writes YAML without loading it."""
    code = (
        "import sys, gamekit.strict_yaml as y; y.write_yaml({'a': [1.5]}); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
