"""The judgement of unquoted scalars, held against the readers it speaks of."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gamekit.errors import YamlError
from gamekit.strict_yaml import parse_yaml
from gamekit.strict_yaml.judgement import Refused, judge, judge_by_tables

from .readers import read_1_1, read_1_1_pure, read_1_2, same

WORDS = ["yes", "no", "on", "off", "y", "n", "true", "false", "null", "none", "~", "inf", "nan"]
PIECES = st.sampled_from(
    [*"0123456789", *"0123456789", *"._:+-eE=<", "0x", "0o", "0b", ":", "T", "Z", " ", "10", "59"]
)
NUMBER_LIKE = st.lists(PIECES, min_size=1, max_size=9).map("".join)
CASES = st.sampled_from([str.lower, str.upper, str.title, str.swapcase, lambda text: text[::-1]])
WORD_LIKE = st.builds(
    lambda word, case, before, after: before + case(word) + after,
    st.sampled_from(WORDS),
    CASES,
    st.sampled_from(["", "", "", ".", "+", "-", "+.", "-."]),
    st.sampled_from(["", "", "", "1", "_"]),
)
DATE_LIKE = st.builds(
    "{}-{:02}-{}{}{}".format,
    st.integers(1, 10000),
    st.integers(0, 13),
    st.integers(0, 32),
    st.sampled_from(["", "T", "t", " ", "  "]),
    st.sampled_from(["", "12:30:00", "1:02:03.5", "12:30:00Z", "12:30:00 +01:00", "12:30:00+0100"]),
)
SCALARS = st.one_of(NUMBER_LIKE, WORD_LIKE, DATE_LIKE).map(lambda text: text.strip(" "))


@settings(max_examples=1500, deadline=None)
@given(SCALARS)
@example("1_000")
@example("._5")
@example("+_1")
@example("0b_")
@example("1:20:30.5")
def test_a_plain_scalar_is_refused_or_read_alike_by_everybody(text: str) -> None:
    """What the judgement lets through, PyYAML and ruamel.yaml read to the same value and type."""
    source = f"key: {text}\n"
    try:
        document = parse_yaml(source.encode(), "f.yaml")
    except YamlError:
        return
    for read in (read_1_1, read_1_1_pure, read_1_2):
        assert same(read(source), document.data)


@settings(max_examples=1500, deadline=None)
@given(SCALARS)
def test_the_shortcuts_of_the_judgement_change_nothing(text: str) -> None:
    """The quick path for ordinary texts and numbers answers as the tables do."""
    quick, slow = judge(text), judge_by_tables(text)
    assert quick == slow
    assert type(quick) is type(slow)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=5))
def test_the_shortcut_for_texts_changes_nothing(text: str) -> None:
    """A text whose first character begins no number or word is the text by the tables too."""
    assert judge(text) == judge_by_tables(text)


@settings(max_examples=1000, deadline=None)
@given(SCALARS)
def test_what_pyyaml_and_the_core_schema_read_differently_is_refused(text: str) -> None:
    """A difference between PyYAML's resolver and YAML 1.2's core schema never passes."""
    tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)).rsplit(":")[-1]
    if tag != _core_kind(text):
        assert isinstance(judge(text), Refused)


def _core_kind(text: str) -> str:
    """The core schema of the YAML 1.2.2 text, section 10.3.2, row by row."""
    for pattern, kind in (
        (r"null|Null|NULL|~", "null"),
        (r"", "null"),
        (r"true|True|TRUE|false|False|FALSE", "bool"),
        (r"[-+]?[0-9]+", "int"),
        (r"0o[0-7]+", "int"),
        (r"0x[0-9a-fA-F]+", "int"),
        (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "float"),
        (r"[-+]?(\.inf|\.Inf|\.INF)", "float"),
        (r"\.nan|\.NaN|\.NAN", "float"),
    ):
        if re.fullmatch(pattern, text):
            return kind
    return "str"


BOOLEANS_1_1 = "y Y yes Yes YES n N no No NO on On ON off Off OFF".split()  # noqa: SIM905 # a table


@pytest.mark.parametrize(
    "text",
    [
        *BOOLEANS_1_1,
        *("017", "08.5e3", "+017", "-017", "00_", "08", "09", "0o17", "0b1", "-0b1", "+0x1F"),
        *("1_000", "1_0.5", "0x_1", "12:30", "-1:00", "1:20:30.5", "1e3", "1E+3", "1.5e3", ".5e3"),
        *("+.5", "-.5", "2026-11-29", "2026-11-29T10:00:00Z", "2026-1-2 3:04:05", "2026-13-45"),
        *("=", "<<", ".inf", "+.inf", "-.INF", ".nan", ".NaN", "NaN", "Infinity", "-inf", "+_"),
    ],
)
def test_every_kind_of_ambiguous_scalar_is_refused(text: str) -> None:
    """Each kind of scalar that readers disagree about is refused with a way to write it."""
    with pytest.raises(YamlError) as caught:
        parse_yaml(f"# a comment\nfindings:\n  - low: {text}\n".encode(), "f.yaml")
    assert (caught.value.file, caught.value.line) == ("f.yaml", 3)
    assert str(caught.value).startswith("f.yaml:3: field findings[0].low: ")
    assert text in str(caught.value)
    assert caught.value.mend is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("0", 0), ("-0", 0), ("+5", 5), ("82", 82), ("0x1F", 31), ("00", 0), ("07", 7)],
        *[("3.10", 3.1), (".5", 0.5), ("5.", 5.0), ("1.5e+3", 1500.0), ("-0.0", -0.0)],
        *[("1.0E-7", 1e-7), ("true", True), ("False", False), ("~", None), ("Null", None)],
        *[("", None), ("yEs", "yEs"), ("0o8", "0o8"), ("1.2.3", "1.2.3"), ("a:b", "a:b")],
        *[("tRUE", "tRUE"), ("8x", "8x"), ("none", "none"), ("_1", "_1"), ("2026-11", "2026-11")],
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_what_all_readers_read_alike_is_read(text: str, value: object) -> None:
    """A scalar with one meaning is read to that value with that type, and the source text kept."""
    document = parse_yaml(f"a: {text}\n".encode(), "f.yaml")
    assert same(document.data, {"a": value})
    assert document.raw.get(("a",)) == (None if isinstance(value, str) else text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9223372036854775808", "64-bit integer"),
        ("-9223372036854775809", "64-bit integer"),
        ("0xFFFFFFFFFFFFFFFFF", "64-bit integer"),
        ("9" * 10_000, "10000 characters"),
        ("0." + "1" * 200, "202 characters"),
        ("1.0e+999", "double"),
        ("-1.0e+309", "double"),
        ("1.0e-999", "so small"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(text: str, why: str) -> None:
    """Integers beyond 64 bits, floats beyond a double and numbers of absurd length are refused."""
    with pytest.raises(YamlError, match=why) as caught:
        parse_yaml(f"a: {text}\n".encode(), "f.yaml")
    assert len(str(caught.value)) < 300


def test_the_refusal_names_both_readings_and_both_ways_to_write_it() -> None:
    """The message says what each version reads, and how to write the text and the number."""
    with pytest.raises(YamlError) as caught:
        parse_yaml(b"value: 1e3\n", "f.yaml")
    assert str(caught.value) == (
        "f.yaml:1: field value: YAML 1.1 reads 1e3 as a text, YAML 1.2 as the number 1000.0; "
        'write "1e3" in quotes for the text, or the number as 1000.0'
    )


@pytest.mark.parametrize("text", ["1e3", "NO", "017", "12:30", "1_000", "0o17", "+.5"])
def test_the_advice_given_is_accepted(text: str) -> None:
    """Each way of writing that a refusal recommends is then read."""
    with pytest.raises(YamlError) as caught:
        parse_yaml(f"a: {text}\n".encode(), "f.yaml")
    advised = re.fullmatch(
        r'write ("[^"]*") in quotes for the text, or the \w+ as (.*)', caught.value.mend or ""
    )
    assert advised
    for way in (advised[1], *advised[2].split(" or ")):
        parse_yaml(f"a: {way}\n".encode(), "f.yaml")
