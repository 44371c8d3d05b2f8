"""The audit of where a record says it was made: which task, which shape, which machine, and what a call there has to move.

Covered: an environment that does not hash to its digest; trials of another machine, sandbox, task or shape than the run was
asked for; bytes, operations and baselines of a calibration that are not the task's, where the task is a built-in one or the
record of a module. Not covered: those of a task file, whose code an audit does not run; ways to run torch on an accelerator
that were left out; a machine that was made up whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernellab.core.errors import KlabError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.core.targets import devices
from kernellab.ledger.records import (
    AnyResult,
    Calibration,
    Environment,
    Genesis,
    Judged,
    Published,
    Resume,
    TaskFacts,
    Unpublished,
)
from kernellab.ledger.reward_records import RewardPlan
from kernellab.ledger.session_records import PURPOSE as SESSION
from kernellab.ledger.session_records import SessionPart
from kernellab.targets.base import platform
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import RECORD_FILE, load_task
from kernellab.tasks.spec import Dims, Task, in_order, shape_key

_OVER_ALL = ("search", "try", "baselines")
"""Purposes whose claims are over the fastest of all baselines of the task; a study chooses one."""
_TRIALS = (FailedTrial, RejectedTrial, DuplicateTrial, MeasuredTrial, UntimedTrial)


class PlaceAudit:
    """Fed every record in the ledger's order. `remarks`: what could not be compared."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment: Environment | None = None
        self._shapes: dict[str, set[str] | None] = {}
        self._tasks: dict[str, Task] = {}
        self._missing: set[str] | None = None
        self._trust, self._accelerator = "", False
        self.remarks: list[str] = []

    def problems(self, record: object) -> Iterator[str]:
        match record:
            case Genesis():
                yield from self._begun(record)
            case SessionPart():
                yield from self._machine(record.environment)
                self._missing = None
                self._asked_for(record.task, None, record.settings.device, "")
            case Resume():
                yield from self._machine(record.environment)
            case RewardPlan():
                for task in record.tasks:
                    self._shapes[task.name] = {shape_key(dims) for dims in task.shapes}
            case Calibration():
                yield from self._place(record.task, record.dims)
                yield from self._calibration(record)
            case Published() | Unpublished() | Judged():
                yield from self._result(record)
            case trial if isinstance(trial, _TRIALS):
                yield from self._place(trial.task, trial.dims)
                yield from self._trial(trial.device, trial.environment, trial.tier)
                if isinstance(trial, MeasuredTrial) and self._trust and trial.trust != self._trust:
                    yield f"claims trust level '{trial.trust}', its device has '{self._trust}'"

    def _begun(self, start: Genesis) -> Iterator[str]:
        yield from self._machine(start.environment)
        self._missing = set(start.missing_baselines) if start.purpose in _OVER_ALL else None
        shapes = None if start.purpose == SESSION else start.shapes
        self._asked_for(start.task, shapes, start.settings.device, (start.files or {}).get(RECORD_FILE, ""))

    def _machine(self, environment: Environment) -> Iterator[str]:
        if not environment.sound:
            yield "its environment is not the one that its digest names"
        self._environment = environment

    def _asked_for(self, facts: TaskFacts, shapes: Sequence[Dims] | None, device: str, record: str) -> None:
        known = device in devices()
        self._trust = platform(device).trust if known else ""
        self._accelerator = known and platform(device).accelerator
        self._shapes[facts.name] = None if shapes is None else {shape_key(dims) for dims in shapes}
        task = self._loaded(facts, device, record)
        if task is not None and task.fingerprint() == facts.fingerprint:
            self._tasks[facts.name] = task
        elif facts.builtin:
            self._tasks.pop(facts.name, None)
            self.remarks.append(f"task {facts.name} is another than this version's: its bytes were not compared")

    def _loaded(self, facts: TaskFacts, device: str, record: str) -> Task | None:
        """Without running anybody's code."""
        if facts.builtin:
            return TASKS[facts.name].on(device) if facts.name in TASKS else None
        path = self._folder / RECORD_FILE
        if not record or not path.is_file() or sha256_hex(path.read_bytes()) != record:
            return None  # there is none, or audit_files says what is wrong with it
        try:
            return load_task(str(path)).on(device)
        except KlabError:
            return None

    def _place(self, task: str, dims: Dims) -> Iterator[str]:
        if not self._shapes:
            return
        if task not in self._shapes:
            yield f"is of task {task}, which the run was not asked for"
        elif (shapes := self._shapes[task]) is not None and shape_key(dims) not in shapes:
            yield f"is at {shape_key(dims)}, which the run was not asked for"

    def _trial(self, device: str, environment: str, tier: str) -> Iterator[str]:
        now = self._environment
        if now is not None and not now.made(device, environment, tier):
            yield f"names another machine or sandbox ({device}, {tier}) than the run ({now.device}, {now.tier})"

    def _calibration(self, said: Calibration) -> Iterator[str]:
        task = self._tasks.get(said.task)
        if task is None or sorted(said.dims) != sorted(task.dim_names):
            return
        dims = in_order(said.dims, task)
        wanted = task.least_bytes(dims), sum(b.nbytes(dims) for b in task.outputs), task.least_flops(dims)
        if (said.bytes, said.written, said.flops) != wanted:
            got = f"{said.bytes} bytes, {said.written} written, {said.flops} operations"
            yield f"counts {got}; the task has {wanted[0]}, {wanted[1]}, {wanted[2]}"
        if self._missing is not None:
            own = task.gpu_baselines if self._accelerator else task.baselines
            named = {self._program(name) for name in (*said.baselines, *said.failed, *self._missing)}
            for name in sorted({self._program(n) for n in own} - named):
                yield f"leaves baseline {name} of the task out"

    def _program(self, name: str) -> str:
        """What a baseline runs: its knobs, and on an accelerator the ways to run torch, are not asked for one by one."""
        plain = name.partition("[")[0]
        return "torch" if self._accelerator and plain.startswith("torch.") else plain

    def _result(self, said: AnyResult) -> Iterator[str]:
        task = self._tasks.get(said.task)
        if task is not None and said.dtype and said.dtype != task.outputs[0].dtype:
            yield f"speaks of {said.dtype}, the task's outputs are {task.outputs[0].dtype}"
