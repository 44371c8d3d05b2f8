"""Gauges where NVML is missing, and on a board that says what we want to hear (NVML stood in for, not our code)."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernellab.run.driver import present
from kernellab.run.gauges import Gauges


class NVMLError(Exception):
    pass


def board(reasons: int = 0, fails: tuple[str, ...] = ()) -> Any:
    """An NVML with one board on it."""

    def answer(name: str, value: Any) -> Any:
        def call(*_: Any) -> Any:
            if name in fails:
                raise NVMLError(name)
            return value

        return call

    values = {"nvmlInit": None, "nvmlDeviceGetHandleByIndex": "board", "nvmlDeviceGetClockInfo": 1980,
              "nvmlDeviceGetTemperature": 41, "nvmlDeviceGetPowerUsage": 345_678,
              "nvmlDeviceGetCurrentClocksThrottleReasons": reasons, "nvmlDeviceGetName": b"NVIDIA H200",
              "nvmlSystemGetDriverVersion": "580.65"}  # fmt: skip
    constants = {"NVML_CLOCK_SM": 1, "NVML_CLOCK_MEM": 2, "NVML_TEMPERATURE_GPU": 0, "NVMLError": NVMLError}
    return SimpleNamespace(**{k: answer(k, v) for k, v in values.items()}, **constants)


def nothing_said(gauges: Gauges) -> bool:
    return (gauges.available, gauges.read(), gauges.facts(), gauges.throttled(), gauges.throttle_reasons()) == (
        False, {}, {}, False, 0,
    )  # fmt: skip


@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_without_a_gpu_every_reading_is_empty_and_nothing_is_throttled() -> None:
    assert nothing_said(Gauges())


def test_without_the_package_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nothing_said(Gauges())


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetHandleByIndex"])
def test_a_library_that_does_not_start_counts_as_none(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", board(fails=(call,)))
    assert nothing_said(Gauges())


def test_readings_are_numbers_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", board())
    gauges = Gauges()
    assert gauges.read() == {
        "sm_mhz": 1980, "memory_mhz": 1980, "celsius": 41, "watts": 345, "held_back_by": "nothing",
    }  # fmt: skip
    assert gauges.facts() == {"gpu": "NVIDIA H200", "driver": "580.65"}


@pytest.mark.parametrize(
    ("reasons", "throttled", "words"),
    [
        (0x0, False, "nothing"),
        (0x1, False, "idle"),
        (0x4, False, "power cap"),
        (0x8, True, "hardware slow-down"),
        (0x20, True, "software thermal"),
        (0x40 | 0x4, True, "power cap, hardware thermal"),
        (0x80, True, "power brake"),
    ],
)
def test_heat_and_brakes_disturb_and_an_ordinary_power_cap_does_not(
    reasons: int, throttled: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", board(reasons))
    gauges = Gauges()
    assert (gauges.throttled(), gauges.read()["held_back_by"]) == (throttled, words)


def test_what_a_board_does_not_offer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = ("nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetName")
    monkeypatch.setitem(sys.modules, "pynvml", board(0x8, fails))
    gauges = Gauges()
    assert gauges.read() == {"sm_mhz": 1980, "memory_mhz": 1980, "celsius": 41, "held_back_by": "nothing"}
    assert (gauges.throttled(), gauges.facts()) == (False, {})
