"""What can be true of a GPU: whatever else a driver's tool says is unknown, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gamekit.host.files import one_line

# The most of each is far beyond any GPU: what is more is a fault of the driver, or of its tool.
_NUMBERS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("memory_total_mib", "memory_used_mib"), (0, 10**9)),
    **dict.fromkeys(("sm_clock_mhz", "memory_clock_mhz"), (0, 10**6)),
    **dict.fromkeys(("max_sm_clock_mhz", "max_memory_clock_mhz"), (0, 10**6)),
    **dict.fromkeys(("power_w", "power_limit_w"), (0, 10**6)),
    **dict.fromkeys(("pcie_generation", "pcie_width"), (0, 1000)),
    **dict.fromkeys(("pcie_generation_max", "pcie_width_max"), (0, 1000)),
    "temperature_c": (-273, 1000),
    "utilization_percent": (0, 100),
}
WHOLE = frozenset(
    {
        *("memory_total_mib", "pcie_generation", "pcie_width", "pcie_generation_max"),
        *("pcie_width_max", "max_sm_clock_mhz", "max_memory_clock_mhz"),
    }
)
_BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
# The field of an environment that a property is told in; any other is part of the state.
_FIELDS = {
    "name": "gpus",
    "memory_total_mib": "gpu_memory_mib",
    "pcie_generation_max": "pcie",
    "pcie_width_max": "pcie",
    "bus_id": "numa",
    "driver": "driver",
    "mig": "mig",
    "power_limit_w": "power_limit_w",
    "max_sm_clock_mhz": "max_sm_clock_mhz",
    "max_memory_clock_mhz": "max_memory_clock_mhz",
}
_SHOWN = 40


def checked(
    rows: Sequence[Mapping[str, Any]], told_by: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows of the GPUs with null for what cannot be true, and why those are unknown.

    The reasons are by the field of an environment, or ``state.NAME``.
    """
    kept: list[dict[str, Any]] = []
    why: dict[str, str] = {}
    for number, row in enumerate(rows):
        clean: dict[str, Any] = {"mig_devices": _texts(row.get("mig_devices")) or []}
        for key, reader in _READERS.items():
            value = row.get(key)
            clean[key] = None if value is None else reader(value)
            if value is not None and clean[key] is None:
                why.setdefault(
                    _FIELDS.get(key, f"state.{key}"),
                    f"{told_by} tells {_shown(value)} of GPU{number}, which cannot be",
                )
        kept.append(clean)
    return kept, why


def _number(key: str) -> Callable[[Any], Any]:
    low, high = _NUMBERS[key]

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int if key in WHOLE else int | float):
            return None
        # Not a number is in no range.
        return value if low <= value <= high else None

    return read


def _text(value: Any) -> str | None:
    return one_line(value) if isinstance(value, str) else None


def _texts(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [text for text in map(_text, value) if text is not None]


def _bus_id(value: Any) -> str | None:
    return value if isinstance(value, str) and _BUS_ID.fullmatch(value) else None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_READERS: dict[str, Callable[[Any], Any]] = {
    "name": _text,
    "driver": _text,
    "bus_id": _bus_id,
    "mig": _switch,
    "throttle_reasons": _texts,
    **{key: _number(key) for key in _NUMBERS},
}


def _shown(value: Any) -> str:
    text = one_line(str(value)) or ""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
