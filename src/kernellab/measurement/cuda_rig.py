"""Measuring on a GPU: device rings, ceilings by our own kernels, torch baselines, NVML conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kernellab.build.base import Builder
from kernellab.core.errors import EnvironmentFault
from kernellab.measurement.base import SETS, Slots
from kernellab.measurement.best_ceilings import BestCeilings
from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.gpu_baselines import GpuBaselines
from kernellab.measurement.gpu_roofline import OWN_KERNELS, gpu_ceiling_elements, measure_gpu_ceilings
from kernellab.measurement.rig import Runners
from kernellab.measurement.roofline import Ceilings
from kernellab.run.base import Runner, WorkerFault
from kernellab.run.cuda import CudaDevice
from kernellab.run.device_arena import free_bytes
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Dims, Task

SAMPLE_S = 60e-6
_MOST_SLOTS = 64
_MOST_BYTES = 8 << 30
_POOL_BYTES = 24 << 30
_CASES_BYTES = 12 << 30
_OWN_BYTES = 1 << 30
_SHARE = 2
"""Memory of a baseline's process: its own, and how often the buffers of a call."""


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

    def has_room(self, task: Task, dims: Dims, slots: int, checks: int) -> bool:
        """Twice a call's own share more: a case of a judgement, and the answers to a part of it."""
        inputs, outputs = (sum(b.nbytes(dims) for b in buffers) for buffers in (task.inputs, task.outputs))
        known = pool_size(task, dims, slots, checks) * (inputs + 2 * outputs)
        return free_bytes() > SETS * slots * (inputs + 2 * outputs) + known + _CASES_BYTES + 2 * (inputs + outputs)

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Slots) -> dict[str, Runner]:
        """All at once: compiling takes them many seconds."""
        if self._baselines is None:
            raise EnvironmentFault(f"task '{task.name}' has no baseline that can run on this GPU",
                                   "pip install 'kernellab[cuda]'; a task needs gpu_baselines={'torch': ...}")  # fmt: skip
        assert isinstance(ring, DeviceRing)
        return self._baselines.start(task, locator, names, ring)

    def baselines_at_once(self, task: Task, dims: Dims) -> int:
        """Each has results of its own, and what it computes on the way."""
        return int(free_bytes() // (_OWN_BYTES + _SHARE * sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))))

    def baseline_again(self, task: Task, locator: str, name: str, ring: Slots, count: int) -> Runners:
        """As many at once as have room: importing and compiling takes each many seconds, on cores of their own."""
        start = partial(self.start_baselines, task, locator, [name], ring)
        ahead = min(count, self.baselines_at_once(task, ring.dims) - 1)  # the judge wants some of the memory too
        return InTurn([start()[name] for _ in range(ahead)], lambda: start()[name], count)

    def conditions(self) -> dict[str, int | str]:
        return self.device.gauges.read()

    def close(self) -> None:
        self.crew.close()
        self.device.close()


class InTurn:
    """So many runners, one after the other: those that are started, then new ones.

    All that were started are ready before the first turn: a device is shared in slices of time, and what starts beside a
    timed call takes more of them from a long call than from a short one (seen: 1.87 with nobody beside, 2.12 while another
    baseline was compiled)."""

    def __init__(self, started: list[Runner], start: Callable[[], Runner], count: int) -> None:
        self._open, self._start, self._count = started, start, count

    def __iter__(self) -> Iterator[Runner]:
        for _ in range(self._count):
            yield self._next()
            self._open.pop(0).close()

    def _next(self) -> Runner:
        """One that was started beside the judge may not have had the memory: it is started again when the judge is done."""
        for runner in list(self._open):
            try:
                runner.ready()
            except WorkerFault:
                self._open.remove(runner)
                runner.close()
        if not self._open:
            self._open.append(self._start())
        return self._open[0]

    def close(self) -> None:
        for runner in self._open:
            runner.close()
        self._open = []


def pool_size(task: Task, dims: Dims, slots: int, checks: int) -> int:
    """Known answers for every slot of a sample, as far as memory goes; a few where a sample is one call, and one where a
    call takes a good part of the device. Fewer than a processor's ring has: here they may come again, since nothing that a
    kernel can read survives a sample, and at gigabytes each takes a second."""
    each = sum(b.nbytes(dims) for b in task.inputs) + 2 * sum(b.nbytes(dims) for b in task.outputs)
    most = _POOL_BYTES // max(each, 1)
    return max(2 if most > 1 else 1, min(max(checks // 2 + 1, slots), most))
