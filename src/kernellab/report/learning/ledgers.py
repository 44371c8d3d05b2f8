"""Ledgers of rewards that passed their audit, and what their samples come to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.learn.book import book_of, last_words
from kernellab.learn.lm.rewarded import AuditedLedger
from kernellab.ledger.reward_records import PURPOSE, RewardRecord
from kernellab.ledger.run import Run, well_formed
from kernellab.report.audit import audit

_POINTS = 8


def audited(folder: Path) -> AuditedLedger:
    """Raises LedgerFault for what does not pass, or holds no rewards."""
    found = audit(folder)
    fix = f"see what is wrong: klab audit {folder}"
    if found.problems:
        raise LedgerFault(f"{folder} does not pass the audit: {found.problems[0]}", fix)
    if Run(folder).purpose != PURPOSE:
        raise LedgerFault(f"{folder} holds a run of another kind, no rewards", "give a ledger of rewards")
    return AuditedLedger(folder, found.run, found.root, found.entries)


@dataclass(frozen=True)
class Share:
    """Of some samples: what was right, masked, and paid on average. `reward`: None where all were masked."""

    samples: int
    right: float
    masked: float
    reward: float | None

    @classmethod
    def of(cls, given: Sequence[RewardRecord]) -> Share:
        known = [record.reward for record in given if record.reward is not None]
        right = statistics.fmean(record.accuracy == 1 for record in given)
        return cls(len(given), right, 1 - len(known) / len(given), statistics.fmean(known) if known else None)


@dataclass(frozen=True)
class Judged:
    """The samples of a training. `curve`: cut into parts, in the order in which they were judged."""

    run: str
    root: str
    whole: Share
    curve: tuple[Share, ...]


def judged_in(ledger: AuditedLedger) -> Judged | None:
    """None where there are none, those of exams apart."""
    with well_formed(ledger.folder):
        run = ledger.opened()
        given = [record for record in last_words(run, book_of(run)) if not record.in_exam]
    if not given:
        return None
    size = -(-len(given) // _POINTS)
    parts = [given[first : first + size] for first in range(0, len(given), size)]
    return Judged(ledger.run, ledger.root, Share.of(given), tuple(map(Share.of, parts)))
