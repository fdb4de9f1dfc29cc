"""How well one cycle time predicts decode rates at other accept lengths: the model's own error."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gamekit.analysis.calibration import Cycle, ServerStart
from gamekit.ranges import Range
from gamekit.statistics import pooled, welch

Noise = Literal["between starts", "within starts"]


@dataclass(frozen=True)
class HeldOut:
    """One accept length that was left out of the fit, and what the others predict for it.

    ``cycle_ms`` is its own cycle and ``fitted_ms`` that of the others (geometric means over
    requests or starts); rates are accept length / cycle, in tok/s. ``error`` is predicted/measured
    - 1 as a share, with the interval of the noise that ``ModelError.noise`` names.
    """

    accept_length: float
    ids: tuple[str, ...]
    cycle_ms: float
    fitted_ms: float
    error: Range

    @property
    def measured(self) -> float:
        """The rate that was measured, tok/s."""
        return 1000 * self.accept_length / self.cycle_ms

    @property
    def predicted(self) -> float:
        """The rate that the other accept lengths predict, tok/s."""
        return 1000 * self.accept_length / self.fitted_ms


@dataclass(frozen=True)
class ModelError:
    """The errors of one cycle's predictions, each accept length predicted from all others.

    ``noise`` says what the intervals hold: the spread between server starts where accept lengths
    have several, taken to be alike for all; else that from request to request within them, which
    leaves out what starts differ by; None where there is neither.
    """

    cycle: Cycle
    held_out: tuple[HeldOut, ...]
    noise: Noise | None

    @property
    def worst(self) -> HeldOut:
        """The prediction that is farthest off."""
        return max(self.held_out, key=lambda one: abs(one.error.mid))

    @property
    def range(self) -> Range:
        """The errors from the lowest to the highest, as shares; ``mid`` is their mean."""
        errors = [one.error.mid for one in self.held_out]
        return Range(min(errors), statistics.fmean(errors), max(errors))

    @property
    def within_noise(self) -> bool | None:
        """Whether no error is clearly apart from nothing; None without noise to hold it against."""
        if self.noise is None:
            return None
        return all(one.error.low <= 0 <= one.error.high for one in self.held_out)


def judge(cycle: Cycle) -> ModelError | None:
    """Leave out each accept length in turn, fit T on the others, predict its rate.

    The fit is the mean of log T over accept lengths; errors are contrasts of those means with
    Welch's interval, so on the scale of ratios. None unless two accept lengths are known.
    """
    lengths: dict[float | None, list[ServerStart]] = {}
    for start in cycle.starts:
        imposed = {one.subject.imposed_accept_length for one in start.estimates}
        if start.accept_length is not None and start.samples and len(imposed) == 1:
            # Lengths that came by themselves differ by chance alone: one drafter, one workload.
            lengths.setdefault(imposed.pop(), []).append(start)
    if len(lengths) < 2:
        return None
    conditions = sorted(lengths.values(), key=_mean_length)
    logs, noise = _replicates(conditions)
    return ModelError(
        cycle,
        tuple(_held_out(starts, logs, place, noise) for place, starts in enumerate(conditions)),
        noise,
    )


def _mean_length(starts: Sequence[ServerStart]) -> float:
    known = [start.accept_length for start in starts if start.accept_length is not None]
    return statistics.fmean(known)


def _replicates(
    groups: Sequence[Sequence[ServerStart]],
) -> tuple[list[list[float]], Noise | None]:
    """Logarithms of cycle times by accept length: of starts where some have several.

    Two differences between starts of one length are the least that tell a spread.
    """
    starts = [
        [statistics.fmean(map(math.log, start.samples)) for start in group] for group in groups
    ]
    if sum(len(group) - 1 for group in starts) > 1:
        return starts, "between starts"
    requests = [[math.log(one) for start in group for one in start.samples] for group in groups]
    return requests, "within starts" if all(len(group) > 1 for group in requests) else None


def _held_out(
    starts: Sequence[ServerStart],
    logs: Sequence[Sequence[float]],
    place: int,
    noise: Noise | None,
) -> HeldOut:
    share = -1 / (len(logs) - 1)
    weights = [1.0 if other == place else share for other in range(len(logs))]
    means = [statistics.fmean(group) for group in logs]
    if noise is None:
        apart = Range.exact(math.fsum(w * mean for w, mean in zip(weights, means, strict=True)))
    else:
        apart = (pooled if noise == "between starts" else welch)(logs, weights).interval()
    others = [mean for other, mean in enumerate(means) if other != place]
    return HeldOut(
        accept_length=_mean_length(starts),
        ids=tuple(
            dict.fromkeys(name for start in starts for one in start.estimates for name in one.ids)
        ),
        cycle_ms=math.exp(means[place]),
        fitted_ms=math.exp(statistics.fmean(others)),
        error=Range(math.expm1(apart.low), math.expm1(apart.mid), math.expm1(apart.high)),
    )
