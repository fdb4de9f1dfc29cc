"""How numbers are written for a reader: as many digits as are known, the same everywhere."""

from __future__ import annotations

import math

from gamekit.quantity import Quantity, rounding_step
from gamekit.ranges import Range

SIGNIFICANT = 3


def number(value: float, significant: int = SIGNIFICANT) -> str:
    """A computed number with ``significant`` digits, without trailing zeros: 66.7, 2.46, 5.62.

    Digits before the point are never rounded away: 1234.
    """
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    text = _fixed(value, max(0, significant - 1 - exponent))
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(figure: Range, rounded: Range | None = None) -> str:
    """A range as ``2.46 to 2.49`` or ``82 to 83``; one without width as one number.

    The width decides how many decimals there are: to a tenth of it when it begins with 1 to 3
    (2.40 to 2.55), else to its own first digit. Zeros at the end that both ends have are left out.
    A number without width has the digits that ``rounded``, the same figure with all roundings,
    leaves it.
    """
    if not _has_width(figure):
        return middle(figure, rounded)
    low, high = ends(figure)
    return f"{low} to {high}" if low != high else low


def ends(figure: Range) -> tuple[str, str]:
    """Low and high of a range that has a width, with equally many decimals."""
    decimals = _decimals(figure)
    low, high = _fixed(figure.low, decimals), _fixed(figure.high, decimals)
    while "." in low and low.endswith("0") and high.endswith("0"):
        low, high = low[:-1], high[:-1]
    return low.removesuffix("."), high.removesuffix(".")


def middle(figure: Range, within: Range | None = None) -> str:
    """The mid of a range, with at least the decimals that its ends are shown with beside it.

    With ``within`` it has the digits that the range ``within`` leaves it, and no zeros at its end.
    """
    width = figure if within is None else within
    if not _has_width(width):
        return number(figure.mid)
    text = _fixed(figure.mid, _decimals(width))
    least = 0 if within is not None else len(ends(figure)[0].partition(".")[2])
    while "." in text and text.endswith("0") and len(text.partition(".")[2]) > least:
        text = text[:-1]
    return text.removesuffix(".")


def stated(value: Quantity) -> str:
    """A known quantity with the digits it was written with; samples as the interval of their mean.

    Raises ``ValueError`` for an unknown quantity.
    """
    if value.samples is not None:
        return span(value.stated())
    if value.value is not None:
        return _written(value.value, value.rounded_to)
    if value.low is None or value.high is None:
        raise ValueError(f"unknown: {value.unknown}")
    return f"{_written(value.low, value.rounded_to)} to {_written(value.high, value.rounded_to)}"


def with_unit(text: str, unit: str) -> str:
    """A number with its unit; a plain ratio or count (unit 1) has none to show."""
    return text if unit == "1" else f"{text} {unit}"


def bytes_in_words(size: int) -> str:
    """Bytes in the largest decimal unit that leaves a whole one: ``57 kB``, ``4.2 MB``."""
    for unit, many in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= many:
            return f"{number(size / many, 2)} {unit}"
    return f"{size} B"


def percent(share: float) -> str:
    """A relative change in whole percent, signed; below ten percent with one decimal."""
    points = share * 100
    text = f"{points:+.0f}" if abs(points) >= 9.95 else f"{points:+.1f}"
    return f"{text} %"


def _has_width(figure: Range) -> bool:
    # What the last bits of a float differ by is no width.
    return figure.high - figure.low > max(abs(figure.low), abs(figure.high)) * 1e-9


def _decimals(figure: Range) -> int:
    width = figure.high - figure.low
    exponent = math.floor(math.log10(width))
    first = width / 10.0**exponent
    return max(0, -exponent + (1 if first <= 3 + 1e-9 else 0))


def _written(value: float, rounded_to: float | None) -> str:
    step = rounded_to or rounding_step(value)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return _fixed(value, decimals)


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    # What rounds to nothing has no sign.
    return text[1:] if text.startswith("-") and float(text) == 0 else text
