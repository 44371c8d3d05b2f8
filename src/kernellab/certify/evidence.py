"""What a run's ledger holds about one trial, read only after the whole ledger has verified; and finding that run.

Covered: a ledger that was changed, cut or re-signed; blobs that were; figures that do not follow from their samples; trials
that were rejected, never confirmed, or whose kernel a sanitizer found fault with.
Not covered: forged samples under a good signature ('klab audit --rerun' measures again, 'klab recheck' too).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernellab.certify.certificate import Certificate
from kernellab.certify.draft import draft, shapes_of
from kernellab.certify.proof import Proof
from kernellab.core.errors import KlabError, LedgerFault, UsageError
from kernellab.core.records import (
    TRIAL,
    BusyTrial,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Rejected,
    RejectedTrial,
    dump,
)
from kernellab.ledger.check import check
from kernellab.ledger.entry import HEADS_FILE, LEDGER_FILE, parse_head
from kernellab.ledger.journal import read_entries
from kernellab.ledger.lines import Lines
from kernellab.ledger.store import Store
from kernellab.measure.stats import replicated_speedup
from kernellab.search.archive import AnyTrial
from kernellab.search.lab import task_of
from kernellab.search.one_artifact import blobs_of, confirmation_problems, format_of
from kernellab.search.stage import too_busy, win_threshold
from kernellab.tasks.spec import in_order

CERTIFICATES = "certificates"
_ONLY = "certify a trial that 'klab show RUN' lists as confirmed; 'klab run' and 'klab bench' confirm their best"


@dataclass
class _Found:
    """What one walk over the entries collects for one trial."""

    genesis: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    trials: list[AnyTrial] = field(default_factory=list)
    confirmation: Confirmation | None = None
    confirmed_in: dict[str, Any] = field(default_factory=dict)
    calibrations: dict[str, dict[str, Any]] = field(default_factory=dict)
    calibration: dict[str, Any] = field(default_factory=dict)
    unclean: dict[str, str] = field(default_factory=dict)


def prove_trial(folder: Path, number: int) -> Proof:
    """The evidence of a trial whose confirmation passed; any other is refused in words."""
    ledger = check(folder)
    if ledger.problems:
        raise LedgerFault(f"{folder} does not verify: {ledger.problems[0]}",
                          f"nothing is certified from such a run: see 'klab audit {folder}'")  # fmt: skip
    try:
        found = _walk(folder, number)
    except (ValidationError, KeyError, TypeError, IndexError) as err:
        raise LedgerFault(f"{folder} holds a record that is not well-formed: {str(err).splitlines()[0]}",
                          f"see 'klab audit {folder}'") from None  # fmt: skip
    trial = _confirmed(found, folder, number)
    confirmation = found.confirmation
    assert confirmation is not None
    assert isinstance(confirmation.verdict, Passed)
    assert confirmation.timing is not None
    if too_busy(confirmation.timing, found.calibration):
        raise UsageError(f"trial {number} was confirmed on a machine too busy to measure on: nothing follows from it",
                         "run it again on a quiet machine")  # fmt: skip
    threshold = win_threshold(found.genesis["settings"]["win_floor"], found.calibration["noise_floor"])
    _check_figures(confirmation, threshold, number)
    if problem := next(confirmation_problems(trial, confirmation, format_of(found.genesis)), ""):
        raise LedgerFault(f"the confirmation of trial {number} {problem}", f"see 'klab audit {folder}'")
    store = Store(folder)
    source = store.get(trial.proposal.source).decode()
    for artifact in (trial.artifact, *filter(None, [confirmation.artifact])):
        for sha in sorted(blobs_of(artifact)):
            store.get(sha)
    return Proof(folder, ledger, found.genesis, found.confirmed_in, trial, confirmation, confirmation.verdict,
                 confirmation.timing, threshold, source)  # fmt: skip


def _walk(folder: Path, number: int) -> _Found:
    found = _Found()
    for entry in read_entries(folder):
        body = dict(entry.body)
        if entry.kind == "run":
            found.genesis = body
            found.environment = body["environment"]
        elif entry.kind == "resume":
            found.environment = body["environment"]
        elif entry.kind == "trial":
            found.trials.append(TRIAL.validate_python(body))
        elif entry.kind == "calibration":
            found.calibrations[str(sorted(body["dims"].items()))] = body
        elif entry.kind == "confirmation" and body["trial"] == number:
            found.confirmation = Confirmation.model_validate(body)
            found.confirmed_in = found.environment
            found.calibration = found.calibrations[str(sorted(body["dims"].items()))]
        elif entry.kind == "sanitizer" and body.get("findings"):
            found.unclean[body["artifact"]] = str(body["findings"][0])
    return found


def _confirmed(found: _Found, folder: Path, number: int) -> MeasuredTrial:
    """The trial, if its confirmation passed."""
    if not 0 <= number < len(found.trials):
        has = f"it has trials 0 to {len(found.trials) - 1}" if found.trials else "it has none"
        raise UsageError(f"run {folder} has no trial {number}", has)
    trial, confirmation = found.trials[number], found.confirmation
    if isinstance(trial, DuplicateTrial):
        raise UsageError(f"trial {number} is a duplicate of trial {trial.of}", f"name trial {trial.of} instead")
    if isinstance(trial, RejectedTrial):
        raise UsageError(f"trial {number} was rejected: {trial.verdict.cause}: {trial.verdict.reason}", _ONLY)
    if isinstance(trial, FailedTrial):
        raise UsageError(f"trial {number} came to nothing ({trial.status}): {trial.reason}", _ONLY)
    if isinstance(trial, BusyTrial):
        raise UsageError(f"the machine was too busy to time trial {number}: {trial.reason}", _ONLY)
    if confirmation is None:
        raise UsageError(f"trial {number} was never confirmed: a trial's own figures are no claim", _ONLY)
    if isinstance(confirmation.verdict, Rejected):
        verdict = confirmation.verdict
        raise UsageError(f"trial {number} was rejected at its confirmation: {verdict.cause}: {verdict.reason}", _ONLY)
    known = {a.id for a in (trial.artifact, confirmation.artifact) if a is not None}
    if unclean := sorted(known & found.unclean.keys()):
        raise UsageError(f"compute-sanitizer found fault with trial {number}: {found.unclean[unclean[0]]}", _ONLY)
    if confirmation.timing is None:
        raise UsageError(f"trial {number} was confirmed without a timing", _ONLY)
    return trial


def _check_figures(confirmation: Confirmation, threshold: float, number: int) -> None:
    """The ledger verifies, so this is about a laboratory that signs what does not follow."""
    timing = confirmation.timing
    assert timing is not None
    again = replicated_speedup(timing.candidate_s, timing.baseline_s, timing.processes)
    said = (timing.speedup, timing.speedup_low, timing.speedup_high, confirmation.win)
    if said != (again.value, again.low, again.high, again.low > threshold):
        raise LedgerFault(f"the figures of trial {number} do not follow from its samples", "see 'klab audit RUN'")


def prove_certificate(certificate: Certificate, folder: Path) -> Proof:
    """The run's own evidence, if the certificate is of this run and says nothing else than its records."""
    ledger = check(folder)
    evidence = certificate.evidence
    if ledger.run != evidence.run:
        raise UsageError(f"{folder} is run {ledger.run}, the certificate is of run {evidence.run}",
                         "name the run that was certified with --run")  # fmt: skip
    proof = prove_trial(folder, evidence.trial)
    if proof.ledger.public_key != certificate.public_key:
        raise LedgerFault("the certificate is signed by another key than its run", "certify the trial again")
    if other := _differences(dump(certificate), dump(_as_recorded(certificate, proof))):
        more = f", and {len(other) - 3} more" if len(other) > 3 else ""
        raise LedgerFault(f"the certificate says something else than the run's records: {'; '.join(other[:3])}{more}",
                          "certify the trial again")  # fmt: skip
    if (evidence.size, evidence.root) not in _heads(folder):
        raise LedgerFault(
            f"{folder} has no signed head of {evidence.size} entries with root {evidence.root[:16]}: "
            "the ledger was cut or exchanged after the certificate was issued",
            "restore the run from a copy",
        )
    return proof


def _as_recorded(certificate: Certificate, proof: Proof) -> Certificate:
    """What the run's records make of this certificate: everything but its date, its anchor (recheck computes that again),
    its signature, and which of the ledger's heads it names."""
    try:
        task, _ = task_of(proof.folder)
        task = task.on(proof.genesis["settings"]["device"])
        exact, shapes = task.exact, shapes_of(task, in_order(proof.trial.dims, task))
    except UsageError:
        # The task has another text today, as recheck says: its range is nobody's word but the certificate's.
        exact, shapes = certificate.subject.exact, certificate.shapes.model_copy(update={"timed": proof.trial.dims})
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
        return next((entry.run for entry in read_entries(folder)), "")
    except KlabError:
        return ""
