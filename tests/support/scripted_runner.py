"""A runner whose clock is a script: the bench's rules can be tested without racing a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernellab.measurement.ring import Ring
from kernellab.run.base import Sample, WorkerFault

Compute = Callable[[Ring, int, int], None]
Script = Iterator[tuple[float, bool]]


def doubled(ring: Ring, number: int, side: int) -> None:
    """The right answer of one call of the doubling task."""
    call = ring.calls[number]
    ring.sides[side].array(call.outputs[0])[...] = 2 * ring.inputs.array(call.inputs[0])


class ScriptedRunner:
    """`script` gives the seconds of each counted call and whether its sample was preempted; `compute` does the work."""

    def __init__(self, ring: Ring, side: int, script: Script, compute: Compute = doubled) -> None:
        self._ring, self._side, self._script, self._compute = ring, side, script, compute
        self.samples: list[list[int]] = []
        self.prepared: list[list[int]] = []
        self.pinned: list[int] = []
        self.fault: WorkerFault | None = None

    def ready(self) -> ScriptedRunner:
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False) -> Sample:
        if self.fault is not None:
            raise self.fault
        self.samples.append(list(calls))
        for number in calls:
            self._compute(self._ring, number, self._side)
        seconds, preempted = next(self._script)
        return Sample(seconds * len(calls), preempted)

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        return False

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        self.prepared.append(list(calls))
        return 0.0

    def pin(self, cpu: int) -> None:
        self.pinned.append(cpu)

    def remarks(self) -> dict[str, int | str]:
        return {}

    def end(self) -> None: ...

    def close(self) -> None: ...
