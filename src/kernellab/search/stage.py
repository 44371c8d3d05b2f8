"""A stage: one task at one shape on this machine, set up for measuring: cases, ring, ceilings, baselines, noise floor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.build.base import Builder, Built
from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event, Listener
from kernellab.core.records import Rejected, Timing, Verdict
from kernellab.core.settings import Effort, Settings
from kernellab.measure.baselines import Baselines
from kernellab.measure.bench import Arm, Bench, Pairs
from kernellab.measure.ring import Ring, flush_size, slots_for
from kernellab.measure.roofline import Ceilings, Floor, floor_for, measure_ceilings, threads_cpus
from kernellab.measure.stats import median
from kernellab.run import cpu
from kernellab.run.worker import Worker, WorkerFault
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.verify.cases import CaseTable, all_shapes, full_cases, screen_cases
from kernellab.verify.judge import Judge

_BASELINE_PAIRS = 5
_CALIBRATION_PAIRS = 15


@dataclass(frozen=True)
class Bay:
    """The parts of the laboratory that a stage works with."""

    sandbox: Sandbox
    builder: Builder
    baselines: Baselines
    names: tuple[str, ...]
    settings: Settings
    emit: Listener


class Stage:
    def __init__(self, bay: Bay, task: Task, locator: str, dims: Dims) -> None:
        self._bay = bay
        self.task = task
        self.locator = locator
        self.dims = dims
        self.shapes = all_shapes(task, dims)
        settings = bay.settings
        self._cpus: Sequence[int] = threads_cpus(settings.threads)
        self._flush = flush_size()
        self._judge = Judge(bay.sandbox, settings.threads, self._cpus)
        self.ceilings = self._measure_ceilings()
        self.floor: Floor = floor_for(task, dims, self.ceilings, settings.threads)
        self._slots = slots_for(task, dims, settings.sample_s, self.floor.seconds)
        self.table = CaseTable(task, screen_cases(task), os.urandom(32))
        self.seed = os.urandom(32)
        self.ring = Ring(task, dims, self._slots, self.seed, self._flush)
        self.bench = Bench(self.ring, self.floor, settings.sample_s)
        self.arms: dict[str, Arm] = {}
        self._early: tuple[str, Worker] | None = None
        self.failed: dict[str, str] = {}
        self.baseline = ""
        self.calibration = self._calibrate()

    def verify(self, built: Built) -> Verdict:
        """Screening on the stage's own cases; meanwhile the process that measure() will need starts beside it."""
        self._drop_early()
        self._early = (built.artifact.id, self.start_worker(built, self.ring, wait=False))
        verdict = self._judge.verify(built, self.table, "screen")
        if isinstance(verdict, Rejected):
            self._drop_early()
        return verdict

    def measure(self, built: Built, incumbent: float) -> Timing | Rejected:
        """A trial's timing against the fastest baseline, in a fresh process."""
        return self._with_arm(
            built,
            self.ring,
            lambda arm: self.bench.trial(arm, self.arms[self.baseline], self._bay.settings.profile, incumbent),
        )

    def confirm(self, built: Built) -> tuple[Verdict, Timing | None, str]:
        """Everything anew: fresh inputs, fresh processes, every case; then a fixed number of pairs."""
        seed = os.urandom(32)
        with CaseTable(self.task, full_cases(self.task, self.dims), seed) as table:
            verdict = self._judge.verify(built, table, "full")
        if verdict.status != "passed":
            return verdict, None, seed.hex()
        ring = Ring(self.task, self.dims, self._slots, seed, self._flush)
        baseline = None
        try:
            baseline = self._start_baseline(self.baseline, ring)
            bench = Bench(ring, self.floor, self._bay.settings.sample_s)
            timing = self._with_arm(built, ring, lambda arm: bench.confirm(arm, baseline, self._bay.settings.profile))
        finally:
            if baseline is not None:
                baseline.worker.close()
            ring.close()
        return (timing, None, seed.hex()) if isinstance(timing, Rejected) else (verdict, timing, seed.hex())

    def judge_again(self, built: Built, seed: bytes) -> Verdict:
        """Screening on inputs drawn from a recorded seed."""
        with CaseTable(self.task, screen_cases(self.task), seed) as table:
            return self._judge.verify(built, table, "screen")

    def examine(self, built: Built, table: CaseTable, effort: Effort) -> Verdict | Timing:
        """Everything at once on a table of the caller's: full verdict, then a fixed number of checked, timed pairs."""
        verdict = self._judge.verify(built, table, "full")
        if isinstance(verdict, Rejected):
            return verdict
        baseline = self.arms[self.baseline]
        return self._with_arm(built, self.ring, lambda arm: self.bench.confirm(arm, baseline, effort))

    def start_worker(self, built: Built, ring: Ring, side: int = 0, wait: bool = True) -> Worker:
        settings, sandbox = self._bay.settings, self._bay.sandbox
        outputs = ring.sides[side]
        return cpu.start(sandbox, built, ring.inputs, outputs, ring.calls, settings.threads, self._cpus, wait=wait)

    def _drop_early(self) -> None:
        if self._early is not None:
            self._early[1].close()
            self._early = None

    def _take_worker(self, built: Built, ring: Ring) -> Worker:
        """The process that was started during screening, if it is of this artifact and on this ring; else a new one."""
        early, self._early = self._early, None
        if early is not None and early[0] == built.artifact.id and ring is self.ring:
            return early[1]
        if early is not None:
            early[1].close()
        return self.start_worker(built, ring, wait=False)

    def close(self) -> None:
        self._drop_early()
        for arm in self.arms.values():
            arm.worker.close()
        self.arms = {}
        self.table.close()
        self.ring.close()

    def _with_arm(self, built: Built, ring: Ring, action: Any) -> Timing | Rejected:
        worker = self._take_worker(built, ring)
        try:
            result: Timing | Rejected = action(Arm("candidate", worker.ready(), 0))
            return result
        except WorkerFault as fault:
            return Rejected(cause=fault.cause, reason=fault.reason, case="loading for the timed calls")
        finally:
            worker.close()

    def _measure_ceilings(self) -> Ceilings:
        settings = self._bay.settings
        nbytes = self.task.least_bytes(self.dims)
        return measure_ceilings(
            self._bay.builder, self.start_worker, nbytes, self._flush, settings.threads, settings.sample_s
        )

    def _start_baseline(self, name: str, ring: Ring) -> Arm:
        settings = self._bay.settings
        return Arm(
            name,
            self._bay.baselines.start(self.task, self.locator, name, ring, settings.threads, self._cpus),
            1,
            trusted=True,
        )

    def _calibrate(self) -> dict[str, Any]:
        """Start every baseline, find the fastest, and compare it with itself for the noise floor."""
        for name in self._bay.names:
            try:
                arm = self._start_baseline(name, self.ring)
            except WorkerFault as fault:
                self.failed[name] = fault.reason
                continue
            wrong = self.bench.prove(arm)
            if wrong:
                arm.worker.close()
                self.failed[name] = wrong
            else:
                self.arms[name] = arm
        if not self.arms:
            raise EnvironmentFault(
                f"no baseline of {self.task.name} runs here: {self.failed}", "check the task's baselines"
            )
        first = next(iter(self.arms.values()))
        samples: dict[str, list[list[float]]] = {}
        medians = {}
        for name, arm in self.arms.items():
            pairs, _ = self.bench.compare(arm, first, _BASELINE_PAIRS)
            samples[name] = [pairs.first, pairs.second]
            medians[name] = median(pairs.first)
            self._bay.emit(
                Event("baseline", f"{name}: {medians[name] * 1e3:.3f} ms", {"name": name, "seconds": medians[name]})
            )
        self.baseline = min(medians, key=lambda n: medians[n])
        for name in [n for n in self.arms if n != self.baseline]:
            self.arms.pop(name).worker.close()
        noise, aa = self._noise_floor()
        return {
            "task": self.task.name,
            "dims": self.dims,
            "bytes": self.task.least_bytes(self.dims),
            "written": sum(b.nbytes(self.dims) for b in self.task.outputs),
            "flops": self.task.least_flops(self.dims),
            "threads": self._bay.settings.threads,
            "slots": self._slots,
            "ceilings": {"copy": self.ceilings.copy, "read": self.ceilings.read, "flops": self.ceilings.flops},
            "floor_s": self.floor.seconds,
            "memory_floor_s": self.floor.memory_s,
            "bound": self.floor.bound,
            "baselines": samples,
            "failed": self.failed,
            "fastest": self.baseline,
            "noise_floor": noise,
            "aa": [aa.first, aa.second],
            "inputs_seed": self.seed.hex(),
        }

    def _noise_floor(self) -> tuple[float, Pairs]:
        """How far two measurements of the same thing lie apart here and now: |log| of the A/A interval's farther end."""
        arm = self.arms[self.baseline]
        pairs, _ = self.bench.compare(arm, arm, _CALIBRATION_PAIRS)
        return noise_floor(pairs.first, pairs.second), pairs

    def label(self) -> str:
        return f"{self.task.name} {dims_label(self.dims)}"


def noise_floor(first: Sequence[float], second: Sequence[float]) -> float:
    """The median A/A ratio's distance from 1."""
    ratio = Pairs(list(first), list(second)).speedup().value
    return max(ratio, 1 / ratio) - 1


def win_threshold(win_floor: float, noise: float) -> float:
    """What the lower bound of a confirmed speed-up has to exceed."""
    return max(win_floor, 1 + noise)
