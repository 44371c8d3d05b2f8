"""Every kind of entry that a ledger may hold, by its name: the one table that an auditor needs."""

from __future__ import annotations

from typing import Any

from kernellab.ledger.kinds import LABORATORY, EntryKind
from kernellab.ledger.reward_records import REWARD_KINDS
from kernellab.ledger.session_records import SESSION_KINDS
from kernellab.ledger.suite_records import SUITE_KINDS
from kernellab.propose.models.journal import CALL, INTENT
from kernellab.search.scientist.notebook import KIND_OF
from kernellab.search.soft.look import SOFT
from kernellab.search.soft.tuning import NOTES
from kernellab.studies.evidence import BORROWED, EXAMINATION
from kernellab.studies.judgement import VERDICT
from kernellab.studies.registration import STUDY

ENTRY_KINDS: dict[str, EntryKind[Any]] = {
    kind.name: kind
    for kind in (
        *LABORATORY,
        INTENT,
        CALL,
        *KIND_OF.values(),
        SOFT,
        *NOTES.values(),
        STUDY,
        EXAMINATION,
        BORROWED,
        VERDICT,
        *SUITE_KINDS,
        *REWARD_KINDS,
        *SESSION_KINDS,
    )
}
