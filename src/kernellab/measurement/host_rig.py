"""A rig for somebody else's host code: buffers, ceilings and baselines are the processor's, the runner is HostDevice."""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.measurement.base import Slots
from kernellab.measurement.rig import Rig, Runners
from kernellab.measurement.roofline import Ceilings
from kernellab.run.base import Runner
from kernellab.run.host import HostDevice
from kernellab.tasks.spec import Dims, Task


class HostRig:
    """`own`: the processor's rig, which measures what the machine can do and starts what a solution is compared with."""

    def __init__(self, own: Rig, device: HostDevice) -> None:
        self.threads, self.sample_s, self.names = own.threads, own.sample_s, own.names
        self.device = device
        self._own = own

    def ceilings(self, nbytes: int) -> tuple[Ceilings, Ceilings]:
        return self._own.ceilings(nbytes)

    def slots(self, task: Task, dims: Dims, floor_s: float) -> int:
        """A sample is one call: a process that holds the inputs of later ones, and finds them, may do all of their work at
        once, which a caller who has one input at a time never gets."""
        return 1

    def ring(self, task: Task, dims: Dims, slots: int, seed: bytes, checks: int) -> Slots:
        return self._own.ring(task, dims, slots, seed, checks)

    def has_room(self, task: Task, dims: Dims, slots: int, checks: int) -> bool:
        return self._own.has_room(task, dims, slots, checks)

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Slots) -> dict[str, Runner]:
        return self._own.start_baselines(task, locator, names, ring)

    def baselines_at_once(self, task: Task, dims: Dims) -> int:
        return self._own.baselines_at_once(task, dims)

    def baseline_again(self, task: Task, locator: str, name: str, ring: Slots, count: int) -> Runners:
        return self._own.baseline_again(task, locator, name, ring, count)

    def conditions(self) -> dict[str, int | str]:
        return self._own.conditions()

    def close(self) -> None:
        self._own.close()
