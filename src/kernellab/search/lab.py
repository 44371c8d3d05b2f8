"""The laboratory: everything a run works with, opened once, and the one place where records are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.build.base import Builder, Built, Candidate
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import TRIAL, Confirmation, Param, Record, Trust, dump
from kernellab.core.settings import Settings
from kernellab.ledger.disk import keep_file
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.store import Store
from kernellab.measure.quiet import wait_for_quiet
from kernellab.search.archive import AnyTrial, Archive
from kernellab.search.one_artifact import FORMAT
from kernellab.search.stage import Bay, Stage
from kernellab.targets.choose import platform_of
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, shape_key

TASK_FILE = "task.py"


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
        self.settings = settings
        self.task = task = task.on(settings.device)
        self.locator = locator
        self.emit = emit
        self.archive = Archive()
        self._calibrations: dict[str, dict[str, Any]] = {}
        self.ledger: Ledger | None = None
        self.store: Store | None = None
        self.platform = platform_of(settings)
        self.workshop = self.platform.open(settings, task, torch)
        self.builder: Builder = self.workshop.builder
        self.missing = self.workshop.missing
        self.environment = self.workshop.environment
        self._bay = Bay(self.workshop.rig, settings, emit, self.workshop.crew)

    @property
    def tier(self) -> str:
        return self.workshop.sandbox.tier

    @property
    def trust(self) -> Trust:
        return self.workshop.rig.device.trust

    def stage(self, dims: Dims, confirming: bool = True) -> Stage:
        """Set up one shape and record its calibration."""
        self.wait_for_quiet()
        stage = Stage(self._bay, self.task, self.locator, dims, confirming, partial(self.append, "calibration"))
        self.append("calibration", stage.calibration)
        self._calibrations.setdefault(shape_key(dims), stage.calibration)
        floor = stage.floor
        self.emit(Event("calibration", (
            f"fastest baseline {stage.baseline}; floor {floor.seconds * 1e3:.3f} ms ({floor.bound}); "
            f"copy {stage.ceilings.copy / 1e9:.1f} GB/s; noise {stage.calibration['noise_floor'] * 100:.2f} %"),
            stage.calibration))  # fmt: skip
        return stage

    def wait_for_quiet(self) -> None:
        """Where the user wants that (--wait), and the processor's time is what is measured."""
        threads = self.workshop.rig.threads
        if self.settings.wait_s and threads:
            quiet = wait_for_quiet(threads, self.settings.wait_s, lambda text: self.emit(Event("note", text)))
            if not quiet:
                self.emit(Event("note", f"the machine did not become quiet within {self.settings.wait_s:.0f} s"))

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
        kept = {**({TASK_FILE: Path(self.locator).read_bytes()} if self._is_file() else {}), **(files or {})}
        body = {
            "format": FORMAT,
            "purpose": purpose,
            "params": params or {},
            "settings": self.settings.model_dump(mode="json"),
            "environment": self.environment,
            "task": {"name": self.task.name, "fingerprint": self.task.fingerprint(), "builtin": not self._is_file()},
            "shapes": list(shapes),
            "candidates": [{"name": c.name, "source": sha256_hex(c.text.encode())} for c in candidates],
            "missing_baselines": self.missing,
            "files": {name: sha256_hex(data) for name, data in kept.items()},
            **({"science": science} if science else {}),
        }
        self.ledger = Ledger.create(folder, body, load_or_create_key())
        self.store = Store(folder)
        for candidate in candidates:
            self.store.put(candidate.text.encode())
        for name, data in kept.items():
            keep_file(folder, name, data)
        if self._is_file():
            self.locator = str(folder / TASK_FILE)
        self.emit(Event("start", f"run {self.ledger.run_id} in {folder}", {"folder": str(folder), "tier": self.tier,
                  "device": self.environment["device"], "task": self.task.name}))  # fmt: skip

    def reopen(self, folder: Path) -> None:
        """Continue a run: verify and repair its ledger, and remember what it holds."""
        self.ledger = Ledger.resume(folder, load_or_create_key())
        self.store = Store(folder)
        for entry in read_entries(folder):
            if entry.kind == "trial":
                self.archive.add(TRIAL.validate_python(entry.body))
            elif entry.kind == "calibration":
                self._calibrations.setdefault(shape_key(entry.body["dims"]), dict(entry.body))
            elif entry.kind == "confirmation":
                self.archive.confirmations.append(Confirmation.model_validate(entry.body))
        self.append("resume", {"environment": self.environment, "trials": len(self.archive.trials)})

    def first_calibration(self, dims: Dims) -> dict[str, Any]:
        """What this run measured first at a shape, before it was cut and resumed."""
        return self._calibrations[shape_key(dims)]

    def record(self, trial: AnyTrial) -> AnyTrial:
        """Commit a trial: from here on it survives anything."""
        self.append("trial", dump(trial))
        self.archive.add(trial)
        self.emit(Event("trial", "", {"trial": trial}))
        return trial

    def confirm(self, confirmation: Confirmation) -> Confirmation:
        self.append("confirmation", dump(confirmation))
        self.archive.confirmations.append(confirmation)
        return confirmation

    def append(self, kind: str, body: dict[str, Any] | Record) -> None:
        if self.ledger is not None:
            self.ledger.append(kind, dump(body) if isinstance(body, Record) else body)

    def keep(self, candidate: Candidate, built: Built | None) -> None:
        """Put the evidence of a trial into the run's store before its record is written."""
        if self.store is None:
            return
        self.store.put(candidate.text.encode())
        for part in built.parts if built is not None else ():
            for blob in (part.code, part.log.encode(), part.plan_file):
                self.store.put(blob)

    def keep_listing(self, built: Built) -> None:
        """What a compiler lists, and machine code in words, for people, of what is about to be confirmed."""
        if self.ledger is not None and self.store is not None and built.listing:
            machine_code = self.platform.disassembly(self.workshop.sandbox, built)
            sha = self.store.put(f"{built.listing}\n{machine_code}".encode())
            self.append("listing", {"artifact": built.artifact.id, "text": sha})

    def close(self) -> None:
        self.workshop.close()
        if self.ledger is not None:
            self.ledger.close()

    def _is_file(self) -> bool:
        return self.locator.endswith(".py")

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def genesis(folder: Path) -> dict[str, Any]:
    """The first entry of a run: what was asked for."""
    for entry in read_entries(folder):
        return dict(entry.body)
    raise LedgerFault(f"{folder} holds an empty ledger", "start a new run with another --out")


def task_of(folder: Path) -> tuple[Task, str]:
    """A run's task: built in, or the copy kept in the folder; its fingerprint must fit the record."""
    body = genesis(folder)
    facts = body["task"]
    locator = str(facts["name"]) if facts["builtin"] else str(folder / TASK_FILE)
    task = load_task(locator)
    if task.on(body["settings"]["device"]).fingerprint() != facts["fingerprint"]:
        raise UsageError(f"the task '{task.name}' is not the one this run was made with",
                         "use the version of kernellab (or the task file) that made the run")  # fmt: skip
    return task, locator


def candidates_of(folder: Path) -> list[Candidate]:
    store = Store(folder)
    return [Candidate(store.get(c["source"]).decode(), c["name"]) for c in genesis(folder)["candidates"]]
