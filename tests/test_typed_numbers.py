"""Numbers as users type them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.typed_numbers import any_number, whole_number


@given(st.integers())
def test_a_whole_number_is_read_as_it_is_written(number: int) -> None:
    """Its decimal digits, with or without a sign, give it back."""
    assert whole_number(str(number)) == number
    assert whole_number(f"{number:+}") == number


@given(st.floats(allow_nan=False))
def test_a_number_is_read_as_it_is_written(number: float) -> None:
    """Its shortest text gives it back, infinities included."""
    assert any_number(repr(number)) == number
    assert math.isnan(any_number("nan"))


@pytest.mark.parametrize(
    "text", ["1_7", "\u0661\u0667", "\uff11\uff17", "1_000.5", "", "x", "17 tok"]
)
def test_what_is_not_written_in_plain_digits_is_no_number(text: str) -> None:
    """Python's own separators and the digits of other scripts are typing errors."""
    for read in (whole_number, any_number):
        with pytest.raises(ValueError, match=r"digits|could not|invalid"):
            read(text)
