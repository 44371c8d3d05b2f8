"""Measuring on a GPU: device rings, ceilings by our own kernels, torch baselines, NVML conditions."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

from kernellab.build.base import Builder
from kernellab.core.errors import EnvironmentFault
from kernellab.measurement.base import SETS, Slots
from kernellab.measurement.best_ceilings import BestCeilings
from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.gpu_baselines import GpuBaselines
from kernellab.measurement.gpu_roofline import OWN_KERNELS, gpu_ceiling_elements, measure_gpu_ceilings
from kernellab.measurement.roofline import Ceilings
from kernellab.run.base import Runner
from kernellab.run.cuda import CudaDevice
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Dims, Task

SAMPLE_S = 60e-6
_MOST_SLOTS = 64
_MOST_BYTES = 8 << 30
_POOL_BYTES = 24 << 30


class CudaRig:
    threads = 0  # a processor's threads mean nothing here

    def __init__(self, device: CudaDevice, builder: Builder, names: Sequence[str], sample_s: float = SAMPLE_S) -> None:
        self.device = device
        self.sample_s = sample_s
        self.names = tuple(names)
        self.crew = Crew()
        self._builder = builder
        self._baselines = GpuBaselines(device) if names else None

    def ceilings(self, nbytes: int) -> tuple[Ceilings, Ceilings]:
        now = measure_gpu_ceilings(self._builder, self.device, nbytes, self.crew)
        best = BestCeilings(self.device.name, self.threads, OWN_KERNELS)
        return now, best.at_least(gpu_ceiling_elements(nbytes), now)

    def slots(self, task: Task, dims: Dims, floor_s: float) -> int:
        """So many that even a kernel at its floor fills a sample."""
        each = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))
        most = max(1, min(_MOST_SLOTS, _MOST_BYTES // (SETS * max(each, 1))))
        return max(1, min(most, math.ceil(self.sample_s / (floor_s + 2e-6))))

    def ring(self, task: Task, dims: Dims, slots: int, seed: bytes, checks: int) -> DeviceRing:
        pool = pool_size(task, dims, slots, checks)
        return DeviceRing(self.device, task, dims, slots, seed, pool, self.crew)

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Slots) -> dict[str, Runner]:
        """All at once: compiling takes them many seconds."""
        if self._baselines is None:
            raise EnvironmentFault(f"task '{task.name}' has no baseline that can run on this GPU",
                                   "pip install 'kernellab[cuda]'; a task needs gpu_baselines={'torch': ...}")  # fmt: skip
        assert isinstance(ring, DeviceRing)
        return self._baselines.start(task, locator, names, ring)

    def baseline_again(self, task: Task, locator: str, name: str, ring: Slots, count: int) -> Generator[Runner]:
        """All start at once: compiling takes each many seconds, on cores of their own."""
        coming = [self.start_baselines(task, locator, [name], ring)[name] for _ in range(count)]
        try:
            for runner in coming:
                yield runner
                runner.close()
        finally:
            for runner in coming:
                runner.close()

    def conditions(self) -> dict[str, int | str]:
        return self.device.gauges.read()

    def close(self) -> None:
        if self._baselines is not None:
            self._baselines.close()
        self.crew.close()
        self.device.close()


def pool_size(task: Task, dims: Dims, slots: int, checks: int) -> int:
    """Known answers for every slot of a sample, as far as memory goes; a few where a sample is one call."""
    each = sum(b.nbytes(dims) for b in task.inputs) + 2 * sum(b.nbytes(dims) for b in task.outputs)
    return max(2, min(max(checks + 1, slots), _POOL_BYTES // max(each, 1)))
