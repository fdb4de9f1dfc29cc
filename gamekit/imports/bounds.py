"""Which figures of a file can be none, and how that is told: by the file and the field."""

from __future__ import annotations

import math

from gamekit.errors import UsageFault
from gamekit.findings import Subject
from gamekit.findings.possible import why_impossible
from gamekit.imports.figures import Figure
from gamekit.imports.given import Given
from gamekit.strict_yaml.limits import MAX_INTEGER

# Beyond it a number's last digit is no longer a 1 of its unit, and no run lasts or counts so long.
LARGEST_FIGURE = 1e15
# No clock and no count of tokens sees less, unless it is 0.
SMALLEST_FIGURE = 1e-12

# gamekit's own may be 0, of a load without a success; a file is read only where requests succeeded.
_OF_REQUESTS = ("request_rate", "output_throughput")


def require_possible(given: Given, figure: Figure, subject: Subject) -> None:
    """Raise ``UsageFault`` where ``figure`` cannot be one of ``subject``, or cannot be written."""
    ends = () if figure.interval is None else figure.interval[:2]
    for value in (figure.value, *ends):
        if why := _why_not(figure.metric, value, subject):
            raise _fault(given, figure, f"{figure.place} gives {figure.metric} {value:g}: {why}")
    if figure.count is not None and not 1 <= figure.count <= MAX_INTEGER:
        raise _fault(given, figure, f"{figure.place} is of {figure.count:g} samples")
    for name, setting in figure.parameters.items():
        if isinstance(setting, int | float) and not abs(setting) <= LARGEST_FIGURE:  # nor is NaN
            raise _fault(given, figure, f"{name} is {setting:g}, more than any run had")


def _why_not(metric: str, value: float, subject: Subject) -> str | None:
    if not math.isfinite(value) or abs(value) > LARGEST_FIGURE:
        return f"it is no figure below {LARGEST_FIGURE:g}"
    if 0 < abs(value) < SMALLEST_FIGURE:
        return f"it is no figure above {SMALLEST_FIGURE:g}"
    if value == 0 and metric in _OF_REQUESTS:
        return "it cannot be 0"
    return why_impossible(metric, value, subject)


def _fault(given: Given, figure: Figure, what: str) -> UsageFault:
    return given.fault(figure.line, what, "import a run that measured it")
