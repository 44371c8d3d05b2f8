"""A run in its folder: the one place where records are written, and what is known from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, Confirmation, Dims, Param
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import FORMAT
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import TrialRecord, TrialRequest
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.ledger.disk import keep_file
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.records import (
    Calibration,
    Environment,
    Genesis,
    Listing,
    NamedSource,
    Resume,
    RunSettings,
    TaskFacts,
)
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea, TrialOutcome
from kernellab.search.archive import Archive
from kernellab.tasks.load import is_task_file, kept_as, kept_in, load_task
from kernellab.tasks.spec import Task, shape_key

T = TypeVar("T")


@dataclass
class ExperimentRun:
    """Trials of an open task, written to a ledger and a store. `start` makes a folder, `resume` goes on with one.

    Closing it signs the ledger and lets go of the folder; the open task is closed by whoever opened it.
    """

    opened: OpenTask
    ledger: Ledger
    store: Store
    archive: Archive
    seed: int
    """Of the search; trials record it."""
    _first: dict[str, Calibration] = field(default_factory=dict)
    _written: dict[str, Calibration] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        opened: OpenTask,
        folder: Path,
        shapes: Sequence[Dims],
        candidates: Sequence[Candidate],
        purpose: str,
        params: dict[str, Param] | None = None,
        science: dict[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
        archive: Archive | None = None,
        remarks: Sequence[str] = (),
    ) -> Self:
        """Start a run folder: genesis, candidates, and files for people (the task's among them), named by their SHA-256."""
        own_file, name = is_task_file(opened.locator), kept_as(opened.locator)
        kept = {**({name: Path(opened.locator).read_bytes()} if own_file else {}), **(files or {})}
        start = Genesis(
            format=FORMAT,
            purpose=purpose,
            params=params or {},
            settings=RunSettings.model_validate(opened.settings.model_dump()),
            environment=Environment.model_validate(opened.environment),
            task=_facts(opened.task, not own_file, remarks),
            shapes=list(shapes),
            candidates=[NamedSource(name=c.name, source=sha256_hex(c.text.encode())) for c in candidates],
            missing_baselines=opened.device.missing,
            files={file: sha256_hex(data) for file, data in kept.items()},
        )
        start = start.model_copy(update={"science": science}) if science else start
        ledger = Ledger.create(folder, kinds.GENESIS.plain(start), load_or_create_key())
        run = cls(opened, ledger, Store(folder), archive or Archive(), opened.settings.seed)
        with ExitStack() as undo:
            undo.push(run)
            run.keep(*(candidate.text.encode() for candidate in candidates))
            for file, data in kept.items():
                keep_file(folder, file, data)
            if own_file:
                opened.move(str(folder / name))
            run.say_start(f"run {ledger.run_id} in {folder}")
            undo.pop_all()
        return run

    @classmethod
    def resume(cls, opened: OpenTask, folder: Path, archive: Archive | None = None) -> Self:
        """Continue a run: verify and repair its ledger, and remember what it holds."""
        ledger = Ledger.resume(folder, load_or_create_key())
        run = cls(opened, ledger, Store(folder), archive or Archive(), opened.settings.seed)
        with ExitStack() as undo:
            undo.push(run)
            recorded = Run(folder)
            run.archive.trials += recorded.trials
            run.archive.confirmations += recorded.confirmations
            for calibration in recorded.calibrations:
                run._first.setdefault(shape_key(calibration.dims), calibration)
            environment = Environment.model_validate(opened.environment)
            run.append(kinds.RESUME, Resume(environment=environment, trials=len(run.archive.trials)))
            undo.pop_all()
        return run

    def beside(self, other: OpenTask) -> ExperimentRun:
        """The same run with another task: the same ledger, store and archive."""
        return ExperimentRun(other, self.ledger, self.store, self.archive, self.seed)

    @property
    def folder(self) -> Path:
        return self.ledger.folder

    @property
    def settings(self) -> Settings:
        return self.opened.settings

    @property
    def task(self) -> Task:
        return self.opened.task

    @property
    def emit(self) -> Listener:
        return self.opened.emit

    @property
    def device_name(self) -> str:
        return str(self.opened.environment["device"])

    def say_start(self, text: str) -> None:
        self.emit(Event("start", text, {"folder": str(self.folder), "tier": self.opened.tier,
                  "device": self.device_name, "task": self.task.name}))  # fmt: skip

    def evaluate(self, request: TrialRequest) -> TrialRecord:
        """With its evidence in the store before anything names it, and its calibration in the ledger if it is new."""
        found = self.opened.evaluate(request)
        self.keep(request.source.encode(), *found.evidence.values())
        self._write(found.calibration)
        return found

    def stage(self, dims: Dims) -> Stage:
        """Set up one shape and record its calibration."""
        stage = self.opened.stage(dims)
        self._write(stage.calibration)
        self._first.setdefault(shape_key(dims), stage.calibration)
        return stage

    def _write(self, calibration: Calibration | None) -> None:
        """A calibration that the ledger does not hold yet."""
        if calibration is not None and self._written.get(shape_key(calibration.dims)) != calibration:
            self._written[shape_key(calibration.dims)] = calibration
            self.append(kinds.CALIBRATION, calibration)

    def first_calibration(self, dims: Dims) -> Calibration:
        """What this run measured first at a shape, before it was cut and resumed."""
        return self._first[shape_key(dims)]

    def record(self, trial: AnyTrial) -> AnyTrial:
        """Commit a trial: from here on it survives anything."""
        self.append(kinds.TRIAL, trial)
        self.archive.add(trial)
        self.emit(Event("trial", "", {"trial": trial}))
        return trial

    def confirm(self, confirmation: Confirmation) -> Confirmation:
        self.append(kinds.CONFIRMATION, confirmation)
        self.archive.confirmations.append(confirmation)
        return confirmation

    def append(self, kind: EntryKind[T], record: T) -> None:
        self.ledger.write(kind, record)

    def keep(self, *blobs: bytes) -> None:
        """Put evidence into the store."""
        for blob in blobs:
            self.store.put(blob)

    def keep_listing(self, found: TrialRecord) -> None:
        """What a compiler lists, and machine code in words, for people, of what was confirmed."""
        if found.listing and found.artifact is not None:
            sha = self.store.put(found.listing.encode())
            self.append(kinds.LISTING, Listing(artifact=found.artifact.id, text=sha))

    def candidate_of(self, trial: AnyTrial) -> Candidate:
        """The file that a recorded trial was made with."""
        return Candidate(self.store.get(trial.proposal.source).decode(), trial.proposal.name)

    def outcome(self, trial: AnyTrial, idea: Idea | None = None) -> TrialOutcome:
        """What came of a recorded trial, as proposers are told."""
        proposal = trial.proposal
        idea = idea or Idea(self.candidate_of(trial), dict(proposal.params), proposal.why, proposal.origin)
        return TrialOutcome.of(idea, trial.trial, self.archive.settled(trial))

    def close(self) -> None:
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _facts(task: Task, builtin: bool, remarks: Sequence[str]) -> TaskFacts:
    more = {"remarks": list(remarks)} if remarks else {}
    return TaskFacts.model_validate({"name": task.name, "fingerprint": task.fingerprint(), "builtin": builtin, **more})


def task_of(folder: Path, trial: int = 0) -> tuple[Task, str]:
    """A run's task: built in, or the copy kept in the folder; its fingerprint must fit the record. `trial`: in a session,
    the task of this one."""
    asked = Run(folder).asked_for(trial)
    locator = asked.task.name if asked.task.builtin else str(kept_task(folder, trial))
    task = load_task(locator)
    if task.on(asked.settings.device).fingerprint() != asked.task.fingerprint:
        raise UsageError(f"the task '{task.name}' is not the one this run was made with",
                         "use the version of kernellab (or the task file) that made the run")  # fmt: skip
    return task, locator


def kept_task(folder: Path, trial: int = 0) -> Path:
    """The folder's copy of the file of a trial's task."""
    part = Run(folder).part_of(trial)
    return folder / Path(part.file).name if part else kept_in(folder)


def candidates_of(folder: Path) -> list[Candidate]:
    store = Store(folder)
    return [Candidate(store.get(c.source).decode(), c.name) for c in Run(folder).start.candidates]
