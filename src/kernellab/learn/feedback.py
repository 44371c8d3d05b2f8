"""What a trainer is told of a sample: its reward and factors, and as much of the reason as a proposer may read.

Covered: held-out shapes, further shapes and the seeds of inputs stay unsaid, whatever a record holds; paths are left out.
Not covered: that a kernel fails at a further shape, or in the full verdict, is told: one bit each.
"""

from __future__ import annotations

from kernellab.core.records import MeasuredTrial
from kernellab.learn.book import RewardBook
from kernellab.learn.replies import read_reply, reply_text
from kernellab.learn.samples import Scored
from kernellab.ledger.reward_records import RewardRecord
from kernellab.ledger.store import Store
from kernellab.propose.prompts import FormatFailure
from kernellab.propose.prompts.withhold import without_paths
from kernellab.search.reasons import UNSAID, reason_of
from kernellab.tasks.spec import dims_label

_NOT_BUILT = "it did not build"


def told(book: RewardBook, store: Store, given: RewardRecord, backend: str) -> Scored:
    return Scored(
        id=given.sample, task=given.task, shape=dims_label(given.dims), format=given.format, accuracy=given.accuracy,
        speedup=given.speedup, reward=given.reward, why=given.why, feedback=_feedback(book, store, given, backend),
    )  # fmt: skip


def _feedback(book: RewardBook, store: Store, given: RewardRecord, backend: str) -> str:
    if given.fault:
        failure = read_reply(reply_text(store.get(given.reply)), backend)
        return without_paths(failure.what) if isinstance(failure, FormatFailure) else ""
    if given.failed or not given.trials:
        return ""
    trial = book.settled(given.trials[-1])
    if isinstance(trial, MeasuredTrial):
        return ""
    source = store.get(trial.proposal.source).decode(errors="replace")
    return reason_of(trial, source).replace(UNSAID, _NOT_BUILT)
