"""The quantity of a finding: a stated figure or range, samples, or unknown with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gamekit.ranges import Range
from gamekit.statistics import mean_interval

# No measured figure is larger, and squares of smaller ones are still numbers.
LARGEST = 1e100
RangeKind = Literal["observed", "rounded", "confidence"]
# 82 and 2.0 stay int and float as written: the difference is the step they were rounded to.
Number = (
    Annotated[int, Field(strict=True)] | Annotated[float, Field(allow_inf_nan=False, strict=True)]
)


class Quantity(BaseModel):
    """One of ``value``, ``low`` and ``high`` with ``range``, ``samples``, ``unknown``; unit always.

    ``value`` may come with ``low``, ``high`` and ``range`` when somebody stated an interval around
    it, and with ``count`` when the samples themselves were not kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str = Field(
        min_length=1,
        pattern=r"\S",
        description="Unit of every number here; '1' for a plain ratio or count.",
    )
    value: Number | None = Field(default=None, description="The figure, as it was stated.")
    low: Number | None = Field(default=None, description="Lower end of the stated range.")
    high: Number | None = Field(default=None, description="Upper end of the stated range.")
    range: RangeKind | None = Field(
        default=None,
        description="What low and high are: observed spread, ends of a rounding, 95 % interval.",
    )
    samples: list[Number] | None = Field(
        default=None,
        min_length=1,
        description="One number a replicate, in the order they were taken.",
    )
    count: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        default=None,
        description="How many samples are behind a figure whose samples were not kept.",
    )
    rounded_to: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Step the figure was rounded to; without it, that of the last digit.",
    )
    unknown: str | None = Field(
        default=None,
        min_length=1,
        pattern=r"\S",
        description="Why nobody knows the figure. Never a guess in its place.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> Quantity:
        stated = self.value is not None or self.low is not None or self.high is not None
        forms = sum((stated, self.samples is not None, self.unknown is not None))
        if forms != 1:
            raise ValueError(
                "give one of: value, low and high with range, samples, or unknown with its reason"
            )
        for number in (self.value, self.low, self.high, *(self.samples or ())):
            if number is not None and abs(number) > LARGEST:
                raise ValueError(f"a figure lies between {-LARGEST:g} and {LARGEST:g}")
        if (self.low is None) != (self.high is None) or (self.low is None) != (self.range is None):
            raise ValueError("low, high and range (observed, rounded or confidence) go together")
        if self.low is not None and self.high is not None:
            middle = self.value if self.value is not None else (self.low + self.high) / 2
            if not self.low <= middle <= self.high:
                raise ValueError("low <= value <= high does not hold")
        if not stated and self.rounded_to is not None:
            raise ValueError("rounded_to describes a stated figure; samples are not rounded")
        if self.count is not None and not stated:
            raise ValueError("count describes a stated figure; samples count themselves")
        return self

    @property
    def is_known(self) -> bool:
        """Whether there is a figure at all."""
        return self.unknown is None

    @property
    def sample_count(self) -> int | None:
        """Number of samples behind the figure; None when nobody said."""
        return len(self.samples) if self.samples is not None else self.count

    @property
    def interval(self) -> RangeKind | None:
        """What ``stated()`` spans: the stated range, or for samples (two or more) what they give.

        That is a 95 % interval, and else what was observed: of two samples, and where the interval
        would reach beyond 0 and no sample does, since a time or a rate cannot be there.
        """
        return self.range if self.samples is None else _of_samples(self.samples)[1]

    def stated(self) -> Range:
        """The figure over its stated range, or its samples' mean over their ``interval``.

        A figure without a range, and a single sample, are exact here: an interval that nobody gave
        is not invented. Raises ``ValueError`` for an unknown quantity.
        """
        if self.samples is not None:
            return _of_samples(self.samples)[0]
        if self.low is not None and self.high is not None:
            middle = self.value if self.value is not None else (self.low + self.high) / 2
            return Range(self.low, middle, self.high)
        if self.value is not None:
            return Range.exact(self.value)
        raise ValueError(f"unknown: {self.unknown}")

    def with_rounding(self) -> Range:
        """``stated()`` widened by half the step it was rounded to, each end by its own.

        Samples, confidence intervals and ranges that are a rounding already stay as they are.
        """
        stated = self.stated()
        if self.samples is not None or self.range in ("rounded", "confidence"):
            return stated
        low = self.low if self.low is not None else self.value
        high = self.high if self.high is not None else self.value
        if low is None or high is None:  # stated() raised already
            return stated
        low_step = self.rounded_to or rounding_step(low)
        high_step = self.rounded_to or rounding_step(high)
        return Range(
            _moved(low, -low_step / 2),
            stated.mid,
            _moved(high, high_step / 2),
        )


def _of_samples(samples: Sequence[float]) -> tuple[Range, RangeKind | None]:
    """The mean of samples over the range that they give, and what that is."""
    figure = mean_interval(samples)
    if len(samples) < 2:
        return figure, None
    low, high = min(samples), max(samples)
    beyond_0 = figure.low < 0 <= low or high <= 0 < figure.high
    if len(samples) > 2 and not beyond_0:
        return figure, "confidence"
    # The mean of equal floats may miss them by a last bit.
    return Range(min(low, figure.mid), figure.mid, max(high, figure.mid)), "observed"


def rounding_step(value: int | float) -> float:
    """The step of the last digit ``value`` was written with: 1 for 82, 0.1 for 2.0, 0.01 for 2.46.

    A float keeps one trailing zero and no more: what was stated as 3.10 carries
    ``rounded_to: 0.01``.
    """
    if isinstance(value, int):
        return 1.0
    mantissa, _, exponent = repr(value).partition("e")
    digits = len(mantissa.partition(".")[2])
    # Read as a decimal: a power of ten computed in floats may miss the nearest one.
    return float(f"1e{int(exponent or 0) - digits}")


def _moved(value: float, by: float) -> float:
    # In decimals, so that 2.46 less half of 0.01 is 2.455 and not a float beside it.
    return float(Decimal(repr(value)) + Decimal(repr(by)))
