"""What a run's ledger holds about one trial, read only after the whole ledger has verified; and finding that run.

Covered: a ledger that was changed, cut or re-signed; blobs that were; figures that do not follow from their samples; trials
that were rejected, never confirmed, or whose kernel a sanitizer found fault with.
Not covered: forged samples under a good signature ('klab audit --rerun' measures again, 'klab recheck' too).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from kernellab.certify.certificate import Certificate, Shapes
from kernellab.certify.draft import draft, recorded_shapes, shapes_of
from kernellab.certify.proof import Proof
from kernellab.core.errors import KlabError, LedgerFault, UsageError
from kernellab.core.records import (
    AnyTrial,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Rejected,
    RejectedTrial,
    Timing,
    UntimedTrial,
    dump,
)
from kernellab.evaluate.one_artifact import blobs_of, confirmation_problems, full_problems
from kernellab.evaluate.one_timing import confirmation_timing_problems
from kernellab.ledger import kinds
from kernellab.ledger.check import LedgerCheck, check
from kernellab.ledger.entry import HEADS_FILE, LEDGER_FILE, parse_head
from kernellab.ledger.lines import Lines
from kernellab.ledger.records import Calibration, Genesis
from kernellab.ledger.run import Run, TypedEntry, not_well_formed, well_formed
from kernellab.measurement.winning import too_busy, win_threshold, wins
from kernellab.search.experiment_run import task_of
from kernellab.tasks.spec import in_order

CERTIFICATES = "certificates"
_ONLY = "certify a trial that 'klab show RUN' lists as confirmed; 'klab run' and 'klab bench' confirm their best"


def prove_trial(folder: Path, number: int) -> Proof:
    """The evidence of a trial whose confirmation passed; any other is refused in words."""
    return _sound_proof(Run(folder), check(folder), number)


def _sound_proof(run: Run, ledger: LedgerCheck, number: int) -> Proof:
    if ledger.problems:
        raise LedgerFault(f"{run.folder} does not verify: {ledger.problems[0]}",
                          f"nothing is certified from such a run: see 'klab audit {run.folder}'")  # fmt: skip
    with well_formed(run.folder):
        return _proof(run, ledger, number)


def _proof(run: Run, ledger: LedgerCheck, number: int) -> Proof:
    trial = _timed(run.trial(number))
    entry = _confirmation_of(run, trial)
    confirmation = entry.record
    timing, verdict = _passed(run, trial, confirmation)
    calibration = run.calibration_at(confirmation.task, confirmation.dims, entry.seq)
    if calibration is None:
        raise not_well_formed(run.folder, f"trial {number} was confirmed at a shape that was never calibrated")
    if too_busy(timing, calibration):
        raise UsageError(f"trial {number} was confirmed on a machine too busy to measure on: nothing follows from it",
                         "run it again on a quiet machine")  # fmt: skip
    genesis = run.asked_for(number)
    win_floor = genesis.settings.win_floor
    _check_place(run, trial, genesis)
    _check_figures(run.folder, confirmation, calibration, genesis)
    if problem := next(chain(confirmation_problems(trial, confirmation, genesis.format), full_problems(verdict)), ""):
        raise LedgerFault(f"the confirmation of trial {number} {problem}", f"see 'klab audit {run.folder}'")
    source = run.store.get(trial.proposal.source).decode()
    for artifact in (trial.artifact, *filter(None, [confirmation.artifact])):
        for sha in sorted(blobs_of(artifact)):
            run.store.get(sha)
    threshold = win_threshold(win_floor, calibration.noise_floor)
    return Proof(run.folder, ledger, genesis, run.environment_at(entry.seq), trial, confirmation, verdict, timing,
                 threshold, source)  # fmt: skip


def _timed(trial: AnyTrial) -> MeasuredTrial:
    number = trial.trial
    match trial:
        case MeasuredTrial():
            return trial
        case DuplicateTrial():
            raise UsageError(f"trial {number} is a duplicate of trial {trial.of}", f"name trial {trial.of} instead")
        case RejectedTrial():
            raise UsageError(f"trial {number} was rejected: {trial.verdict.cause}: {trial.verdict.reason}", _ONLY)
        case FailedTrial():
            raise UsageError(f"trial {number} came to nothing ({trial.status}): {trial.reason}", _ONLY)
        case UntimedTrial():
            raise UsageError(f"trial {number} was not timed: {trial.reason}", _ONLY)


def _confirmation_of(run: Run, trial: MeasuredTrial) -> TypedEntry[Confirmation]:
    """The only one: a second would be another try at luck."""
    number = trial.trial
    found = [entry for entry in run.of(kinds.CONFIRMATION) if entry.record.trial == number]
    if not found:
        raise UsageError(f"trial {number} was never confirmed: a trial's own figures are no claim", _ONLY)
    if len(found) > 1:
        raise LedgerFault(f"trial {number} was confirmed {len(found)} times, and one of them would be chosen",
                          f"see 'klab audit {run.folder}'")  # fmt: skip
    return found[-1]


def _passed(run: Run, trial: MeasuredTrial, confirmation: Confirmation) -> tuple[Timing, Passed]:
    """The figures of a confirmation, if it passed and no sanitizer found fault with the kernel."""
    number, verdict = trial.trial, confirmation.verdict
    if isinstance(verdict, Rejected):
        raise UsageError(f"trial {number} was rejected at its confirmation: {verdict.cause}: {verdict.reason}", _ONLY)
    known = {a.id for a in (trial.artifact, confirmation.artifact) if a is not None}
    faults = [r.findings[0] for r in run.records(kinds.SANITIZER) if r.findings and r.artifact in known]
    if faults:
        raise UsageError(f"compute-sanitizer found fault with trial {number}: {faults[-1]}", _ONLY)
    if confirmation.timing is None:
        raise UsageError(f"trial {number} was confirmed without a timing", _ONLY)
    return confirmation.timing, verdict


def _check_place(run: Run, trial: MeasuredTrial, asked: Genesis) -> None:
    """A trial of the task that was asked for, on the machine that the run names."""
    machine = run.environment_at(run.of(kinds.TRIAL)[trial.trial].seq)
    there = machine.sound and machine.made(trial.device, trial.environment, trial.tier)
    if not there or trial.task != asked.task.name:
        raise LedgerFault(f"trial {trial.trial} is of another task or machine than its run names",
                          f"see 'klab audit {run.folder}'")  # fmt: skip


def _check_figures(folder: Path, confirmation: Confirmation, calibration: Calibration, asked: Genesis) -> None:
    """The ledger verifies, so this is about a laboratory that signs what does not follow."""
    told = confirmation_timing_problems(confirmation, calibration, asked.settings, asked.format)
    timing = confirmation.timing
    won = timing is not None and wins(timing, calibration, asked.settings.win_floor)
    unearned = "" if confirmation.win == won else f"it says win={confirmation.win}"
    if problem := next(told, "") or unearned:
        raise LedgerFault(f"the figures of trial {confirmation.trial} do not follow from its samples: {problem}",
                          f"see 'klab audit {folder}'")  # fmt: skip


def prove_certificate(certificate: Certificate, folder: Path) -> Proof:
    """The run's own evidence, if the certificate is of this run and says nothing else than its records and its task."""
    proof = _own_proof(certificate, Run(folder), check(folder))
    _hold(certificate, proof, _as_recorded(certificate, proof))
    return proof


