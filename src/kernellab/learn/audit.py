"""The audit of rewards: each is derived again, from its reply, its trials and every look at its kernel before it.

Covered: a reward, factor or reason that was changed; a sample rewarded twice; a trial of another reply, task or shape; a
second try that the first gave no reason for; a batch that its own pair does not mask, or that counts trials from before it;
a second plan or exam; an exam that is named after its first sample, or has more of them than it asked for; rewards without
the look at a further shape, or best ones without a full verdict. Not covered: which kernels were drawn for a full verdict by
chance; samples of an exam that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kernellab.core.errors import LedgerFault
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, FailedTrial, Passed
from kernellab.evaluate.one_artifact import blobs_of, same_parts
from kernellab.learn.book import RewardBook
from kernellab.learn.replies import read_reply, reply_text
from kernellab.ledger.records import Resume
from kernellab.ledger.reward_records import RewardBatch, RewardCheck, RewardExam, RewardPlan, RewardRecord
from kernellab.ledger.run import place_of
from kernellab.ledger.store import Store
from kernellab.propose.prompts import FormatFailure

_FIGURES = ("format", "accuracy", "speedup", "reward")
Blob = Callable[[str, str], None]
"""Has a stored blob looked at: its SHA-256, and what it is."""


class RewardAudit:
    """`trials`: the auditor's own list, which grows as it reads. `figures`: how many were derived again."""

    def __init__(self, store: Store, trials: list[AnyTrial], blob: Blob) -> None:
        self._store, self._blob = store, blob
        self._book = RewardBook(trials)
        self._backend: str | None = None
        self._settled = 0
        """Trials that no later batch can look after: of batches before it, and of those that were cut off."""
        self.figures = 0

    def problems(self, record: object) -> Iterator[str]:
        """What is wrong with a record, given those before it."""
        match record:
            case RewardPlan():
                if self._backend is not None:
                    yield "is a second plan: one ledger has one kind of reward"
                self._backend = record.backend
            case Resume():
                self._settled = len(self._book.trials)
            case RewardBatch():
                self.figures += 1
                if record.batch != len(self._book.batches) or record.first > len(self._book.trials):
                    yield f"is numbered {record.batch} from trial {record.first} on, expected {len(self._book.batches)}"
                if record.first < self._settled:
                    yield f"counts from trial {record.first} on, and {self._settled} were made before it began"
                self._settled = len(self._book.trials)
                if (said := self._book.rule.used_by_others(record.aa, record.disturbed)) != record.masked:
                    yield f"masked is '{record.masked}', its pairs give '{said}'"
            case RewardExam():
                if self._book.exam is not None:
                    yield "is a second exam: one ledger has one model's"
                elif self._book.examined.total():
                    yield "names the model of an exam after samples of it were rewarded"
            case RewardCheck():
                yield from self._check(record)
            case RewardRecord():
                yield from self._reward(record)
        self._book.take(record)

    def _check(self, said: RewardCheck) -> Iterator[str]:
        """A full verdict names what was judged, and it is what the trial tried."""
        trial = self._book.trials[said.trial]
        if isinstance(trial, FailedTrial):
            yield f"looks at trial {said.trial}, which was never built"
        elif said.artifact is not None:
            for sha, what in blobs_of(said.artifact).items():
                self._blob(sha, what)
            if isinstance(said.verdict, Passed) and not same_parts(trial.artifact, said.artifact):
                yield f"judged other machine code than trial {said.trial} tried"
        if said.level == "full" and isinstance(said.verdict, Passed) and (
            said.artifact is None or said.verdict.level != "full"
        ):  # fmt: skip
            yield f"passes trial {said.trial} in full without a full verdict"

    def _reward(self, said: RewardRecord) -> Iterator[str]:
        self._blob(said.reply, "reply")
        if said.sample in self._book.rewards:
            yield f"rewards sample {said.sample} a second time"
        if self._backend is None:
            yield "no plan was recorded before it"
            return
        if said.in_exam and not self._book.has_room(place_of(said.task, said.dims)):
            yield f"sample {said.sample} is one more than the exam asked for"
        yield from self._from_reply(said)
        yield from self._tries(said)
        derived = self._book.derive(said.trials, said.fault, said.failed)
        for name in _FIGURES:
            self.figures += 1
            if (got := getattr(said, name)) != (wanted := getattr(derived, name)):
                yield f"{name} of sample {said.sample} is {got!r}, its records give {wanted!r}"
        if said.why != derived.why:
            yield f"sample {said.sample} says '{said.why}', its records give '{derived.why}'"
        if said.reward:
            yield from self._looked_at(said)

    def _from_reply(self, said: RewardRecord) -> Iterator[str]:
        """The reply must be as the record says, and be what was tried."""
        try:
            text = reply_text(self._store.get(said.reply))
        except LedgerFault:
            return  # told as a blob that is missing or changed
        found = read_reply(text, self._backend or "")
        if isinstance(found, FormatFailure):
            if found.fault != said.fault:
                yield f"fault of sample {said.sample} is '{said.fault}', its reply has '{found.fault}'"
            return
        if said.fault:
            yield f"fault of sample {said.sample} is '{said.fault}', its reply has none"
        source = sha256_hex(found.source.encode())
        for number in said.trials:
            trial = self._book.trials[number]
            if trial.proposal.source != source or dict(trial.proposal.params) != found.params:
                yield f"sample {said.sample} names trial {number}, which tried something else than its reply"

    def _tries(self, said: RewardRecord) -> Iterator[str]:
        place = place_of(said.task, said.dims)
        for number in said.trials:
            trial = self._book.trials[number]
            if place_of(trial.task, trial.dims) != place:
                yield f"sample {said.sample} names trial {number}, which is of another task or shape"
        told = [self._book.rule.unclear(self._book.settled(number)) for number in said.trials]
        if len(told) > 2 or not all(told[:-1]):
            yield f"sample {said.sample} was tried again though trial {said.trials[0]} told enough"
        if len(told) == 1 and told[0] and said.reward is None and not said.failed:
            yield f"sample {said.sample} was given up after one try"

    def _looked_at(self, said: RewardRecord) -> Iterator[str]:
        text, code = self._book.text(said.trials[-1]) or "", self._book.code(said.trials[-1]) or ""
        if text not in self._book.looked_at:
            yield f"sample {said.sample} is rewarded without a look at a further shape"
        best = self._book.best.get(place_of(said.task, said.dims), 0.0)
        suspect = any(check.level == "full" for check in self._book.failures.get(code, ()))
        if ((said.reward or 0.0) > best or suspect) and text not in self._book.judged:
            yield f"sample {said.sample} is {'suspect' if suspect else 'the best so far'} and had no full verdict"
