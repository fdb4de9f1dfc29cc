"""Every run measures the client's own floor; here a short one will do."""

from __future__ import annotations

import pytest

from gamekit.bench import floor


@pytest.fixture(autouse=True)
def short_floors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same floor at the same load, over a quarter of the time."""
    monkeypatch.setattr(floor, "_FLOOR_S", floor._FLOOR_S / 4)