def require_recorded(certificate: Certificate, run: Run, ledger: LedgerCheck) -> None:
    """The same by the run's records alone: no code of the task runs, so its anchor and, in runs of older versions, its range
    are not looked at."""
    with well_formed(run.folder):
        proof = _own_proof(certificate, run, ledger)
        _hold(certificate, proof, _drafted(certificate, proof, certificate.subject.exact, certificate.shapes))


def _own_proof(certificate: Certificate, run: Run, ledger: LedgerCheck) -> Proof:
    evidence = certificate.evidence
    if ledger.run != evidence.run:
        raise UsageError(f"{run.folder} is run {ledger.run}, the certificate is of run {evidence.run}",
                         "name the run that was certified with --run")  # fmt: skip
    if ledger.public_key != certificate.public_key:
        raise LedgerFault("the certificate is signed by another key than its run", "certify the trial again")
    return _sound_proof(run, ledger, evidence.trial)


def _hold(certificate: Certificate, proof: Proof, recorded: Certificate) -> None:
    evidence, folder = certificate.evidence, proof.folder
    if other := _differences(dump(certificate), dump(recorded)):
        more = f", and {len(other) - 3} more" if len(other) > 3 else ""
        raise LedgerFault(f"the certificate says something else than the run's records: {'; '.join(other[:3])}{more}",
                          "certify the trial again")  # fmt: skip
    if (evidence.size, evidence.root) not in _heads(folder):
        raise LedgerFault(
            f"{folder} has no signed head of {evidence.size} entries with root {evidence.root[:16]}: "
            "the ledger was cut or exchanged after the certificate was issued",
            "restore the run from a copy",
        )


