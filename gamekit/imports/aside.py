"""What is kept of a file besides its figures: as YAML can hold it, bounded, without secrets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gamekit.host.redact import Redactor
from gamekit.strict_yaml.limits import MAX_INTEGER, MIN_INTEGER

# Lists of samples and servers' arguments go on for long; a file of findings is for reading.
_DEEPEST, _MOST_ITEMS, _LONGEST_TEXT, _LARGEST = 6, 64, 2_000, 100_000


def kept_aside(data: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """``data`` as a findings file can hold it; what is too large says how much it was."""
    kept: dict[str, Any] = {}
    size = 0
    for name, value in data.items():
        writable = _writable(redactor.data({name: _writable(value, _DEEPEST)}), _DEEPEST + 1)
        length = len(str(writable))
        if size + length > _LARGEST:
            writable = dict.fromkeys(writable, f"left out: {length} characters")
        else:
            size += length
        kept.update(writable)
    return kept


def _writable(value: Any, levels: int) -> Any:
    if isinstance(value, dict | list):
        return _container(value, levels)
    if isinstance(value, str):
        text = _text(value)
        return text if len(text) <= _LONGEST_TEXT else f"left out: {len(text)} characters"
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        return "left out: a giant number"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _container(value: dict[Any, Any] | list[Any], levels: int) -> Any:
    if levels == 0:
        return f"left out: nested more than {_DEEPEST} levels deep"
    if isinstance(value, list):
        if len(value) > _MOST_ITEMS:
            return f"left out: {len(value)} values"
        return [_writable(item, levels - 1) for item in value]
    return {
        " ".join(_text(str(key)).split())[:200] or "-": _writable(item, levels - 1)
        for key, item in value.items()
        if item not in (None, "", [], {})
    }


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
