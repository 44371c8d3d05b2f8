"""The audit of the files beside the ledger that people would believe: each is what the record says, or is named.

Covered: `best-*` files (the winner's source, byte for byte, and its figures), copies of the task, of the hypothesis and of
PyTorch code, all held against what the ledger names. Not covered: files that the laboratory did not write, which are no
problem; certificates and papers, which have audits of their own; a task's copy in runs that did not record its digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, Confirmation, Dims, MeasuredTrial
from kernellab.ledger import kinds
from kernellab.ledger.records import FIGURES, AnyGenesis, AnyResult, Genesis, Published
from kernellab.ledger.run import Run
from kernellab.ledger.session_records import PURPOSE as SESSION
from kernellab.ledger.session_records import SESSION_PART
from kernellab.search.result import BEST, best_facts, best_name, plain
from kernellab.studies.conduct import HYPOTHESIS_FILE
from kernellab.studies.library import read
from kernellab.studies.registration import STUDY, Registration
from kernellab.tasks.load import RECORD_FILE, TASK_FILE, load_task
from kernellab.tasks.spec import dims_label

_SUFFIXES = (".py", ".json")


@dataclass
class FilesAudit:
    """`problems`: files that are not what the record says. `remarks`: what could not be told, or is only missing."""

    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Winner:
    """A confirmed winner. `said`: its shape's result, or its confirmation's figures where a result was not recorded yet."""

    trial: MeasuredTrial
    said: Mapping[str, Any]
    published: bool

    def differs(self, path: Path) -> str:
        """How a file is not this winner's, in words; empty where it is."""
        data = path.read_bytes()
        if path.suffix == ".py":
            same = sha256_hex(data) == self.trial.proposal.source
            return "" if same else f"its bytes are not the source of trial {self.trial.trial}, the confirmed winner"
        wanted = json.loads(json.dumps(best_facts(self.trial, self.said)))
        try:
            said = json.loads(data, object_pairs_hook=_once)
        except _Twice as twice:
            return f"it says {twice} twice"
        except (ValueError, RecursionError):
            return "it is not JSON"
        if not isinstance(said, dict):
            return "it is not an object"
        names = [*wanted, *said] if self.published else wanted
        off = next((name for name in names if _spelled(said, name) != _spelled(wanted, name)), "")
        return f"{off} is {said.get(off)!r}, the record says {wanted.get(off)!r}" if off else ""


class _Twice(Exception):
    """A name that an object has twice: a program reads the last, a person the first."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _spelled(facts: Mapping[str, Any], name: str) -> str:
    """As it stands in the file: null is not the same as nothing, nor 1 as true."""
    return json.dumps(facts[name], sort_keys=True) if name in facts else ""


_Winners = dict[frozenset[str], list[_Winner]]  # by shape, the last one last


def audit_files(folder: Path) -> FilesAudit:
    """Read after the entries themselves were checked: what is not well-formed there is told there."""
    report = FilesAudit()
    run = Run(folder)
    winners: _Winners = {}
    for claim in (entry.record for entry in run.in_order(kinds.CONFIRMATION, kinds.RESULT)):
        if isinstance(claim, Confirmation):
            _confirmed(claim, run.trials, winners)
        else:
            _published(claim, run.trials, winners)
    for registered in run.records(STUDY):
        _hypothesis(folder, registered, report)
    _copies(folder, run.start, report)
    for part in run.records(SESSION_PART):
        _copy(folder, part.file, part.sha256, report)
    for path in sorted(p for p in folder.glob(f"{BEST}*") if p.suffix.lower() in _SUFFIXES):
        _best(path, winners, report)
    for won in winners.values():
        if won[-1].published and run.purpose != SESSION:  # a session leaves no winner beside its ledger
            _missing(folder, won[-1], report)
    return report


def _confirmed(confirmation: Confirmation, trials: list[AnyTrial], winners: _Winners) -> None:
    trial = trials[confirmation.trial]
    if confirmation.win and confirmation.timing is not None and isinstance(trial, MeasuredTrial):
        said = {"trial": trial.trial, **{name: getattr(confirmation.timing, name) for name in FIGURES}}
        winners.setdefault(_parts(best_name(trial.dims)), []).append(_Winner(trial, said, published=False))


def _published(result: AnyResult, trials: list[AnyTrial], winners: _Winners) -> None:
    """A result names the winner; one that names none overrules the confirmations before it."""
    shape = _parts(best_name(result.dims))
    if not isinstance(result, Published) or not result.win:
        winners.pop(shape, None)
    elif isinstance(trial := trials[result.trial], MeasuredTrial):
        winners.setdefault(shape, []).append(_Winner(trial, plain(result), published=True))


def _parts(name: str) -> frozenset[str]:
    """A shape by its file's name, in whatever order its dimensions stand: records sort them, a task does not."""
    return frozenset(name.removeprefix(BEST).split("-"))


