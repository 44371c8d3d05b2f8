"""One ledger for all calls that come one after another: an agent's session, a plan, or a single call from Python.

It begins with the first kernel that is judged or timed. Whoever reads it meanwhile finds it signed up to its last entry;
closing it adds the end. Whoever uses it holds the workspace's `lab`.
"""

from __future__ import annotations

import atexit
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kernellab.core.errors import LedgerFault
from kernellab.core.events import Event, Listener
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, Dims
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger import kinds
from kernellab.ledger.disk import keep_file
from kernellab.ledger.records import End, Environment, RunSettings, TaskFacts
from kernellab.ledger.run import Run
from kernellab.ledger.session_records import PURPOSE, SESSION_CALL, SESSION_PART, SessionCall, SessionPart
from kernellab.search.archive import Archive
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.outcome import default_folder
from kernellab.tasks.load import is_task_file
from kernellab.tasks.spec import Task
from kernellab.verdict.controls import examine


@dataclass
class _OneByOne(Archive):
    """Every call measures anew, whatever came before: only its own trial may be confirmed."""

    first: int = 0

    def of(self, task: str, dims: Dims) -> list[AnyTrial]:
        return [t for t in super().of(task, dims) if t.trial >= self.first]


@dataclass
class Session:
    """`place`: the folder that its run folder is made in."""

    place: Path
    _run: ExperimentRun | None = None
    _terms: str = ""
    _proved: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """None until something was judged."""
        return self._run.folder if self._run is not None else None

    @property
    def root(self) -> str:
        return self._run.ledger.root if self._run is not None else ""

    def prove(self, task: Task, emit: Listener) -> None:
        """TaskRefused where wrong kernels would pass; once for each task."""
        known = self._proved.get(task.fingerprint())
        remarks = examine(task).remarks if known is None else known
        self._proved[task.fingerprint()] = remarks
        for remark in remarks:
            emit(Event("note", f"remark: {remark}"))

    def go_on(self, opened: OpenTask, dims: Dims) -> ExperimentRun:
        """The run that the next trial of this open task is written to."""
        terms = f"{opened.task.fingerprint()} {opened.settings.model_dump_json()} {opened.environment['digest']}"
        if self._run is None:
            folder, remarks = default_folder(PURPOSE, self.place), self._proved.get(opened.task.fingerprint(), ())
            self._run = ExperimentRun.start(opened, folder, [dims], [], PURPOSE, archive=_OneByOne(), remarks=remarks)
            atexit.register(self.close)
            run = self._run
        else:
            if terms != self._terms:
                self._run.append(SESSION_PART, self._part(opened))
            run = self._run.beside(opened)
        self._terms = terms
        assert isinstance(run.archive, _OneByOne)
        run.archive.first = len(run.archive.trials)
        return run

    def note(self, tool: Literal["verify", "benchmark"], trial: AnyTrial, kernel: str, artifact: str) -> None:
        """Which call made this trial."""
        assert self._run is not None
        self._run.append(SESSION_CALL, SessionCall(tool=tool, trial=trial.trial, kernel=kernel, artifact=artifact))

    def _part(self, opened: OpenTask) -> SessionPart:
        assert self._run is not None
        task, own_file = opened.task, is_task_file(opened.locator)
        remarks = list(self._proved.get(task.fingerprint(), ()))
        facts = TaskFacts(name=task.name, fingerprint=task.fingerprint(), builtin=not own_file, remarks=remarks)
        name = sha = ""
        if own_file:
            data = Path(opened.locator).read_bytes()
            sha = sha256_hex(data)
            name = f"task-{sha[:12]}{Path(opened.locator).suffix}"
            keep_file(self._run.folder, name, data)
        return SessionPart(
            task=facts, settings=RunSettings.model_validate(opened.settings.model_dump()),
            environment=Environment.model_validate(opened.environment), file=name, sha256=sha,
        )  # fmt: skip

    def close(self) -> None:
        """Ends its ledger; the next call begins another."""
        run, self._run, self._terms = self._run, None, ""
        atexit.unregister(self.close)
        if run is not None:
            with suppress(OSError, LedgerFault):  # what was recorded is signed already
                run.append(kinds.END, End(results=Run(run.folder).results))
                run.close()
