"""What a proof says of a trial: its own entry, and the confirmation that a claim rests on, where there is one.

Covered: figures that do not follow from the samples beside them; a confirmation of other machine code, or of other pairs
than its effort has. Not covered: what follows from a calibration, which a proof does not hold: whether a speed-up is a win.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeGuard, TypeVar

from pydantic import ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial, Confirmation, MeasuredTrial, Passed, Timing, UntimedTrial
from kernellab.evaluate.one_artifact import confirmation_problems, full_problems
from kernellab.evaluate.one_timing import figure_problems, no_times, sampled_figures, whole_problems
from kernellab.ledger import kinds
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.proof import InclusionProof, make_proof
from kernellab.ledger.run import Run
from kernellab.ledger.session_records import PURPOSE as SESSION

T = TypeVar("T")


@dataclass(frozen=True)
class ProvenTrial:
    trial: AnyTrial
    confirmation: Confirmation | None


def prove_trial(folder: Path, number: int) -> InclusionProof:
    """Of a trial and of its confirmations, if it has any."""
    run = Run(folder)
    run.trial(number)
    claims = run.in_order(kinds.TRIAL, kinds.CONFIRMATION)
    return make_proof(folder, [entry.seq for entry in claims if entry.record.trial == number])


def trial_of(proof: InclusionProof) -> ProvenTrial:
    """What it is about; UsageError where that is not one trial and its confirmations."""
    trials = _records(proof, kinds.TRIAL)
    confirmations = _records(proof, kinds.CONFIRMATION)
    if len(trials) != 1 or len(trials) + len(confirmations) != len(proof.entries) - 1:
        raise UsageError("it is no proof of one trial", "give a file that 'klab prove RUN TRIAL' wrote")
    if any(confirmation.trial != trials[0].trial for confirmation in confirmations):
        raise UsageError("its confirmation is of another trial", "make the proof again with 'klab prove RUN TRIAL'")
    return ProvenTrial(trials[0], confirmations[-1] if confirmations else None)


def claim_problems(proof: InclusionProof, found: ProvenTrial) -> Iterator[str]:
    """What the proven entries say that does not follow from themselves."""
    trial, confirmation = found.trial, found.confirmation
    if isinstance(trial, MeasuredTrial):
        yield from (f"trial {trial.trial}: {problem}" for problem in _timing(trial.timing))
    if confirmation is None:
        return
    start = kinds.GENESIS.read(proof.entries[0].entry().body)
    told = [confirmation_problems(trial, confirmation, start.format)] if _built(trial) else []
    if isinstance(confirmation.verdict, Passed):
        told.append(full_problems(confirmation.verdict))
    if confirmation.timing is not None:
        told.append(_timing(confirmation.timing))
        if start.purpose != SESSION:  # which may have gone on with another effort
            told.append(whole_problems(confirmation.timing, start.settings, start.format))
    yield from (f"the confirmation of trial {trial.trial} {problem}" for problem in chain(*told))


def _built(trial: AnyTrial) -> TypeGuard[MeasuredTrial | UntimedTrial]:
    return isinstance(trial, (MeasuredTrial, UntimedTrial))


def _timing(timing: Timing) -> Iterator[str]:
    if no_times(timing):
        yield "holds samples that are no times"
    else:
        yield from figure_problems(timing, sampled_figures(timing))


def _records(proof: InclusionProof, kind: EntryKind[T]) -> list[T]:
    try:
        entries = [proven.entry() for proven in proof.entries]
        return [kind.read(entry.body) for entry in entries if entry.kind == kind.name]
    except (ValidationError, ValueError) as err:
        text = str(err).splitlines()[0]
        raise UsageError(f"an entry of the proof is not well-formed: {text}", "make the proof again") from None
