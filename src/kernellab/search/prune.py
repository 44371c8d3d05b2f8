"""Making a run small enough to publish: the machine code of trials that nothing is claimed about is let go, on the record.

Every source stays, and so does all evidence of confirmed trials. What was removed is named in a signed entry, so that the
audit can tell it from what was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernellab.core.records import TRIAL, Artifact, FailedTrial
from kernellab.ledger.check import require_sound
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.store import Store
from kernellab.propose.models.journal import CALL, INTENT
from kernellab.search.archive import well_formed
from kernellab.search.one_artifact import blobs_of


@dataclass(frozen=True)
class Pruned:
    removed: int
    freed_bytes: int
    ledger_root: str


def prune(folder: Path) -> Pruned:
    """Only the laboratory that made a run can prune it: the entry is signed with its key."""
    require_sound(folder)
    with well_formed(folder):
        unclaimed = _unclaimed(folder)
    store = Store(folder)
    gone = sorted(sha for sha in unclaimed if store.path(sha).exists())
    freed = sum(store.path(sha).stat().st_size for sha in gone)
    ledger = Ledger.resume(folder, load_or_create_key())
    try:
        if gone:
            ledger.append("pruned", {"blobs": gone})
        for sha in gone:
            store.path(sha).unlink()
        return Pruned(len(gone), freed, ledger.root)
    finally:
        ledger.close()


def _unclaimed(folder: Path) -> set[str]:
    """The evidence of trials that were never confirmed, but for what something else needs."""
    blobs: set[str] = set()
    kept: set[str] = set()
    trials = []
    for entry in read_entries(folder):
        if entry.kind == "trial":
            trial = TRIAL.validate_python(entry.body)
            trials.append(trial)
            kept.add(trial.proposal.source)
            if not isinstance(trial, FailedTrial):
                blobs |= blobs_of(trial.artifact).keys()
        elif entry.kind == "confirmation":
            confirmed = trials[int(entry.body["trial"])]
            if not isinstance(confirmed, FailedTrial):
                kept |= blobs_of(confirmed.artifact).keys()
            if entry.body.get("artifact"):
                kept |= blobs_of(Artifact.model_validate(entry.body["artifact"])).keys()
        elif entry.kind == "listing":
            kept.add(str(entry.body["text"]))
        elif entry.kind in (INTENT, CALL):  # questions and replies are the evidence of what a model said
            kept |= {str(entry.body[k]) for k in ("request", "reply") if k in entry.body}
        elif entry.kind == "run":
            kept |= {str(c["source"]) for c in entry.body["candidates"]}
    return blobs - kept
