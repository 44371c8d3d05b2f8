"""Clocks, heat and throttling of a GPU by NVML: read before and after what is timed, never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# A window in which one of these was active says nothing about a kernel: heat, a hardware slow-down, a power brake.
# The software power cap (0x4) is ordinary under load: recorded, not a reason to measure again.
_DISTURBS = 0x8 | 0x20 | 0x40 | 0x80
_NAMES = {0x1: "idle", 0x2: "application clocks", 0x4: "power cap", 0x8: "hardware slow-down", 0x10: "sync boost",
          0x20: "software thermal", 0x40: "hardware thermal", 0x80: "power brake", 0x100: "display clocks"}  # fmt: skip


class Gauges:
    """Where NVML is missing every reading is empty and nothing counts as throttled; `available` says so."""

    def __init__(self, index: int = 0) -> None:
        self._nvml: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml, self._device = pynvml, pynvml.nvmlDeviceGetHandleByIndex(index)
        except Exception:  # noqa: BLE001  NVML's errors are its own; without it the laboratory still works
            self._nvml = None

    @property
    def available(self) -> bool:
        return self._nvml is not None

    def throttle_reasons(self) -> int:
        if self._nvml is None:
            return 0
        try:
            return int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._device))
        except self._nvml.NVMLError:
            return 0

    def throttled(self) -> bool:
        return bool(self.throttle_reasons() & _DISTURBS)

    def read(self) -> dict[str, int | str]:
        """MHz, degrees Celsius, watts, and what held the clocks back, as words."""
        if self._nvml is None:
            return {}
        nvml: Any = self._nvml
        found: dict[str, int | str] = {}
        readings: dict[str, Callable[[], Any]] = {
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(self._device, nvml.NVML_CLOCK_SM),
            "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(self._device, nvml.NVML_CLOCK_MEM),
            "celsius": lambda: nvml.nvmlDeviceGetTemperature(self._device, nvml.NVML_TEMPERATURE_GPU),
            "watts": lambda: nvml.nvmlDeviceGetPowerUsage(self._device) // 1000,
        }
        for name, reading in readings.items():
            try:
                found[name] = int(reading())
            except nvml.NVMLError:
                continue
        reasons = self.throttle_reasons()
        words = [word for bit, word in _NAMES.items() if reasons & bit]
        return {**found, "held_back_by": ", ".join(words) or "nothing"}

    def facts(self) -> dict[str, str]:
        """Driver and board, for the environment's record."""
        if self._nvml is None:
            return {}
        nvml = self._nvml

        def text(value: Any) -> str:
            return value.decode() if isinstance(value, bytes) else str(value)

        try:
            return {
                "gpu": text(nvml.nvmlDeviceGetName(self._device)),
                "driver": text(nvml.nvmlSystemGetDriverVersion()),
            }
        except nvml.NVMLError:
            return {}
