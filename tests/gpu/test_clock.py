"""The clock of a GPU: the device's work and nothing of the host's, however long that takes to queue it."""

from __future__ import annotations

import time

import pytest

from kernellab.run.cuda import CudaDevice
from kernellab.run.cuda_clock import Clock
from kernellab.run.cuda_kernels import Kernels

pytestmark = pytest.mark.gpu


@pytest.fixture
def clock(gpu: CudaDevice) -> Clock:
    return Clock(gpu.context, Kernels(gpu.own_kernels), gpu.properties.l2_bytes)


def queue(gpu: CudaDevice, address: int, seconds: float = 0.0) -> None:
    """A few microseconds of work, from a host that is kept from queueing it."""
    time.sleep(seconds)
    gpu.context.fill(address, 1, 4, 1 << 18)


def test_a_slow_host_is_not_the_devices_time(clock: Clock, gpu: CudaDevice) -> None:
    address = gpu.context.allocate(1 << 20)
    at_once = min(clock.time(lambda: queue(gpu, address)) for _ in range(20))
    late = min(clock.time(lambda: queue(gpu, address, 3e-3)) for _ in range(5))
    gpu.context.free(address)
    assert late < at_once + 50e-6
    assert clock.held_s > 3e-3


def test_work_that_takes_too_long_to_queue_is_let_through(clock: Clock, gpu: CudaDevice) -> None:
    """It may be waiting for the device itself."""
    address = gpu.context.allocate(1 << 20)
    took = clock.time(lambda: queue(gpu, address, 60e-3))
    gpu.context.free(address)
    assert 20e-3 < took < 1.0


def test_a_failure_to_queue_leaves_the_clock_as_good_as_new(clock: Clock, gpu: CudaDevice) -> None:
    def fails() -> None:
        raise ValueError("not queued")

    with pytest.raises(ValueError, match="not queued"):
        clock.time(fails)
    address = gpu.context.allocate(1 << 20)
    assert 0 < clock.time(lambda: queue(gpu, address)) < 1e-3
    gpu.context.free(address)
