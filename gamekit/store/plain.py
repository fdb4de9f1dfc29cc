"""Turns what a measurement may hold (numpy scalars, arrays, tuples) into plain, finite data."""

from __future__ import annotations

import math
from typing import Any

from gamekit.errors import FindingError


def plain(value: Any, name: str = "value") -> Any:
    """``value`` as dicts, lists, str, int, float, bool and None; ``name`` is used in errors.

    Raises ``FindingError`` for NaN and infinity, which no measurement is, and for any other type.
    """
    # numpy scalars and arrays, and tensors, without importing what they come from.
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            if not math.isfinite(value):
                what = "NaN" if math.isnan(value) else "infinity"
                raise FindingError(
                    f"{name}: {what} is not a number that can be measured",
                    mend="leave the figure out and say why it is unknown",
                )
            return float(value)
        case dict():
            return {str(key): plain(item, f"{name}.{key}") for key, item in value.items()}
        case list() | tuple():
            return [plain(item, f"{name}[{index}]") for index, item in enumerate(value)]
    raise FindingError(
        f"{name}: a {type(value).__name__} cannot be recorded",
        mend="give plain numbers, texts, lists or dicts",
    )
