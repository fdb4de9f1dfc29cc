"""The record of a run: its times."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from writing import record

from gamekit.findings import Run


def lasting(started: str, finished: str) -> Run:
    data = record().run.model_dump()
    return Run.model_validate({**data, "started": started, "finished": finished})


@pytest.mark.parametrize("finished", ["2026-11-30T12:00:00Z", "2026-11-30T12:00:00.5Z"])
def test_times_are_compared_as_times(finished: str) -> None:
    """Parts of a second, written or not, do not make an end lie before its beginning."""
    assert lasting("2026-11-30T12:00:00Z", finished).finished == finished


def test_an_end_before_the_beginning_is_refused() -> None:
    """Half a second before the beginning is refused, however the two are written."""
    with pytest.raises(ValidationError, match="finished lies before started"):
        lasting("2026-11-30T12:00:00.5Z", "2026-11-30T12:00:00Z")
