"""What a device is to a guess of time: how many processors it has, and what they do a second.

The rates are round numbers of a class of devices. They shape features; no figure is ever derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.core.targets import recorded_machine


@dataclass(frozen=True)
class Rates:
    """`units`: multiprocessors or cores; `lanes`: threads of a warp, or 1. Bytes and operations a second, seconds of a
    launch; `threads`, `registers` and `shared` (bytes) are those of a unit."""

    kind: str
    device: str
    units: int
    lanes: int
    bandwidth: float
    flops: float
    tensor_flops: float
    launch_s: float
    threads: int = 1
    registers: int = 1
    shared: int = 1


_GPU_UNITS = 132


def rates_of(device: str, threads: int = 1) -> Rates:
    """By a device's name as runs record it."""
    platform, machine = recorded_machine(device)
    if machine is None or not machine.generation:
        return Rates(platform.kind, device, max(1, threads), 1, 1e10, 5e10, 5e10, 1e-6)
    units = machine.processors or _GPU_UNITS
    return Rates(platform.kind, device, units, 32, 4e12, 5e13, 8e14, 2.5e-6, 2048, 65536, 227 << 10)
