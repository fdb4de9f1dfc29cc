"""The times between chunks of answers: how they are spread, and whether an answer stood still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.module import ERROR
from gamekit.nearest_rank import quantile

_SHOWN = (50, 90, 95, 99)
# Of the time that decoding took: with so long a gap a rate is the mean of two things. Where chunks
# are fewer, an even gap is not much shorter.
_STANDSTILL = 0.1
_FEWEST_CHUNKS = 30


def tell_standstills(context: Context, rows: Sequence[Mapping[str, Any]]) -> None:
    """Warn of answers that stood still for a while; their rates are means over that.

    ``rows`` are the samples of answers, with ``longest_gap`` in ms.
    """
    longest = [
        row["longest_gap"]
        for row in rows
        if not row.get(ERROR)
        and row["chunks"] >= _FEWEST_CHUNKS
        and row["longest_gap"] >= _STANDSTILL * (row["last_token_ms"] - row["ttft"])
    ]
    if longest:
        context.warn(
            f"{len(longest)} of {len(rows)} answers stood still between two chunks for a tenth of"
            f" their decode time or more, the longest for {max(longest):.3g} ms: rates are means"
            " over that"
        )


def tell_gaps(context: Context, gaps_ms: Sequence[float]) -> None:
    """Keep as a fact how the gaps of all answers are spread, in ms.

    Percentiles have no interval: streams share the engine's steps, and one slow step is in many.
    """
    if not gaps_ms:
        return
    told = {f"p{percent}": gap_percentile(gaps_ms, percent) for percent in _SHOWN}
    known = {name: round(value, 4) for name, value in told.items() if value is not None}
    context.fact("chunk_gaps", {"n": len(gaps_ms), **known, "longest": round(max(gaps_ms), 4)})


def gap_percentile(gaps_ms: Sequence[float], percent: int) -> float | None:
    """A percentile by the nearest rank; None of so few that it would be the longest of them."""
    if len(gaps_ms) * (100 - percent) < 100:
        return None
    return quantile(gaps_ms, percent / 100)
