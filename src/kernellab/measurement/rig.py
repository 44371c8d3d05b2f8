"""Everything that measuring on one kind of device takes, behind one face: rings, ceilings, baselines, conditions."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

from kernellab.build.base import Builder, Built
from kernellab.measurement.base import Slots
from kernellab.measurement.baselines import Baselines
from kernellab.measurement.best_ceilings import BestCeilings
from kernellab.measurement.ring import Ring, flush_size, slots_for
from kernellab.measurement.roofline import OWN_KERNELS, Ceilings, ceiling_elements, measure_ceilings
from kernellab.run.base import Device, Runner
from kernellab.run.cpu import CpuDevice
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Dims, Task


class Runners(Protocol):
    """Runners one after the other; each is closed when the next is asked for, and all with `close`."""

    def __iter__(self) -> Iterator[Runner]: ...

    def close(self) -> None: ...


class Rig(Protocol):
    """`names`: the baselines that can run here."""

    threads: int
    sample_s: float
    names: tuple[str, ...]

    @property
    def device(self) -> Device: ...

    def ceilings(self, nbytes: int) -> tuple[Ceilings, Ceilings]:
        """At about the size of a task (`nbytes` moved by one call): as measured now, and the best ever measured here."""

    def slots(self, task: Task, dims: Dims, floor_s: float) -> int:
        """How many calls a sample may take."""

    def ring(self, task: Task, dims: Dims, slots: int, seed: bytes, checks: int) -> Slots:
        """Buffers for timed calls; `checks`: how many known answers a process will need at most."""

    def has_room(self, task: Task, dims: Dims, slots: int, checks: int) -> bool:
        """Whether such a ring, and the cases of a judgement, fit into memory beside everything that is open."""

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Slots) -> dict[str, Runner]:
        """Each on its way; `ready` waits for one, and raises WorkerFault where it does not come."""

    def baselines_at_once(self, task: Task, dims: Dims) -> int:
        """How many of them have room beside each other."""

    def baseline_again(self, task: Task, locator: str, name: str, ring: Slots, count: int) -> Runners:
        """One baseline in so many fresh processes, which may start at once where that takes them long."""

    def conditions(self) -> dict[str, int | str]:
        """Clocks, heat and the like, for the record."""

    def close(self) -> None: ...


class CpuRig:
    """`threads` for candidates and baselines alike."""

    def __init__(self, sandbox: Sandbox, builder: Builder, names: Sequence[str], threads: int, sample_s: float) -> None:
        self.threads = threads
        self.sample_s = sample_s
        self.names = tuple(names)
        self.device = CpuDevice(sandbox, threads, threads_cpus(threads))
        self._builder = builder
        self._baselines: Baselines | None = None
        self._flush = flush_size()

    def ceilings(self, nbytes: int) -> tuple[Ceilings, Ceilings]:
        now = measure_ceilings(self._builder, self._start, nbytes, self._flush, self.threads, self.sample_s)
        best = BestCeilings(self.device.name, self.threads, OWN_KERNELS)
        return now, best.at_least(ceiling_elements(nbytes), now)

    def slots(self, task: Task, dims: Dims, floor_s: float) -> int:
        return slots_for(task, dims, self.sample_s, floor_s)

    def ring(self, task: Task, dims: Dims, slots: int, seed: bytes, checks: int) -> Ring:
        return Ring(task, dims, slots, seed, self._flush)

    def has_room(self, task: Task, dims: Dims, slots: int, checks: int) -> bool:
        """A processor's memory is large beside what it can go through in a second."""
        return True

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Slots) -> dict[str, Runner]:
        assert isinstance(ring, Ring)
        if self._baselines is None:  # importing torch takes seconds, and a verdict needs no baseline
            self._baselines = Baselines(with_torch=any(n.startswith("torch") for n in self.names))
        start, threads, cpus = self._baselines.start, self.threads, self.device.cpus
        return {name: start(task, locator, name, ring, threads, cpus) for name in names}

    def baselines_at_once(self, task: Task, dims: Dims) -> int:
        return len(self.names)

    def baseline_again(self, task: Task, locator: str, name: str, ring: Slots, count: int) -> Generator[Runner]:
        """Each time on other memory: a process starts within milliseconds."""
        for _ in range(count):
            ring.renew()
            runner = self.start_baselines(task, locator, [name], ring)[name]
            try:
                yield runner
            finally:
                runner.close()

    def conditions(self) -> dict[str, int | str]:
        return {}

    def close(self) -> None:
        if self._baselines is not None:
            self._baselines.close()

    def _start(self, built: Built, ring: Ring) -> Runner:
        return self.device.start(built, ring.inputs, ring.sides[0], ring.calls)


def threads_cpus(threads: int) -> Sequence[int]:
    """One thread may run anywhere (it cannot become two); several are bound to that many processors."""
    own = sorted(os.sched_getaffinity(0))
    return own if threads == 1 else own[:threads]
