"""Raw samples as a table of text: what is written reads back, and nothing is read amiss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.findings.run import Case
from gamekit.findings.table import Scalar, table_columns, table_text
from gamekit.strict_yaml import parse_yaml, write_yaml

CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(
        ["", "true", "null", "1", "-0", "1e5", '"', '"x"', "a,b", "a\r\nb", " x ", "٣"]
    )
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Scalar]]:
    """Columns of any names that a file can hold, and any cells, of one length."""
    letters = st.characters(codec="utf-8", exclude_characters="\r\n")
    name = st.text(letters, min_size=1, max_size=10)
    names = draw(st.lists(name, max_size=5, unique=True))
    rows = draw(st.integers(0, 6))
    return {name: draw(st.lists(CELLS, min_size=rows, max_size=rows)) for name in names}


def typed(columns: dict[str, list[Scalar]]) -> dict[str, list[tuple[type, Scalar]]]:
    """Each cell with its type: True is no 1, and 2 no 2.0."""
    return {name: [(type(cell), cell) for cell in column] for name, column in columns.items()}


@given(tables())
def test_what_is_written_reads_back_equal(columns: dict[str, list[Scalar]]) -> None:
    """Every cell comes back with its value and its type, also out of a YAML file."""
    text = table_text(columns)
    assert typed(table_columns(text)) == typed(columns)
    document = parse_yaml(write_yaml({"samples": text}).encode(), "run.yaml")
    assert typed(table_columns(document.data["samples"])) == typed(columns)


def test_a_table_is_for_reading() -> None:
    """A line a row, and nothing in quotation marks that needs none."""
    columns: dict[str, list[Scalar]] = {
        "row": ["request", "request"],
        "ttft": [22.0, None],
        "error": [None, "reset, by the peer"],
        "ok": [True, False],
    }
    text = 'row,ttft,error,ok\nrequest,22.0,,true\nrequest,,"reset, by the peer",false\n'
    assert table_text(columns) == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,b\n1\n", "row 1 has 1 cells, and 2 are named"),
        ("a\n1\n1,2\n", "row 2 has 2 cells, and 1 are named"),
        ("a,a\n1,2\n", "a column name stands there twice"),
        ("a\n1e999\n", "row 1: 1e999 is larger than any figure"),
        ('a\n"""x"\n', 'row 1: "x is no text in quotation marks'),
        ('a\n"""1""2"\n', 'row 1: "1"2 is no text in quotation marks'),
        ('a\n"x\n', "line 2 is no row of a table"),
        ('a\n"x"y\n', "line 2 is no row of a table"),
    ],
)
def test_what_is_no_table_is_refused_by_its_place(text: str, fault: str) -> None:
    """The fault names the row or line."""
    with pytest.raises(ValueError, match=fault):
        table_columns(text)


def test_a_case_takes_both_forms() -> None:
    """Columns and the table of them are one; older run files have columns."""
    columns = {"ttft": [22.0, 23.5], "note": [None, "late"]}
    case = Case.model_validate({"samples": columns})
    assert Case.model_validate({"samples": table_text(case.samples)}) == case
    assert case.samples == columns


@given(st.text())
def test_any_text_is_a_table_or_refused(text: str) -> None:
    """Nothing but ``ValueError`` comes out of it, and what is accepted has equal columns."""
    try:
        columns = table_columns(text)
    except ValueError:
        return
    assert len({len(column) for column in columns.values()}) <= 1
    assert typed(table_columns(table_text(columns))) == typed(columns)
