"""What a proof says of a trial: its own entry, and the confirmation that a claim rests on, where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial, Confirmation
from kernellab.ledger import kinds
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.proof import InclusionProof, make_proof
from kernellab.ledger.run import Run

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


def _records(proof: InclusionProof, kind: EntryKind[T]) -> list[T]:
    try:
        entries = [proven.entry() for proven in proof.entries]
        return [kind.read(entry.body) for entry in entries if entry.kind == kind.name]
    except (ValidationError, ValueError) as err:
        text = str(err).splitlines()[0]
        raise UsageError(f"an entry of the proof is not well-formed: {text}", "make the proof again") from None
