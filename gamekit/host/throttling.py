"""Why a GPU's clocks are below their most, by the names that the driver's tools use."""

from __future__ import annotations

# Bits of nvmlClocksEventReasons, in nvml.h.
_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}


def reasons_of(bits: int) -> list[str]:
    """The names of the reasons in the mask ``bits``; one that has no name here is its number."""
    named = [name for bit, name in _REASONS.items() if bits & bit]
    unnamed = bits & ~sum(_REASONS)
    return [*named, *([f"{unnamed:#x}"] if unnamed else [])]
