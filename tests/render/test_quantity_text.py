"""How a document writes the quantity of a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamekit.knowledge import build
from gamekit.quantity import Quantity
from gamekit.render.links import Links
from gamekit.render.view import View
from gamekit.store.load import Base
from gamekit.store.root import Config


@pytest.mark.parametrize(
    ("samples", "shown"),
    [
        ([2.0] * 7, "2 tok/cycle"),
        ([0.1 + 0.2, 0.3, 0.3], "0.3 tok/cycle"),
        ([2.0, 3.0], "2.5 tok/cycle (2 to 3 observed)"),
        ([69.9, 70.0, 70.0, 70.1, 70.0], "70.00 tok/cycle (69.91 to 70.09)"),
    ],
)
def test_samples_show_their_interval_where_there_is_one(samples: list[float], shown: str) -> None:
    """The mean has the decimals of its interval, and an interval without width is not repeated."""
    config = Config.model_validate({"schema": 1, "title": "A plan", "plan": "plan.md"})
    view = View(build(Base(Path(), config, (), {}, {})), Links("plan.md"))
    assert view.quantity_text(Quantity(unit="tok/cycle", samples=samples)) == shown
