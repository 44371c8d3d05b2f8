"""A stage: one task at one shape on one device, set up for measuring: cases, ring, ceilings, baselines, noise floor."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from typing import Any

from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event, Listener, silent
from kernellab.core.records import Rejected, Timing, Verdict
from kernellab.core.settings import Effort
from kernellab.evaluate.opponents import Opponents
from kernellab.ledger.records import Calibration, CeilingRates, MeasuredRates
from kernellab.measurement.base import Slots
from kernellab.measurement.bench import Arm, Bench, Busy, Pairs, Unfit
from kernellab.measurement.rig import Rig, Runners
from kernellab.measurement.roofline import Floor, floor_for
from kernellab.measurement.winning import noise_floor
from kernellab.run.base import Runner, TensorMemory, WorkerFault
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.verdict.cases import CaseTable, all_shapes, full_cases, screen_cases, shapes_of
from kernellab.verdict.judge import Judge

_CALIBRATION_PAIRS = 15
_TRIAL_POOL = 4
_CONFIRMATION_POOL = 8
_AGAIN = 3
"""How often the ceilings are measured again, at most, before a kernel is called too good or the machine too busy."""


class Stage:
    """`crew`: computes answers ahead, where that disturbs nobody."""

    def __init__(
        self,
        rig: Rig,
        task: Task,
        locator: str,
        dims: Dims,
        emit: Listener = silent,
        crew: Crew | None = None,
    ) -> None:
        self._emit, self._crew = emit, crew
        self._rig = rig
        self.task = task
        self.locator = locator
        self.dims = dims
        screen = screen_cases(task, rig.device.thrifty)
        # Trials know nothing of the shapes kept back: a candidate could tell its author of them in an error message.
        self.shapes = shapes_of(screen, dims)
        self.every_shape = all_shapes(task, dims)
        self._judge = Judge(rig.device, crew.hands if crew else None)
        self._measured, self.ceilings = rig.ceilings(task.least_bytes(dims))
        self.floor: Floor = floor_for(task, dims, self.ceilings, rig.threads)
        self._slots = rig.slots(task, dims, self.floor.seconds)
        self.seed = os.urandom(32)
        self._ahead: tuple[bytes, CaseTable, Slots] | None = None
        self._early: tuple[str, Arm] | None = None
        self._resting = False
        self.closed = False
        self.arms: dict[str, Arm] = {}
        self.baseline = ""
        self.ring = rig.ring(task, dims, self._slots, self.seed, _TRIAL_POOL)
        self.table = CaseTable(task, screen, os.urandom(32), rig.device)
        self.bench = self._make_bench(self.ring)
        try:
            self.calibration = self._calibrate(Opponents(rig, task, locator, self.ring, emit))
        except BaseException:
            self.close()  # whoever comes next needs the memory
            raise

    def verify(self, built: Built) -> Verdict:
        """Screening on the stage's own cases; meanwhile the process that measure() will need starts beside it."""
        self._wake()
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

    def measure(self, built: Built, incumbent: float, effort: Effort) -> Timing | Rejected | Busy:
        """A trial's timing against the fastest baseline, freshly loaded."""
        self._wake()
        baseline = self.arms[self.baseline]
        try:
            candidate = self._take_early(built)
            with closing(candidate.worker):
                return self._named(self.bench.trial(candidate, baseline, effort, incumbent), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def expect_confirmation(self) -> None:
        """There are processors to spare: the crew may make the inputs and answers of the next confirmation from now on.

        Not on the device on which trials are being timed."""
        beside = self.task.oracle is None or not isinstance(self.table.outputs, TensorMemory)
        if self._crew is not None and self._ahead is None and not self.closed and beside:
            self._ahead = self._prepare_confirmation()

    def confirm(self, built: Built, effort: Effort) -> tuple[Verdict, Timing | Busy | None, str]:
        """Everything anew: fresh inputs, fresh processes, every case; then a fixed number of pairs.

        One artifact: it is judged at every shape, and its part for the timed one is timed.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is None and not self._rig.has_room(self.task, self.dims, self._slots, _CONFIRMATION_POOL):
            self._rest()
        seed, table, ring = ahead or self._prepare_confirmation()
        baselines = self._rig.baseline_again(self.task, self.locator, self.baseline, ring, effort.processes)
        try:
            self._rig.device.fresh()
            verdict = self._judge.verify(built, table, "full")
            table.close()
            if verdict.status != "passed":
                return verdict, None, seed.hex()
            timing = self._timed_again(built, ring, effort, baselines)
        finally:
            baselines.close()
            table.close()
            ring.close()
        return (timing, None, seed.hex()) if isinstance(timing, Rejected) else (verdict, timing, seed.hex())

    def _timed_again(self, built: Built, ring: Slots, effort: Effort, baselines: Runners) -> Timing | Rejected | Busy:
        """A confirmation's timing: candidate and baseline in several fresh processes."""
        bench = self._make_bench(ring)
        try:
            with closing(self._fresh_arms(built, ring, baselines)) as arms:
                return self._named(bench.confirm(arms, effort), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def _fresh_arms(self, built: Built, ring: Slots, baselines: Runners) -> Generator[tuple[Arm, Arm]]:
        """Candidate and baseline, again and again, each time in processes that have seen nothing yet."""
        for coming in baselines:
            self._rig.device.fresh()
            try:
                baseline = Arm(self.baseline, coming.ready(), 1, trusted=True)
            except WorkerFault as fault:
                raise EnvironmentFault(f"the baseline {self.baseline} does not start again: {fault.reason}",
                                       "'klab resume' goes on") from None  # fmt: skip
            with closing(self.start_worker(built, ring, wait=False)) as worker:
                yield Arm("candidate", worker, 0), baseline

    def time(self, built: Built, effort: Effort) -> Timing | Rejected | Busy:
        """A fixed number of checked pairs in one process."""
        self._wake()
        try:
            with closing(self.start_worker(built, self.ring)) as worker:
                arms = [(Arm("candidate", worker, 0), self.arms[self.baseline])]
                return self._named(self.bench.confirm(arms, effort), built)
        except WorkerFault as fault:
            return _not_loaded(fault)

    def against_itself(self, count: int) -> Pairs:
        """The fastest baseline paired with itself: what others do on the machine shows here."""
        self._wake()
        arm = self.arms[self.baseline]
        try:
            return self.bench.compare(arm, arm, count)[0]
        except Unfit as unfit:
            raise EnvironmentFault(f"the baseline {self.baseline} broke off: {unfit.rejected.reason}",
                                   "try again") from None  # fmt: skip

    def start_worker(self, built: Built, ring: Slots, side: int = 0, wait: bool = True) -> Runner:
        return self._rig.device.start(built, ring.inputs, ring.sides[side], ring.calls, wait)

    @property
    def nbytes(self) -> int:
        """Of the buffers that it keeps, roughly: those of timed calls, their known answers, and the cases'."""
        rings, tables = [] if self._resting else [self.ring], [self.table]
        if self._ahead is not None:
            rings, tables = [*rings, self._ahead[2]], [*tables, self._ahead[1]]
        memories = [m for r in rings for m in (r.inputs, *r.sides) * 2] + [
            m for t in tables for m in (t.inputs, t.outputs)
        ]
        return sum(region.length for memory in memories for region in memory.regions)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._drop_early()
        for arm in self.arms.values():
            arm.worker.close()
        self.arms = {}
        if self._ahead is not None:
            self._ahead[1].close()
            self._ahead[2].close()
        self.table.close()
        if not self._resting:
            self.ring.close()

    def label(self) -> str:
        return f"{self.task.name} {dims_label(self.dims)}"

    def _prepare_confirmation(self) -> tuple[bytes, CaseTable, Slots]:
        """Secret inputs and their answers for one confirmation: no candidate has seen them when it is built."""
        seed, rig = os.urandom(32), self._rig
        table = CaseTable(self.task, full_cases(self.task, self.dims), seed, rig.device, self._crew, keep=False)
        ring = rig.ring(self.task, self.dims, self._slots, seed, _CONFIRMATION_POOL)
        return seed, table, ring

    def _rest(self) -> None:
        """Give the buffers of timed trials back: a confirmation has its own, and both do not fit into memory."""
        if self._resting:
            return
        self._resting = True
        self._drop_early()
        for arm in self.arms.values():
            arm.worker.close()
        self.arms = {}
        self.ring.close()

    def _wake(self) -> None:
        """Set up again for timed trials."""
        if not self._resting:
            return
        self._resting = False
        self.ring = self._rig.ring(self.task, self.dims, self._slots, self.seed, _TRIAL_POOL)
        hopeless = self.bench.hopeless
        self.bench = self._make_bench(self.ring)
        self.bench.hopeless = hopeless
        coming = self._rig.start_baselines(self.task, self.locator, [self.baseline], self.ring)
        self.arms[self.baseline] = Arm(self.baseline, coming[self.baseline].ready(), 1, trusted=True)

    def _make_bench(self, ring: Slots) -> Bench:
        rig = self._rig
        return Bench(ring, self.floor, rig.sample_s, conditions=rig.conditions, floor_again=self.floor_again)

    def floor_again(self) -> tuple[Floor, bool]:
        """A call came out faster than the machine can be: work is missing, or the ceilings were taken while others used the
        machine. They are measured again; the best ever measured here count from now on, and are recorded. The floor, and
        whether it can be relied on: what was once taken undisturbed may have been low as well, so nobody may disturb now."""
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
            self._emit(Event("note", text))
            self.calibration = self.calibration.model_copy(update=self._facts())
        return self.floor, not now.disturbed

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

    def _calibrate(self, opponents: Opponents) -> Calibration:
        """The fastest baseline, compared with itself for the noise floor."""
        with closing(opponents):
            fastest = opponents.meet(self.bench)
        self.arms[fastest.name], self.baseline = fastest, fastest.name
        noise, aa = self._noise_floor()
        return Calibration(**self._facts(), baselines=opponents.samples, failed=opponents.failed, fastest=fastest.name,
                           noise_floor=noise, aa=[aa.first, aa.second], disturbed=opponents.disturbed,
                           rough=opponents.rough)  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        """The part of a calibration that is known without timing anything."""
        now = self._measured
        return {
            "task": self.task.name,
            "dims": self.dims,
            "bytes": self.task.least_bytes(self.dims),
            "written": sum(b.nbytes(self.dims) for b in self.task.outputs),
            "flops": self.task.least_flops(self.dims),
            "threads": self._rig.threads,
            "slots": self._slots,
            "ceilings": CeilingRates(self.ceilings.copy, self.ceilings.read, self.ceilings.flops),
            "measured": MeasuredRates(now.copy, now.read, now.flops, now.disturbed),
            "floor_s": self.floor.seconds,
            "memory_floor_s": self.floor.memory_s,
            "bound": self.floor.bound,
            "inputs_seed": self.seed.hex(),
            "conditions": self._rig.conditions(),
        }

    def _noise_floor(self) -> tuple[float, Pairs]:
        """How far two measurements of the same thing lie apart here and now."""
        pairs = self.against_itself(_CALIBRATION_PAIRS)
        self.bench.learn_spread(pairs)
        return noise_floor(pairs.first, pairs.second), pairs


def _not_loaded(fault: WorkerFault) -> Rejected:
    return Rejected(cause=fault.cause, reason=fault.reason, case="loading for the timed calls")
