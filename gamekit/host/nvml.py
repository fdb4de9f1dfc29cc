"""What NVML says of each GPU, printed as JSON by ``python -m gamekit.host.nvml``.

A process of its own: a call into a driver that hangs never returns, and cannot be ended otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gamekit.host.throttling import reasons_of

_MIB = 1024**2


def main() -> None:
    """Print ``{"driver", "cuda", "gpus"}``, or ``{"why"}`` where NVML does not answer."""
    print(json.dumps(_answer()))


def _answer() -> dict[str, Any]:
    try:
        import pynvml  # noqa: PLC0415 - an extra, and loads the driver's library
    except ImportError as error:
        return {"why": f"nvidia-ml-py cannot be used: {error}"}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return {"why": f"no driver: {error}"}
    try:
        return _told_of_all(pynvml)
    except pynvml.NVMLError as error:
        return {"why": f"NVML failed: {error}"}
    finally:
        _told(pynvml, pynvml.nvmlShutdown)


def _told_of_all(pynvml: Any) -> dict[str, Any]:
    cuda = _told(pynvml, pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return {
        "driver": _text(_told(pynvml, pynvml.nvmlSystemGetDriverVersion)),
        # 13000 is 13.0, 12080 is 12.8.
        "cuda": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "gpus": [
            _gpu(pynvml, pynvml.nvmlDeviceGetHandleByIndex(number))
            for number in range(pynvml.nvmlDeviceGetCount())
        ],
    }


def _gpu(pynvml: Any, handle: Any) -> dict[str, Any]:
    def told(function: Callable[..., Any], *arguments: Any) -> Any:
        return _told(pynvml, function, handle, *arguments)

    # The newer form leaves out of what is used what the driver keeps, as nvidia-smi does.
    newer = getattr(pynvml, "nvmlMemory_v2", None)
    memory = told(pynvml.nvmlDeviceGetMemoryInfo, *([] if newer is None else [newer]))
    if memory is None:
        memory = told(pynvml.nvmlDeviceGetMemoryInfo)
    pci = told(pynvml.nvmlDeviceGetPciInfo)
    mig = told(pynvml.nvmlDeviceGetMigMode)
    utilization = told(pynvml.nvmlDeviceGetUtilizationRates)
    reasons = told(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons)
    return {
        "name": _text(told(pynvml.nvmlDeviceGetName)),
        "memory_total_mib": None if memory is None else memory.total // _MIB,
        "pcie_generation_max": told(pynvml.nvmlDeviceGetMaxPcieLinkGeneration),
        "pcie_width_max": told(pynvml.nvmlDeviceGetMaxPcieLinkWidth),
        "power_limit_w": _watts(told(pynvml.nvmlDeviceGetPowerManagementLimit)),
        "max_sm_clock_mhz": told(pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_SM),
        "max_memory_clock_mhz": told(pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_MEM),
        "mig": None if mig is None else bool(mig[0]),
        "mig_devices": _mig_devices(pynvml, handle) if mig is not None and mig[0] else [],
        "bus_id": None if pci is None else _text(pci.busId),
        "sm_clock_mhz": told(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
        "memory_clock_mhz": told(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_MEM),
        "temperature_c": told(pynvml.nvmlDeviceGetTemperature, pynvml.NVML_TEMPERATURE_GPU),
        "power_w": _watts(told(pynvml.nvmlDeviceGetPowerUsage)),
        "memory_used_mib": None if memory is None else memory.used // _MIB,
        "utilization_percent": None if utilization is None else utilization.gpu,
        "throttle_reasons": None if reasons is None else reasons_of(reasons),
        "pcie_generation": told(pynvml.nvmlDeviceGetCurrPcieLinkGeneration),
        "pcie_width": told(pynvml.nvmlDeviceGetCurrPcieLinkWidth),
    }


def _mig_devices(pynvml: Any, handle: Any) -> list[str]:
    found = []
    for number in range(_told(pynvml, pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        device = _told(pynvml, pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        name = None if device is None else _text(_told(pynvml, pynvml.nvmlDeviceGetName, device))
        if name is not None:
            found.append(name.rpartition("MIG ")[2])
    return found


def _told(pynvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of NVML gives; None where this GPU or driver does not tell it."""
    try:
        return function(*arguments)
    except pynvml.NVMLError:
        return None


def _text(value: Any) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


if __name__ == "__main__":
    main()