def _best(path: Path, winners: _Winners, report: FilesAudit) -> None:
    found = winners.get(_parts(path.stem))
    if not found:
        report.problems.append(f"{path.name} is foreign: no confirmed winner is recorded for that shape")
        return
    if not path.is_file() or path.suffix not in _SUFFIXES:
        report.problems.append(f"{path.name} is foreign: the laboratory writes plain files that end in .py and .json")
        return
    why = found[-1].differs(path)
    if not why:
        return
    earlier = next((w for w in found[:-1] if w.published and not w.differs(path)), None)
    if earlier is None:
        report.problems.append(f"{path.name} was edited: {why}")
    else:
        text = f"{path.name} is of trial {earlier.trial.trial}, an earlier result; the last is trial {found[-1].trial.trial}"
        report.remarks.append(text)


def _missing(folder: Path, winner: _Winner, report: FilesAudit) -> None:
    wanted = _parts(best_name(winner.trial.dims))
    for suffix in _SUFFIXES:
        if not any(_parts(path.stem) == wanted for path in folder.glob(f"{BEST}*{suffix}")):
            where = _shape(winner.trial.dims)
            report.remarks.append(f"the {BEST}*{suffix} of {where} is missing: trial {winner.trial.trial} won there")


def _shape(dims: Dims) -> str:
    return dims_label(dict(sorted(dims.items())))


def _copies(folder: Path, start: AnyGenesis, report: FilesAudit) -> None:
    """Files that were copied in when the run began, by the SHA-256 that its first entry names."""
    recorded = start.files if isinstance(start, Genesis) else None
    for name, sha in (recorded or {}).items():
        _copy(folder, name, sha, report)
    if isinstance(start, Genesis) and RECORD_FILE in (start.files or {}) and (folder / RECORD_FILE).is_file():
        _module(folder / RECORD_FILE, start, report)
    if recorded is None and (folder / TASK_FILE).is_file():
        report.remarks.append(f"{TASK_FILE} was not compared: this run did not record its digest")


def _copy(folder: Path, name: str, sha: str, report: FilesAudit) -> None:
    path = folder / Path(name).name
    if not name:
        return
    if not path.is_file():
        report.remarks.append(f"{name} is missing: the run began with one")
    elif sha256_hex(path.read_bytes()) != sha:
        report.problems.append(f"{name} was edited: its bytes are not those that the run began with")


def _module(path: Path, start: Genesis, report: FilesAudit) -> None:
    """A module's record makes its task again, without the user's file: it must be the task that the run names."""
    try:
        task = load_task(str(path)).on(start.settings.device)
    except UsageError as fault:
        report.problems.append(fault.what)
        return
    if task.fingerprint() != start.task.fingerprint:
        report.problems.append(f"{path.name} is another task than the one that the run names")


def _hypothesis(folder: Path, registered: Registration, report: FilesAudit) -> None:
    """What it means, not its bytes: comments are the reader's own."""
    path = folder / HYPOTHESIS_FILE
    try:
        same = not path.is_file() or read(path).digest == registered.digest
    except UsageError:
        same = False
    if not same:
        report.problems.append(f"{path.name} was edited: it is not the hypothesis that was registered")
