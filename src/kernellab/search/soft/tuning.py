"""Tuning a verifier's prompt: look at its mistakes, write it anew, keep the new one only if it is better on both halves.

The test half is never shown, and is asked only of a template that is better on the training half. A tie keeps the old
template, so the figure of the test half never goes down. It is a gate passed up to once a round, though, and so a little
too good as an estimate: few rounds, many trials.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from kernellab.core.ids import sha256_hex
from kernellab.core.records import Record, dump
from kernellab.core.targets import backends
from kernellab.ledger.kinds import EntryKind
from kernellab.propose.author import Answer, Author
from kernellab.propose.models import NEVER, Cancel, ModelFault
from kernellab.propose.prompts import (
    Brief,
    Failure,
    FormatFailure,
    Parsed,
    PromptBook,
    Rewrite,
    VerifierFacts,
    refused,
)
from kernellab.propose.prompts.render import PromptTooLong
from kernellab.search.soft.evaluate import Catalogue, Evaluation, evaluate, flags
from kernellab.search.soft.fate import SoftKind
from kernellab.search.soft.labelled import Labelled, Split
from kernellab.search.soft.look import AnyAnswer, brief_for

_ATTEMPTS = 2
_MOST_FAILURES = 4


class TuneOrder(Record):
    """What was asked for. `most`: trials a half; `shown`: mistakes in a prompt; `jobs`: calls in flight."""

    kind: SoftKind
    model: str
    name: str = Field(min_length=1)
    rounds: int = Field(3, ge=0, le=100)
    seed: int = 0
    most: int = Field(80, ge=0)
    shown: int = Field(6, ge=1, le=50)
    jobs: int = Field(4, ge=1, le=64)
    max_tokens: int = Field(2048, ge=1)
    rewrite_tokens: int = Field(8192, ge=1)
    prompt_tokens: int = 24_000
    temperature: float | None = None


class Round(Record):
    """One attempt. `template` is the hash of its text, None where there was none that could be used."""

    number: int
    template: str | None
    kept: bool
    why: Literal["better", "no-better-on-train", "no-better-on-test", "tried-before", "format", "no-reply"]
    failure: FormatFailure | None = None
    fault: str = ""
    train: float | None = None
    test: float | None = None


class RoundNote(Round):
    """A round as the ledger holds it. Every note of a tuning has a name within its kind: it is written once, however often
    the run is resumed."""

    name: str


class FormatNote(FormatFailure):
    """A rewritten template that could not be used."""

    name: str


class EvaluationNote(Evaluation):
    """What a template came to on one half, and after which round."""

    name: str
    round: int
    half: str
    template: str


AnyNote = RoundNote | FormatNote | EvaluationNote
NOTES: dict[type[AnyNote], EntryKind[Any]] = {
    RoundNote: EntryKind("tune-round", TypeAdapter(RoundNote)),
    FormatNote: EntryKind("tune-format", TypeAdapter(FormatNote)),
    EvaluationNote: EntryKind("tune-evaluation", TypeAdapter(EvaluationNote)),
}


@dataclass
class Tuned:
    """Where a tuning stands; `first` and `last` are the evaluations by half."""

    order: TuneOrder
    texts: dict[str, str]
    first: dict[str, Evaluation] = field(default_factory=dict)
    last: dict[str, Evaluation] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    stopped: str = ""
    fix: str = ""

    @property
    def template(self) -> str:
        return self.texts[f"{self.order.kind}.j2"]

    @property
    def status(self) -> str:
        if self.stopped:
            return "stopped"
        return "better" if any(r.kept for r in self.rounds) else "nothing-better"

    def data(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "status": self.status,
            "reason": self.stopped,
            "kind": self.order.kind,
            "model": self.order.model,
            "seed": self.order.seed,
            "template": sha256_hex(self.template.encode()),
            "before": {half: e.figures() for half, e in self.first.items()},
            "after": {half: e.figures() for half, e in self.last.items()},
            "rounds": [r.model_dump(mode="json") for r in self.rounds],
        }


class Tuning:
    """`texts` are the templates to start from that are not built in, by file name. `keep` stores a text for good."""

    def __init__(
        self, order: TuneOrder, split: Split, author: Author, texts: Mapping[str, str], note: Callable[[AnyNote], None],
        keep: Callable[[str], object], tell: Callable[[str], None] = lambda text: None, cancel: Cancel = NEVER,
    ) -> None:  # fmt: skip
        self._order = order
        self._split = split
        self._note = note
        self._keep = keep
        self._tell = tell
        self._cancel = cancel
        self._catalogue = Catalogue.of((*split.train.trials, *split.test.trials))
        self._author = replace(author, max_tokens=order.max_tokens, prompt_tokens=order.prompt_tokens,
                               temperature=order.temperature)  # fmt: skip
        book = PromptBook(texts=texts)
        self.tuned = Tuned(order, {**texts, f"{order.kind}.j2": book.source(order.kind)})
        self._tried = {sha256_hex(self.tuned.template.encode())}
        self._failures: list[Failure] = []
        self._calls = 0

    def run(self) -> Tuned:
        """Every round, or until there is nothing left to learn from. A fault that stops the run is part of the result."""
        tuned = self.tuned
        try:
            for half in ("train", "test"):
                tuned.first[half] = tuned.last[half] = self._evaluate(tuned.texts, half, 0)
            self._tell(f"round 0: {self._figures(tuned.last)}")
            for number in range(1, self._order.rounds + 1):
                if not self._mistakes():
                    self._tell("no mistakes on the training half: nothing to learn from")
                    break
                done = self._round(number)
                tuned.rounds.append(done)
                self._note(RoundNote(name=str(number), **dump(done)))
                self._tell(f"round {number}: {done.why}; {self._figures(tuned.last)}")
        except ModelFault as fault:
            tuned.stopped, tuned.fix = fault.reason, fault.fix
        return tuned

    def _round(self, number: int) -> Round:
        found = self._rewrite(number)
        if isinstance(found, Round):
            return found
        tuned = self.tuned
        texts = {**tuned.texts, f"{self._order.kind}.j2": found}
        sha = sha256_hex(found.encode())
        if sha in self._tried:
            return Round(number=number, template=sha, kept=False, why="tried-before")
        self._tried.add(sha)
        self._keep(found)
        train = self._evaluate(texts, "train", number)
        if train.balanced <= tuned.last["train"].balanced:
            self._learn(
                f"balanced accuracy {float(train.balanced):.3f}, {float(tuned.last['train'].balanced):.3f} before"
            )
            return Round(number=number, template=sha, kept=False, why="no-better-on-train", train=float(train.balanced))
        test = self._evaluate(texts, "test", number)
        kept = test.balanced > tuned.last["test"].balanced
        if kept:
            tuned.texts, tuned.last = texts, {"train": train, "test": test}
            self._failures.clear()
        else:
            self._learn("better on kernels like those above, not on others: too much about these, too little about all")
        return Round(number=number, template=sha, kept=kept, why="better" if kept else "no-better-on-test",
                     train=float(train.balanced), test=float(test.balanced))  # fmt: skip

    def _rewrite(self, number: int) -> str | Round:
        """A template that may be used; otherwise the round, ended. A reply that cannot be used is asked for once more."""
        unread: list[Answer] = []
        failure: FormatFailure | None = None
        brief = self._brief(number)
        author = replace(self._author, max_tokens=self._order.rewrite_tokens)
        for _ in range(_ATTEMPTS):
            try:
                answer = author.ask("improve", brief, self._take(1), unread=unread, cancel=self._cancel)
            except (ModelFault, PromptTooLong) as fault:
                if isinstance(fault, ModelFault) and fault.stops:
                    raise
                return Round(number=number, template=None, kept=False, why="no-reply", fault=fault.what)
            checked = self._checked(answer)
            if isinstance(checked, str):
                return checked
            failure = checked
            unread.append(replace(answer, value=failure))
            self._note(FormatNote(name=f"{number}.{len(unread)}", **dump(failure)))
        assert failure is not None
        self._learn(f"it could not be used: {failure.what}")
        return Round(number=number, template=None, kept=False, why="format", failure=failure)

    def _checked(self, answer: Answer) -> str | FormatFailure:
        if isinstance(answer.value, FormatFailure):
            return answer.value
        assert isinstance(answer.value, Parsed)
        assert isinstance(answer.value.value, Rewrite)
        text = answer.value.value.template
        return refused(self._order.kind, text, self._samples()) or text

    def _samples(self) -> list[Brief]:
        """One for each language among the trials, and one of each other, so that every branch is rendered."""
        trial = self._split.train.trials[0]
        by_language = {t.backend: t for t in self._split.train.trials}
        facts, device = self._catalogue.facts(trial), self._catalogue.device(trial)
        empty = [brief_for("def launch(): ...", {}, facts, device, b) for b in backends()]
        return [self._brief_of(t) for t in by_language.values()] + empty

    def _brief_of(self, trial: Labelled) -> Brief:
        half = self._split.train
        facts, device = self._catalogue.facts(trial), self._catalogue.device(trial)
        return brief_for(half.text(trial), trial.params, facts, device, trial.backend)

    def _brief(self, number: int) -> Brief:
        """Mistakes of both sorts in turn, drawn anew each round."""
        wrong = self._mistakes()
        random.Random(f"{self._order.seed} {number}").shuffle(wrong)
        missed = [row for row in wrong if row[0].fate.fails(self._order.kind)]
        alarms = [row for row in wrong if not row[0].fate.fails(self._order.kind)]
        in_turn = [row for pair in zip_longest(missed, alarms) for row in pair if row is not None]
        chosen = in_turn[: self._order.shown]
        mistakes = [self._catalogue.mistake(t, self._split.train.text(t), a, self._order.kind) for t, a in chosen]
        trial = chosen[0][0]
        verifier = VerifierFacts(self._order.kind, self.tuned.template, self.tuned.last["train"].standing())
        return Brief(
            self._catalogue.facts(trial), self._catalogue.device(trial), trial.backend, verifier=verifier,
            mistakes=tuple(reversed(mistakes)), failures=tuple(self._failures[-_MOST_FAILURES:]),
        )  # fmt: skip

    def _mistakes(self) -> list[tuple[Labelled, AnyAnswer]]:
        kind, last = self._order.kind, self.tuned.last["train"]
        rows = zip(self._split.train.trials, last.answers, strict=True)
        return [(t, a) for t, a in rows if bool(t.fate.fails(kind)) != flags(a)]

    def _evaluate(self, texts: Mapping[str, str], half: str, number: int) -> Evaluation:
        trials = dict(self._split.halves())[half]
        author = replace(self._author, book=PromptBook(texts=texts))
        first = self._take(len(trials.trials))
        jobs, kind = self._order.jobs, self._order.kind
        found = evaluate(author, kind, trials, self._catalogue, first, jobs, self._cancel)
        sha = sha256_hex(texts[f"{kind}.j2"].encode())
        name = f"{number} {half}"
        self._note(EvaluationNote(name=name, round=number, half=half, template=sha, **dump(found)))
        return found

    def _take(self, calls: int) -> int:
        """Numbers of calls are given out in an order that depends on the replies alone: a resumed run asks the same."""
        first, self._calls = self._calls, self._calls + calls
        return first

    def _learn(self, what: str) -> None:
        self._failures.append(Failure("measure", "not kept", what))

    def _figures(self, evaluations: Mapping[str, Evaluation]) -> str:
        return ", ".join(f"{half} {float(e.balanced):.3f}" for half, e in evaluations.items())
