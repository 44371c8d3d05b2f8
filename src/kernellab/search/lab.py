"""The laboratory: everything a run works with, opened once, and the one place where records are written."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.build import c as c_backend
from kernellab.build.base import Built, Candidate
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache, default_folder
from kernellab.build.compiler import find_compiler
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import canonical_json, sha256_hex
from kernellab.core.records import TRIAL, Confirmation, Param, Record, dump
from kernellab.core.settings import Settings
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.store import Store
from kernellab.measure.baselines import Baselines, available
from kernellab.run import cpu
from kernellab.run.device import describe_environment
from kernellab.sandbox.tiers import open_sandbox
from kernellab.search.archive import AnyTrial, Archive
from kernellab.search.stage import Bay, Stage
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task

TASK_FILE = "task.py"
DEVICES = ("cpu",)


@dataclass
class Budget:
    """Trials and seconds for one shape; zero seconds means no limit."""

    trials: int
    seconds: float
    started: float = field(default_factory=time.monotonic)

    def left(self, done: int) -> bool:
        return done < self.trials and (not self.seconds or time.monotonic() - self.started < self.seconds)


class Lab:
    """Opens sandbox, compiler and baselines; `begin` or `reopen` attach a run folder. Use as a context manager."""

    def __init__(
        self, settings: Settings, task: Task, locator: str, emit: Listener = silent, torch: bool = True
    ) -> None:
        self.settings = settings
        self.task = task
        self.locator = locator
        self.emit = emit
        self.archive = Archive()
        self.ledger: Ledger | None = None
        self.store: Store | None = None
        if settings.device not in DEVICES:
            raise UsageError(
                f"there is no device '{settings.device}' here", f"this version runs on: {', '.join(DEVICES)}"
            )
        compiler = find_compiler(settings.compiler)
        preload = (*c_backend.PRELOAD, *cpu.PRELOAD)
        self.sandbox = open_sandbox(settings.sandbox, preload, compiler.trees, compiler.self_exe)
        cache = CodeCache(default_folder() if settings.cache else None)
        self.builder = CBuilder(self.sandbox, compiler, cache, settings.threads, settings.build_timeout_s)
        names, self.missing = available(task)
        names = names if torch else [n for n in names if not n.startswith("torch")]
        self.baselines = Baselines(with_torch=any(n.startswith("torch") for n in names))
        self._bay = Bay(self.sandbox, self.builder, self.baselines, tuple(names), settings, emit)
        self.environment = describe_environment(compiler.identity, self.sandbox.tier, settings.threads)

    @property
    def tier(self) -> str:
        return self.sandbox.tier

    def stage(self, dims: Dims) -> Stage:
        """Set up one shape and record its calibration."""
        stage = Stage(self._bay, self.task, self.locator, dims)
        self.append("calibration", stage.calibration)
        floor = stage.floor
        self.emit(Event("calibration", (
            f"fastest baseline {stage.baseline}; floor {floor.seconds * 1e3:.3f} ms ({floor.bound}); "
            f"copy {stage.ceilings.copy / 1e9:.1f} GB/s; noise {stage.calibration['noise_floor'] * 100:.2f} %"),
            stage.calibration))  # fmt: skip
        return stage

    def begin(
        self,
        folder: Path,
        shapes: Sequence[Dims],
        candidates: Sequence[Candidate],
        purpose: str,
        params: dict[str, Param] | None = None,
    ) -> None:
        """Start a run folder: genesis, the task (its file is copied in), and the candidates."""
        body = {
            "purpose": purpose,
            "params": params or {},
            "settings": self.settings.model_dump(mode="json"),
            "environment": self.environment,
            "task": {"name": self.task.name, "fingerprint": self.task.fingerprint(), "builtin": not self._is_file()},
            "shapes": list(shapes),
            "candidates": [{"name": c.name, "source": sha256_hex(c.text.encode())} for c in candidates],
            "missing_baselines": self.missing,
        }
        self.ledger = Ledger.create(folder, body, load_or_create_key())
        self.store = Store(folder)
        for candidate in candidates:
            self.store.put(candidate.text.encode())
        if self._is_file():
            shutil.copyfile(self.locator, folder / TASK_FILE)
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
            elif entry.kind == "confirmation":
                self.archive.confirmations.append(Confirmation.model_validate(entry.body))
        self.append("resume", {"environment": self.environment, "trials": len(self.archive.trials)})

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
        if built is not None:
            self.store.put(built.code)
            self.store.put(built.log.encode())
            plans = [[d, p.model_dump(mode="json")] for d, p in zip(built.shapes, built.plans, strict=True)]
            self.store.put(canonical_json(plans))

    def close(self) -> None:
        self.sandbox.close()
        self.baselines.close()
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
    if task.fingerprint() != facts["fingerprint"]:
        raise UsageError(f"the task '{task.name}' is not the one this run was made with",
                         "use the version of kernellab (or the task file) that made the run")  # fmt: skip
    return task, locator


def candidates_of(folder: Path) -> list[Candidate]:
    store = Store(folder)
    return [Candidate(store.get(c["source"]).decode(), c["name"]) for c in genesis(folder)["candidates"]]
