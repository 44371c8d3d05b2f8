"""What is known of rewards so far: fed every record in the ledger's order, by the service and by the audit alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernellab.core.ids import digest
from kernellab.core.records import (
    AnyTrial,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Rejected,
    RejectedTrial,
    UntimedTrial,
)
from kernellab.learn.reward import Reward, RewardRule, of_bad_format, of_failed_laboratory
from kernellab.ledger import kinds
from kernellab.ledger.reward_records import (
    REWARD,
    REWARD_KINDS,
    RewardBatch,
    RewardCheck,
    RewardExam,
    RewardPlan,
    RewardRecord,
)
from kernellab.ledger.run import Run, place_of

SECRET_SHAPE = "wrong at a further shape that is kept secret"
IN_FULL = "the full verdict rejected it"
UNSEEN = "nobody looked whether others used the machine"


@dataclass
class RewardBook:
    """`trials` may be a list that somebody else fills.

    Machine code is known by its digest at the screened shapes, and has one timing. What else is known is known of a text:
    another with the same digest may differ at shapes that were not screened, so neither gains nor loses by the other."""

    trials: list[AnyTrial] = field(default_factory=list)
    rule: RewardRule = field(default_factory=RewardRule)
    batches: list[RewardBatch] = field(default_factory=list)
    masked: dict[int, str] = field(default_factory=dict)
    """By trial, why nothing can be said of its speed; '' where the machine was quiet. Trials of no batch are not in it."""
    rewards: dict[str, RewardRecord] = field(default_factory=dict)
    looked_at: set[str] = field(default_factory=set)
    """Texts that had a look at a further shape."""
    judged: set[str] = field(default_factory=set)
    """Texts that had a full verdict."""
    refused: dict[str, str] = field(default_factory=dict)
    """Texts that failed a look, and which."""
    failures: dict[str, list[RewardCheck]] = field(default_factory=dict)
    """By machine code, the looks that some text with it failed: each of its equals has to pass them."""
    best: dict[str, float] = field(default_factory=dict)
    exam: RewardExam | None = None
    examined: Counter[str] = field(default_factory=Counter)
    """By place, how many samples of an exam were rewarded."""

    def take(self, record: object) -> None:
        """Everything but trials."""
        match record:
            case RewardPlan():
                self.rule = RewardRule.of_plan(record)
            case RewardBatch():
                self.batches.append(record)
                for number in range(record.first, len(self.trials)):
                    self.masked.setdefault(number, record.masked)
            case RewardExam():
                self.exam = self.exam or record
            case RewardCheck():
                self._look(record)
            case RewardRecord():
                self.rewards[record.sample] = record
                place = place_of(record.task, record.dims)
                self.best[place] = max(self.best.get(place, 0.0), record.reward or 0.0)
                self.examined[place] += record.in_exam

    def _look(self, check: RewardCheck) -> None:
        text, code = self.text(check.trial), self.code(check.trial)
        if text is None or code is None:
            return
        further = check.level == "further"
        (self.looked_at if further else self.judged).add(text)
        if isinstance(check.verdict, Rejected):
            self.refused.setdefault(text, SECRET_SHAPE if further else IN_FULL)
            self.failures.setdefault(code, []).append(check)

    def has_room(self, place: str, more: int = 1) -> bool:
        """Whether the exam asked for so many more samples there: of any others it would not say what its model is worth."""
        return self.exam is None or self.examined[place] + more <= self.exam.count

    def settled(self, number: int) -> AnyTrial:
        """The trial whose outcome stands for this one."""
        trial = self.trials[number]
        return self.trials[trial.of] if isinstance(trial, DuplicateTrial) else trial

    def code(self, number: int) -> str | None:
        """A trial's machine code at its place; None for what was never built."""
        trial = self.trials[number]
        return None if isinstance(trial, FailedTrial) else f"{place_of(trial.task, trial.dims)} {trial.artifact.id}"

    def text(self, number: int) -> str | None:
        """What a trial tried: its file, parameters and machine code; None for what was never built."""
        code, proposal = self.code(number), self.trials[number].proposal
        return None if code is None else digest([code, proposal.source, proposal.params])

    def derive(self, tries: Sequence[int], fault: str = "", failed: str = "") -> Reward:
        """The reward that follows from what is known now. A timing is as good as the batch that it was taken in."""
        if fault:
            return of_bad_format(fault)
        if failed or not tries:
            return of_failed_laboratory()
        trial = self.settled(tries[-1])
        refused = self.refused.get(self.text(tries[-1]) or "", "")
        return self.rule.of_trial(trial, refused, self.masked.get(trial.trial, UNSEEN))


def book_of(run: Run, trials: list[AnyTrial] | None = None) -> RewardBook:
    """Everything that a run recorded, in its order. `trials`: a list that holds the same, and may grow from then on."""
    book = RewardBook([])
    for entry in run.in_order(kinds.TRIAL, *REWARD_KINDS):
        if isinstance(entry.record, (FailedTrial, RejectedTrial, DuplicateTrial, MeasuredTrial, UntimedTrial)):
            book.trials.append(entry.record)
        else:
            book.take(entry.record)
    if trials is not None:
        book.trials = trials
    return book


def last_words(run: Run, book: RewardBook) -> list[RewardRecord]:
    """Every sample by what is known at the end (`book`): what a later look refused is wrong, whatever it was paid before."""
    return [
        given.model_copy(update=book.derive(given.trials, given.fault, given.failed).model_dump())
        for given in run.records(REWARD)
    ]
