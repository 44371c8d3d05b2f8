"""Making a run small enough to publish: the machine code of trials that nothing is claimed about is let go, on the record.

Every source stays, and so does all evidence of confirmed trials. What was removed is named in a signed entry, so that the
audit can tell it from what was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernellab.core.records import FailedTrial
from kernellab.evaluate.one_artifact import blobs_of
from kernellab.ledger import kinds
from kernellab.ledger.check import require_sound
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.records import Pruned as PrunedEntry
from kernellab.ledger.run import Run, well_formed
from kernellab.ledger.store import Store
from kernellab.propose.models.journal import CALL, INTENT, Answered


@dataclass(frozen=True)
class Pruned:
    removed: int
    freed_bytes: int
    ledger_root: str


def prune(folder: Path) -> Pruned:
    """Only the laboratory that made a run can prune it: the entry is signed with its key."""
    require_sound(folder)
    with well_formed(folder):
        unclaimed = _unclaimed(Run(folder))
    store = Store(folder)
    gone = sorted(sha for sha in unclaimed if store.path(sha).exists())
    freed = sum(store.path(sha).stat().st_size for sha in gone)
    ledger = Ledger.resume(folder, load_or_create_key())
    try:
        if gone:
            ledger.write(kinds.PRUNED, PrunedEntry(blobs=gone))
        for sha in gone:
            store.path(sha).unlink()
        return Pruned(len(gone), freed, ledger.root)
    finally:
        ledger.close()


def _unclaimed(run: Run) -> set[str]:
    """The evidence of trials that were never confirmed, but for what something else needs."""
    trials = run.trials
    built = [t for t in trials if not isinstance(t, FailedTrial)]
    confirmed = [t for c in run.confirmations if not isinstance(t := trials[c.trial], FailedTrial)]
    artifacts = [t.artifact for t in confirmed] + [c.artifact for c in run.confirmations if c.artifact is not None]
    kept = {t.proposal.source for t in trials} | {c.source for c in run.start.candidates}
    kept |= {sha for artifact in artifacts for sha in blobs_of(artifact)}
    kept |= {listing.text for listing in run.records(kinds.LISTING)}
    # Questions and replies are the evidence of what a model said.
    calls = run.records(CALL)
    kept |= {asked.request for asked in (*run.records(INTENT), *calls)}
    kept |= {call.reply for call in calls if isinstance(call, Answered)}
    return {sha for t in built for sha in blobs_of(t.artifact)} - kept
