"""A stage: one task at one shape on one device, set up for measuring: cases, ring, ceilings, baselines, noise floor."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event, Listener
from kernellab.core.records import Rejected, Timing, Verdict
from kernellab.core.settings import Effort, Settings
from kernellab.measure.base import Slots
from kernellab.measure.bench import Arm, Bench, Busy, Pairs
from kernellab.measure.rig import Rig
from kernellab.measure.roofline import Ceilings, Floor, floor_for
from kernellab.measure.stats import median
from kernellab.run.base import Runner, WorkerFault
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.verify.cases import CaseTable, all_shapes, full_cases, screen_cases, shapes_of
from kernellab.verify.judge import Judge

_BASELINE_PAIRS = 5
_CALIBRATION_PAIRS = 15
_TRIAL_POOL = 4
_CONFIRMATION_POOL = 8
_AGAIN = 3
"""How often the ceilings are measured again, at most, before a kernel is called too good or the machine too busy."""


@dataclass(frozen=True)
class Bay:
    """The parts of the laboratory that a stage works with. A `crew` computes answers ahead, where that disturbs nobody."""

    rig: Rig
    settings: Settings
    emit: Listener
    crew: Crew | None = None


class Stage:
    """`confirming`: a confirmation will come; its inputs and answers are then made ahead, where there is a crew.
    `recalibrated` is told when the calibration changes later on."""

    def __init__(
        self,
        bay: Bay,
        task: Task,
        locator: str,
        dims: Dims,
        confirming: bool = True,
        recalibrated: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._bay = bay
        self._recalibrated = recalibrated
        self._rig = bay.rig
        self.task = task
        self.locator = locator
        self.dims = dims
        screen = screen_cases(task, bay.rig.device.thrifty)
        # Trials know nothing of the shapes kept back: a candidate could tell its author of them in an error message.
        self.shapes = shapes_of(screen, dims)
        self.every_shape = all_shapes(task, dims)
        self._judge = Judge(bay.rig.device, bay.crew.hands if bay.crew else None)
        self._measured, self.ceilings = bay.rig.ceilings(task.least_bytes(dims))
        self.floor: Floor = floor_for(task, dims, self.ceilings, bay.rig.threads)
        self._slots = bay.rig.slots(task, dims, self.floor.seconds)
        self.seed = os.urandom(32)
        self.ring = bay.rig.ring(task, dims, self._slots, self.seed, _TRIAL_POOL)
        coming = bay.rig.start_baselines(task, locator, bay.rig.names, self.ring)
        self._ahead = self._prepare_confirmation() if confirming and bay.crew is not None else None
        self.table = CaseTable(task, screen, os.urandom(32), bay.rig.device)
        self.bench = self._make_bench(self.ring)
        self.arms: dict[str, Arm] = {}
        self._early: tuple[str, Arm] | None = None
        self.failed: dict[str, str] = {}
        self.baseline = ""
        self.calibration = self._calibrate(coming)

    def verify(self, built: Built) -> Verdict:
        """Screening on the stage's own cases; meanwhile the process that measure() will need starts beside it."""
        self._drop_early()
        try:
            arm = Arm("candidate", self.start_worker(built, self.ring, wait=False), 0)
        except WorkerFault as fault:
            return Rejected(cause=fault.cause, reason=fault.reason, case="loading")
        self._early = (built.artifact.id, arm)
        self.bench.expect(arm, self.arms[self.baseline])
        verdict = self._judge.verify(built, self.table, "screen")
        if isinstance(verdict, Rejected):
            self._drop_early()
        return verdict

    def measure(self, built: Built, incumbent: float) -> Timing | Rejected | Busy:
        """A trial's timing against the fastest baseline, freshly loaded."""
        baseline, effort = self.arms[self.baseline], self._bay.settings.profile
        try:
            candidate = self._take_early(built)
            with closing(candidate.worker):
                return self._named(self.bench.trial(candidate, baseline, effort, incumbent), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def confirm(self, built: Built) -> tuple[Verdict, Timing | Busy | None, str]:
        """Everything anew: fresh inputs, fresh processes, every case; then a fixed number of pairs.

        One artifact: it is judged at every shape, and its part for the timed one is timed.
        """
        ahead, self._ahead = self._ahead, None
        seed, table, ring = ahead or self._prepare_confirmation()
        try:
            self._rig.device.fresh()
            verdict = self._judge.verify(built, table, "full")
            table.close()
            if verdict.status != "passed":
                return verdict, None, seed.hex()
            timing = self._timed_again(built, ring)
        finally:
            table.close()
            ring.close()
        return (timing, None, seed.hex()) if isinstance(timing, Rejected) else (verdict, timing, seed.hex())

    def _timed_again(self, built: Built, ring: Slots) -> Timing | Rejected | Busy:
        """A confirmation's timing: candidate and baseline in several fresh processes."""
        effort, bench = self._bay.settings.profile, self._make_bench(ring)
        try:
            with closing(self._fresh_arms(built, ring, effort.processes)) as arms:
                return self._named(bench.confirm(arms, effort), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def _fresh_arms(self, built: Built, ring: Slots, count: int) -> Generator[tuple[Arm, Arm]]:
        """Candidate and baseline, so many times, each time in processes that have seen nothing yet."""
        with closing(self._rig.baseline_again(self.task, self.locator, self.baseline, ring, count)) as baselines:
            for coming in baselines:
                self._rig.device.fresh()
                try:
                    baseline = Arm(self.baseline, coming.ready(), 1, trusted=True)
                except WorkerFault as fault:
                    raise EnvironmentFault(f"the baseline {self.baseline} does not start again: {fault.reason}",
                                           "'klab resume' goes on") from None  # fmt: skip
                with closing(self.start_worker(built, ring, wait=False)) as worker:
                    yield Arm("candidate", worker, 0), baseline

    def judge_again(self, built: Built, seed: bytes) -> Verdict:
        """Screening on inputs drawn from a recorded seed."""
        with CaseTable(self.task, self.table.cases, seed, self._rig.device) as table:
            return self._judge.verify(built, table, "screen")

    def examine(self, built: Built, table: CaseTable, effort: Effort) -> Verdict | Timing | Busy:
        """Everything at once on a table of the caller's: full verdict, then a fixed number of checked, timed pairs."""
        verdict = self._judge.verify(built, table, "full")
        if isinstance(verdict, Rejected):
            return verdict
        try:
            with closing(self.start_worker(built, self.ring)) as worker:
                arms = [(Arm("candidate", worker, 0), self.arms[self.baseline])]
                return self._named(self.bench.confirm(arms, effort), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def start_worker(self, built: Built, ring: Slots, side: int = 0, wait: bool = True) -> Runner:
        return self._rig.device.start(built, ring.inputs, ring.sides[side], ring.calls, wait)

    def close(self) -> None:
        self._drop_early()
        for arm in self.arms.values():
            arm.worker.close()
        self.arms = {}
        if self._ahead is not None:
            self._ahead[1].close()
            self._ahead[2].close()
        self.table.close()
        self.ring.close()

    def label(self) -> str:
        return f"{self.task.name} {dims_label(self.dims)}"

    def _prepare_confirmation(self) -> tuple[bytes, CaseTable, Slots]:
        """Secret inputs and their answers for one confirmation: no candidate has seen them when it is built."""
        seed, rig = os.urandom(32), self._rig
        table = CaseTable(self.task, full_cases(self.task, self.dims), seed, rig.device, self._bay.crew, keep=False)
        ring = rig.ring(self.task, self.dims, self._slots, seed, _CONFIRMATION_POOL)
        return seed, table, ring

    def _make_bench(self, ring: Slots) -> Bench:
        rig = self._rig
        return Bench(ring, self.floor, rig.sample_s, conditions=rig.conditions, floor_again=self.floor_again)

    def floor_again(self) -> tuple[Floor, bool]:
        """A call came out faster than the machine can be: work is missing, or the ceilings were taken while others used the
        machine. They are measured again; the best ever measured here count from now on, and are recorded. The floor, and
        whether it can be relied on."""
        for _ in range(_AGAIN):
            now, best = self._rig.ceilings(self.task.least_bytes(self.dims))
            if not now.disturbed:
                break
        before, self._measured = self.floor, now
        self.ceilings = self.ceilings.at_least(best)
        self.floor = self.bench.floor = floor_for(self.task, self.dims, self.ceilings, self._rig.threads)
        if self.floor.seconds < before.seconds:
            text = (
                f"ceilings measured again: floor {self.floor.seconds * 1e3:.3f} ms, not {before.seconds * 1e3:.3f} ms"
            )
            self._bay.emit(Event("note", text))
            self.calibration = {**self.calibration, **self._facts()}
            self._recalibrated(self.calibration)
        return self.floor, not (now.disturbed and best.disturbed)

    def _named(self, found: Timing | Rejected | Busy, built: Built) -> Timing | Rejected | Busy:
        """A timing with the name of what was timed, from the bytes that the runner got."""
        part = built.part(self.dims).id
        return found.model_copy(update={"part": part}) if isinstance(found, Timing) else found

    def _drop_early(self) -> None:
        if self._early is not None:
            self._early[1].worker.close()
            self._early = None

    def _take_early(self, built: Built) -> Arm:
        """The process that was started during screening, if it is of this artifact; else a new one."""
        if self._early is not None and self._early[0] == built.artifact.id:
            (_, arm), self._early = self._early, None
            return arm
        self._drop_early()
        return Arm("candidate", self.start_worker(built, self.ring, wait=False), 0)

    def _calibrate(self, coming: Mapping[str, Runner]) -> dict[str, Any]:
        """Every baseline that starts and is right is timed; the fastest is compared with itself for the noise floor."""
        for name, baseline in coming.items():
            try:
                self.arms[name] = Arm(name, baseline.ready(), 1, trusted=True)
            except WorkerFault as fault:
                self.failed[name] = fault.reason
        for name, arm in list(self.arms.items()):  # when all stand still: each makes a call while it is loaded
            if wrong := self.bench.prove(arm):
                self.arms.pop(name).worker.close()
                self.failed[name] = wrong
        if not self.arms:
            raise EnvironmentFault(
                f"no baseline of {self.task.name} runs here: {self.failed}", "check the task's baselines"
            )
        first = next(iter(self.arms.values()))
        samples: dict[str, list[list[float]]] = {}
        medians, disturbed = {}, []
        for name, arm in self.arms.items():
            pairs, _ = self.bench.compare(arm, first, _BASELINE_PAIRS)
            samples[name] = [pairs.first, pairs.second]
            medians[name] = median(pairs.first)
            disturbed += [name] * pairs.disturbed
            self._bay.emit(
                Event("baseline", f"{name}: {medians[name] * 1e3:.3f} ms", {"name": name, "seconds": medians[name]})
            )
        self.baseline = min(medians, key=lambda n: medians[n])
        for name in [n for n in self.arms if n != self.baseline]:
            self.arms.pop(name).worker.close()
        noise, aa = self._noise_floor()
        return {**self._facts(), "baselines": samples, "failed": self.failed, "fastest": self.baseline,
                "noise_floor": noise, "aa": [aa.first, aa.second],
                "disturbed": disturbed}  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "dims": self.dims,
            "bytes": self.task.least_bytes(self.dims),
            "written": sum(b.nbytes(self.dims) for b in self.task.outputs),
            "flops": self.task.least_flops(self.dims),
            "threads": self._rig.threads,
            "slots": self._slots,
            "ceilings": _ceilings(self.ceilings),
            "measured": {**_ceilings(self._measured), "disturbed": self._measured.disturbed},
            "floor_s": self.floor.seconds,
            "memory_floor_s": self.floor.memory_s,
            "bound": self.floor.bound,
            "inputs_seed": self.seed.hex(),
            "conditions": self._rig.conditions(),
        }

    def _noise_floor(self) -> tuple[float, Pairs]:
        """How far two measurements of the same thing lie apart here and now: the fastest baseline paired with itself, by
        the rule of noise_floor()."""
        arm = self.arms[self.baseline]
        pairs, _ = self.bench.compare(arm, arm, _CALIBRATION_PAIRS)
        return noise_floor(pairs.first, pairs.second), pairs


def _ceilings(ceilings: Ceilings) -> dict[str, float]:
    return {"copy": ceilings.copy, "read": ceilings.read, "flops": ceilings.flops}


def _not_loaded(fault: WorkerFault) -> Rejected:
    return Rejected(cause=fault.cause, reason=fault.reason, case="loading for the timed calls")


def noise_floor(first: Sequence[float], second: Sequence[float]) -> float:
    """How far the median ratio of the A/A pairs lies from 1, whichever side is slower. Its interval plays no part."""
    ratio = Pairs(list(first), list(second)).speedup().value
    return max(ratio, 1 / ratio) - 1


def wins(timing: Timing, calibration: Mapping[str, Any], win_floor: float) -> bool:
    """The rule: the interval's lower end above the threshold, and nothing of it from a machine too busy to tell."""
    return not too_busy(timing, calibration) and timing.speedup_low > win_threshold(
        win_floor, calibration["noise_floor"]
    )


def too_busy(timing: Timing, calibration: Mapping[str, Any]) -> bool:
    """Whether the comparison itself was disturbed, or a baseline whose calibration was may be the fastest: once at least it
    was faster than the chosen one is here. (An A/A that is disturbed raises the threshold.)"""
    others = [name for name in calibration.get("disturbed", ()) if name != timing.baseline]
    chosen = median(timing.baseline_s)
    return timing.disturbed or any(min(calibration["baselines"][name][0]) < chosen for name in others)


def win_threshold(win_floor: float, noise: float) -> float:
    """What the lower bound of a confirmed speed-up has to exceed."""
    return max(win_floor, 1 + noise)
