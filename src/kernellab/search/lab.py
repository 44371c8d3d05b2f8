"""The laboratory: everything a run works with, opened once, and the one place where records are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, Confirmation, Dims, Param, Trust
from kernellab.core.settings import Settings
from kernellab.evaluate.evaluator import LocalEvaluator
from kernellab.evaluate.one_artifact import FORMAT
from kernellab.evaluate.request import Place, TrialRecord, TrialRequest
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
from kernellab.propose.base import Idea
from kernellab.search.archive import Archive
from kernellab.targets.base import platform
from kernellab.targets.choose import AUTO, processor
from kernellab.tasks.load import is_task_file, kept_as, kept_in, load_task
from kernellab.tasks.spec import Task, shape_key

T = TypeVar("T")


@dataclass
class Budget:
    """Trials and seconds for one shape (zero seconds: no limit), and whether the run's GPU time is spent."""

    trials: int
    seconds: float
    started: float = field(default_factory=time.monotonic)
    spent: Callable[[], bool] = lambda: False

    def left(self, done: int) -> bool:
        in_time = not self.seconds or time.monotonic() - self.started < self.seconds
        return done < self.trials and in_time and not self.spent()


class Lab:
    """Opens what the device needs; `begin` or `reopen` attach a run folder. Use as a context manager."""

    def __init__(
        self, settings: Settings, task: Task, locator: str, emit: Listener = silent, torch: bool = True
    ) -> None:
        if settings.device == AUTO:
            settings = settings.model_copy(update={"device": processor().kind})
        self.settings = settings
        self.task = task = task.on(settings.device)
        self.locator = locator
        self.emit = emit
        self.archive = Archive()
        self._calibrations: dict[str, Calibration] = {}
        self.ledger: Ledger | None = None
        self.store: Store | None = None
        self.platform = platform(settings.device)
        self.evaluator = LocalEvaluator(settings, emit)
        self.device = self.evaluator.open(task, locator, torch)
        self._fingerprint, self._torch = task.fingerprint(), torch
        self._written: dict[str, Calibration] = {}

    @property
    def builder(self) -> Builder:
        return self.device.builder

    @property
    def missing(self) -> dict[str, str]:
        return self.device.missing

    @property
    def environment(self) -> dict[str, Any]:
        return self.device.environment

    @property
    def tier(self) -> str:
        return self.device.sandbox.tier

    @property
    def trust(self) -> Trust:
        return self.device.rig.device.trust

    def request(self, dims: Dims, candidate: Candidate, params: Mapping[str, Param], **asked: Any) -> TrialRequest:
        """A trial of this laboratory's task on its device; `asked` are the other fields."""
        settings = self.settings
        return TrialRequest(
            task=self.locator,
            fingerprint=self._fingerprint,
            place=Place(device=settings.device, target=settings.target, threads=settings.threads),
            dims=dims,
            source=candidate.text,
            name=candidate.name,
            params=dict(params),
            torch=self._torch,
            **{"effort": settings.profile, **asked},
        )

    def build(self, dims: Dims, idea: Idea) -> Built | NotBuilt:
        """For a trial of it at this shape, before that comes."""
        return self.evaluator.build(self.request(dims, idea.candidate, idea.params))

    def evaluate(self, request: TrialRequest) -> TrialRecord:
        """With its evidence in the run's store before anything names it, and its calibration in the ledger if it is new."""
        found = self.evaluator.evaluate(request)
        self.keep(request.source.encode(), *found.evidence.values())
        self._write(found.calibration)
        return found

    def stage(self, dims: Dims, confirming: bool = True) -> Stage:
        """Set up one shape and record its calibration."""
        stage = self.evaluator.stage(self.request(dims, Candidate("", ""), {}), confirming)
        self._write(stage.calibration)
        self._calibrations.setdefault(shape_key(dims), stage.calibration)
        floor = stage.floor
        self.emit(Event("calibration", (
            f"fastest baseline {stage.baseline}; floor {floor.seconds * 1e3:.3f} ms ({floor.bound}); "
            f"copy {stage.ceilings.copy / 1e9:.1f} GB/s; noise {stage.calibration.noise_floor * 100:.2f} %"),
            kinds.CALIBRATION.plain(stage.calibration)))  # fmt: skip
        return stage

    def _write(self, calibration: Calibration | None) -> None:
        """A calibration that the ledger does not hold yet."""
        if calibration is not None and self._written.get(shape_key(calibration.dims)) != calibration:
            self._written[shape_key(calibration.dims)] = calibration
            self.append(kinds.CALIBRATION, calibration)

    def wait_for_quiet(self) -> None:
        self.evaluator.wait_for_quiet(self.device)

    def begin(
        self,
        folder: Path,
        shapes: Sequence[Dims],
        candidates: Sequence[Candidate],
        purpose: str,
        params: dict[str, Param] | None = None,
        science: dict[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Start a run folder: genesis, candidates, and files for people (the task's among them), named by their SHA-256."""
        kept = {
            **({kept_as(self.locator): Path(self.locator).read_bytes()} if self._is_file() else {}),
            **(files or {}),
        }
        start = Genesis(
            format=FORMAT,
            purpose=purpose,
            params=params or {},
            settings=RunSettings.model_validate(self.settings.model_dump()),
            environment=Environment.model_validate(self.environment),
            task=TaskFacts(name=self.task.name, fingerprint=self.task.fingerprint(), builtin=not self._is_file()),
            shapes=list(shapes),
            candidates=[NamedSource(name=c.name, source=sha256_hex(c.text.encode())) for c in candidates],
            missing_baselines=self.missing,
            files={name: sha256_hex(data) for name, data in kept.items()},
        )
        start = start.model_copy(update={"science": science}) if science else start
        self.ledger = Ledger.create(folder, kinds.GENESIS.plain(start), load_or_create_key())
        self.store = Store(folder)
        for candidate in candidates:
            self.store.put(candidate.text.encode())
        for name, data in kept.items():
            keep_file(folder, name, data)
        if self._is_file():
            self.locator = str(folder / kept_as(self.locator))
            self.evaluator.open(self.task, self.locator, self._torch)
        self.emit(Event("start", f"run {self.ledger.run_id} in {folder}", {"folder": str(folder), "tier": self.tier,
                  "device": self.environment["device"], "task": self.task.name}))  # fmt: skip

    def reopen(self, folder: Path) -> None:
        """Continue a run: verify and repair its ledger, and remember what it holds."""
        self.ledger = Ledger.resume(folder, load_or_create_key())
        self.store = Store(folder)
        run = Run(folder)
        self.archive.trials += run.trials
        self.archive.confirmations += run.confirmations
        for calibration in run.calibrations:
            self._calibrations.setdefault(shape_key(calibration.dims), calibration)
        environment = Environment.model_validate(self.environment)
        self.append(kinds.RESUME, Resume(environment=environment, trials=len(self.archive.trials)))

    def first_calibration(self, dims: Dims) -> Calibration:
        """What this run measured first at a shape, before it was cut and resumed."""
        return self._calibrations[shape_key(dims)]

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
        if self.ledger is not None:
            self.ledger.write(kind, record)

    def keep(self, *blobs: bytes) -> None:
        """Put evidence into the run's store."""
        if self.store is not None:
            for blob in blobs:
                self.store.put(blob)

    def keep_listing(self, found: TrialRecord) -> None:
        """What a compiler lists, and machine code in words, for people, of what was confirmed."""
        if self.store is not None and found.listing and found.artifact is not None:
            sha = self.store.put(found.listing.encode())
            self.append(kinds.LISTING, Listing(artifact=found.artifact.id, text=sha))

    def close(self) -> None:
        self.evaluator.close()
        if self.ledger is not None:
            self.ledger.close()

    def _is_file(self) -> bool:
        return is_task_file(self.locator)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def task_of(folder: Path) -> tuple[Task, str]:
    """A run's task: built in, or the copy kept in the folder; its fingerprint must fit the record."""
    asked = Run(folder).genesis
    locator = asked.task.name if asked.task.builtin else str(kept_in(folder))
    task = load_task(locator)
    if task.on(asked.settings.device).fingerprint() != asked.task.fingerprint:
        raise UsageError(f"the task '{task.name}' is not the one this run was made with",
                         "use the version of kernellab (or the task file) that made the run")  # fmt: skip
    return task, locator


def candidates_of(folder: Path) -> list[Candidate]:
    store = Store(folder)
    return [Candidate(store.get(c.source).decode(), c.name) for c in Run(folder).start.candidates]