def _as_recorded(certificate: Certificate, proof: Proof) -> Certificate:
    """What the run's records and its task make of this certificate: everything but its date, its anchor (recheck computes
    that again), its signature, and which of the ledger's heads it names."""
    try:
        task, _ = task_of(proof.folder, proof.trial.trial)
        task = task.on(proof.genesis.settings.device)
        exact, shapes = task.exact, shapes_of(task, in_order(proof.trial.dims, task))
    except UsageError:
        # The task has another text today, as recheck says: whether it is exact is nobody's word but the certificate's.
        exact, shapes = certificate.subject.exact, certificate.shapes
    return _drafted(certificate, proof, exact, shapes)


def _drafted(certificate: Certificate, proof: Proof, exact: bool, shapes: Shapes) -> Certificate:
    """`shapes`: the range, where the records do not say it shape by shape."""
    shapes = recorded_shapes(proof) or shapes.model_copy(update={"timed": proof.trial.dims})
    drafted = draft(proof, exact, shapes, certificate.anchor, certificate.issued)
    return drafted.model_copy(update={"evidence": certificate.evidence, "signature": certificate.signature})


def _differences(said: Any, recorded: Any, place: str = "") -> list[str]:
    if isinstance(said, dict) and isinstance(recorded, dict):
        keys = sorted(said.keys() | recorded.keys())
        return [d for k in keys for d in _differences(said.get(k), recorded.get(k), f"{place}.{k}".lstrip("."))]
    return [] if said == recorded else [f"{place} is {str(said)[:80]}, recorded {str(recorded)[:80]}"]


def _heads(folder: Path) -> Iterator[tuple[int, str]]:
    for line in Lines(folder / HEADS_FILE):
        head = parse_head(line)
        yield head.size, head.root


def find_run(path: Path, certificate: Certificate, given: Path | None = None) -> Path | None:
    """The folder of the certificate's run: the one given, the one it lies in, or one under klab-runs/."""
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"there is no run folder {given}", "give the folder that 'klab run' named")
        return given
    near = path.resolve().parent
    places = [near, near.parent, *sorted(Path("klab-runs").glob("*"))]
    return next((p for p in places if run_of(p) == certificate.evidence.run), None)


def need_run(path: Path, certificate: Certificate, given: Path | None = None) -> Path:
    folder = find_run(path, certificate, given)
    if folder is None:
        raise UsageError(f"run {certificate.evidence.run} of {path.name} is not here", "name its folder with --run")
    return folder


def run_of(folder: Path) -> str:
    """The id of the run in a folder, '' where there is none."""
    if not (folder / LEDGER_FILE).is_file():
        return ""
    try:
        return Run(folder).first.run
    except KlabError:
        return ""
