"""What the stand-in engine pretends: its timing, and how many tokens each of its cycles brings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from gamekit.errors import UsageFault

# How the stand-in names itself in /server_info: what is measured on it is simulated.
ENGINE_NAME = "gamekit-simulate"
MODEL_NAME = "gamekit-stand-in"


@dataclass(frozen=True)
class SimulatorConfig:
    """Timing in milliseconds; without ``steps`` no speculation, and ``accept_len`` plays no part.

    The first token comes ``prefill_ms`` after the request, then one chunk every ``cycle_ms``.
    ``accept_len`` tokens come with a cycle on average, bonus token included, so the true decode
    rate is accept_len/cycle. Raises ``UsageFault`` for timing that cannot be, and for an accept
    length outside [1, steps + 1].
    """

    prefill_ms: float = 400.0
    cycle_ms: float = 33.3
    accept_len: float = 2.0
    steps: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.prefill_ms) and self.prefill_ms >= 0):
            raise UsageFault(f"prefill of {self.prefill_ms} ms cannot be", mend="give 0 ms or more")
        if not (math.isfinite(self.cycle_ms) and self.cycle_ms > 0):
            raise UsageFault(f"a cycle of {self.cycle_ms} ms cannot be", mend="give more than 0 ms")
        if self.steps is None:
            return
        if self.steps < 1:
            raise UsageFault(
                f"{self.steps} draft steps are no speculation",
                mend="give 1 or more, or leave the steps out",
            )
        if not 1 <= self.accept_len <= self.steps + 1:
            raise UsageFault(
                f"an accept length of {self.accept_len} is impossible with {self.steps} steps",
                mend=f"give 1 to {self.steps + 1}: each cycle brings the bonus token and at most"
                f" {self.steps} drafts",
            )

    @property
    def speculates(self) -> bool:
        """Whether cycles draft and verify."""
        return self.steps is not None

    @property
    def tokens_per_cycle(self) -> float:
        """Mean number of tokens a cycle brings."""
        return self.accept_len if self.speculates else 1.0

    @property
    def decode_rate(self) -> float:
        """The true decode rate, tok/s."""
        return 1000 * self.tokens_per_cycle / self.cycle_ms


def accepted_tokens(config: SimulatorConfig) -> Iterator[int]:
    """How many tokens each cycle accepts, bonus included, for ever.

    The error-diffusion sequence floor(i·L + 1/2) - floor((i-1)·L + 1/2): after any number i of
    cycles their sum is i·L to within half a token, and no cycle brings more than ceil(L).
    """
    # Exact for the decimal that was written: 2.6 as a float would drift.
    mean = Fraction(str(config.tokens_per_cycle))
    before = 0
    for cycle in count(1):
        after = (2 * cycle * mean.numerator + mean.denominator) // (2 * mean.denominator)
        yield after - before
        before = after
