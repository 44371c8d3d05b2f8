"""One task of a suite: an ordinary run in a folder of its own, gone on with where it was begun before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import KlabError, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.settings import Settings
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.run import Run
from kernellab.search.outcome import Outcome
from kernellab.search.runs import known_candidates, measure_baselines, resume_run, run_search
from kernellab.tasks.load import RECORD_FILE

SET_ASIDE = "set-aside"
"""Beside the runs: what was cut off before there was a run that can be gone on with."""


@dataclass(frozen=True)
class TaskRun:
    """What came of it, and its ledger as it was when it ended: whoever changes it later is noticed."""

    outcome: str
    reason: str
    run: str
    size: int
    root: str

    def data(self) -> dict[str, Any]:
        return asdict(self)


def run_task(
    record: str, settings: Settings, folder: Path, candidates: Sequence[Candidate], emit: Listener = silent
) -> TaskRun:
    """`record`: the module's record, from which its task is made."""
    outcome = _resumed(record, folder, emit) or _started(record, settings, folder, candidates, emit)
    sound = check(folder)
    tried = bool(Run(folder).start.candidates)
    head = outcome.results[0].reason if outcome.results else ""
    return TaskRun(outcome.status if tried else "no-candidates", head, sound.run, sound.size, sound.root)


def _started(record: str, settings: Settings, folder: Path, candidates: Sequence[Candidate], emit: Listener) -> Outcome:
    _, _, known = known_candidates(record, settings, candidates)
    if not known:
        return measure_baselines(record, settings, folder, emit)
    return run_search(record, settings, folder, extra=candidates, emit=emit, proved=True)


def made_from(run: Run) -> str:
    """The SHA-256 of the module's record that a run was begun with."""
    return (run.genesis.files or {}).get(RECORD_FILE, "")


def _resumed(record: str, folder: Path, emit: Listener) -> Outcome | None:
    """None where nothing was begun, or nothing that can be gone on with: that is set aside, not thrown away."""
    if not (folder / LEDGER_FILE).exists():
        return None
    try:
        if made_from(Run(folder)) != sha256_hex(Path(record).read_bytes()):
            raise UsageError(f"{folder} holds the run of another task", "it was put there: move it away")
        return resume_run(folder, emit)
    except KlabError:
        if Run(folder).count(kinds.TRIAL):
            raise
    aside = folder.parent.parent / SET_ASIDE
    aside.mkdir(exist_ok=True)
    place = next(p for n in range(1, 10_000) if not (p := aside / f"{folder.name}-{n}").exists())
    os.rename(folder, place)
    emit(Event("note", f"{folder.name} was cut off before it could be resumed; it was set aside as {place.name}"))
    return None
