"""Finds figures whose last digits were written and would be lost: 2.00 is read as 2.0."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from gamekit.errors import FindingError
from gamekit.quantity import rounding_step
from gamekit.strict_yaml import Document, field_name

_FIGURES = ("value", "low", "high")


def lost_digits(document: Document, file: str) -> Iterator[FindingError]:
    """An error for each figure of a quantity that was stated with more zeros than a float keeps.

    The step that a figure was rounded to is that of its last digit; only ``rounded_to`` keeps it
    where that digit is a second zero. Ends of a rounding and of a confidence interval have no step.
    """
    for path, raw in document.raw.items():
        if path[0] != "findings" or path[-1] not in _FIGURES:
            continue
        figure, quantity = _at(document.data, path), _at(document.data, path[:-1])
        if not isinstance(figure, float) or "unit" not in quantity or "rounded_to" in quantity:
            continue
        if quantity.get("range") in ("rounded", "confidence"):
            continue
        written = Decimal(raw).as_tuple().exponent
        if not isinstance(written, int) or Decimal(1).scaleb(written) >= Decimal(
            repr(rounding_step(figure))
        ):
            continue
        finding = document.data["findings"][path[1]]
        yield FindingError(
            f"{field_name(path[2:])}: the last digits of {raw} are not kept",
            file=file,
            line=document.line_of(path),
            finding=finding.get("id") if isinstance(finding, dict) else None,
            mend=f"write rounded_to: {Decimal(1).scaleb(written):f} beside it",
        )


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data
