"""A number with its range: what a formula computes with and a document prints."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A figure ``mid`` known to lie in ``[low, high]``; exact when the three are equal.

    Raises ``ValueError`` unless ``low <= mid <= high`` and all three are finite.
    """

    low: float
    mid: float
    high: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.low, self.mid, self.high))):
            raise ValueError(
                f"a range needs finite numbers, got {self.low}, {self.mid}, {self.high}"
            )
        if not self.low <= self.mid <= self.high:
            raise ValueError(f"{self.low} <= {self.mid} <= {self.high} does not hold")

    @classmethod
    def exact(cls, value: float) -> Range:
        """A number without spread."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Whether the range has no width."""
        return self.low == self.high

    def overlaps(self, other: Range) -> bool:
        """Whether some number lies in both ranges; ends count."""
        return self.low <= other.high and other.low <= self.high
