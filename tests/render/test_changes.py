"""How a conclusion that moved is told."""

from __future__ import annotations

import pytest

from gamekit.render.changes import Change


@pytest.mark.parametrize(
    ("causes", "by"),
    [
        ((), ""),
        (("r.1", "r.2", "r.3"), ", by r.1 and r.2 and r.3"),
        (("r.1", "r.2", "r.3", "r.4", "r.5"), ", by r.1 and r.2 and 3 more"),
    ],
)
def test_of_many_figures_that_moved_a_conclusion_two_are_named(
    causes: tuple[str, ...], by: str
) -> None:
    """A sweep moves a conclusion by all its figures: more than three are counted."""
    assert Change("claim gain", "1 %", "2 %", causes).in_words() == f"claim gain: 1 % → 2 %{by}"
