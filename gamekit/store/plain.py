"""Turns what a measurement may hold (numpy scalars, arrays, tuples) into data a run file holds."""

from __future__ import annotations

import math
from typing import Any

from gamekit.errors import FindingError
from gamekit.strict_yaml.limits import MAX_DEPTH, MAX_INTEGER, MIN_INTEGER

# A run file has the data some levels deep already: run, cases, the case, facts.
DEEPEST = MAX_DEPTH - 14
_LONGEST_KEY = 500


def plain(value: Any, name: str = "value") -> Any:
    """``value`` as dicts, lists, str, int, float, bool and None; ``name`` is used in errors.

    Raises ``FindingError`` for NaN and infinity, which no measurement is, and for what a run file
    cannot hold: any other type, integers beyond 64 bits, what is nested too deep, a key too long.
    """
    return _plain(value, name, DEEPEST)


def _plain(value: Any, name: str, levels: int) -> Any:
    # numpy scalars and arrays, and tensors, without importing what they come from.
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            if not MIN_INTEGER <= value <= MAX_INTEGER:
                raise FindingError(
                    f"{name}: an integer beyond 64 bits cannot be recorded",
                    mend="give it as a float or a text",
                )
            return int(value)
        case float():
            if not math.isfinite(value):
                what = "NaN" if math.isnan(value) else "infinity"
                raise FindingError(
                    f"{name}: {what} is not a number that can be measured",
                    mend="leave the figure out and say why it is unknown",
                )
            return float(value)
        case dict() | list() | tuple():
            return _nested(value, name, levels)
    raise FindingError(
        f"{name}: a {type(value).__name__} cannot be recorded",
        mend="give plain numbers, texts, lists or dicts",
    )


def _nested(value: dict[Any, Any] | list[Any] | tuple[Any, ...], name: str, levels: int) -> Any:
    if levels == 0:
        # Where it stands would be a name of as many levels.
        raise FindingError(
            f"{name[:60]}…: what is nested more than {DEEPEST} levels deep cannot be recorded",
            mend="make the structure flatter",
        )
    if isinstance(value, dict):
        return {
            _key(key, name): _plain(one, f"{name}.{key}", levels - 1) for key, one in value.items()
        }
    return [_plain(one, f"{name}[{index}]", levels - 1) for index, one in enumerate(value)]


def _key(key: Any, name: str) -> str:
    text = str(key)
    if len(text) > _LONGEST_KEY:
        raise FindingError(
            f"{name}: a key of more than {_LONGEST_KEY} characters cannot be recorded",
            mend="shorten it",
        )
    return text
