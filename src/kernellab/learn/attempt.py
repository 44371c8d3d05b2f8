"""One sample on its way to a reward: read, tried, looked at further. A bad reply is a record, never a crash.

Covered: a reply that cannot be read; a kernel right at the screened shapes alone; one that the full verdict rejects; a
laboratory that fails in the middle. Not covered: a kernel that is wrong only where nobody looked.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from kernellab.build.base import Built, Candidate
from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.core.ids import digest, sha256_hex
from kernellab.core.records import Dims, FailedTrial, MeasuredTrial, Rejected, UntimedTrial
from kernellab.evaluate.request import Judging, TrialRecord
from kernellab.evaluate.stage import Stage
from kernellab.learn.book import RewardBook
from kernellab.learn.further import draw_further, draw_timed
from kernellab.learn.replies import ReadReply, read_reply, reply_bytes
from kernellab.learn.samples import Sample
from kernellab.ledger.reward_records import REWARD_CHECK, RewardCheck
from kernellab.ledger.run import place_of
from kernellab.propose.base import Idea
from kernellab.propose.prompts import FormatFailure
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import step

ORIGIN = "policy"
_TRIES = 2
_MOST_AGAIN = 4
_VERDICTS = 16
"""Full verdicts on the same secret inputs, whose answers are made for the first one. A policy is told one bit of each."""
Level = Literal["further", "full"]
Look = tuple[Dims, str]
"""A shape and a distribution."""


@dataclass(frozen=True)
class Place:
    """A task at a shape, in the service's run."""

    run: ExperimentRun
    dims: Dims

    def stage(self) -> Stage:
        """Set up, anew where its memory was needed for others."""
        return self.run.stage(self.dims)


@dataclass
class Attempt:
    """`idea`: what the reply says to try; None where it cannot be read, and `fault` says why."""

    sample: Sample
    place: Place
    reply: str
    idea: Idea | None = None
    fault: str = ""
    failed: str = ""
    trials: list[int] = field(default_factory=list)
    looks: list[Look] | None = None
    """Where it is looked at if it passes; None where that was not drawn yet."""
    drawn: bool = False
    """By chance, for a full verdict."""


def read(sample: Sample, place: Place, backend: str) -> Attempt:
    """With the reply in the store before anything names it."""
    data = reply_bytes(sample.reply)
    place.run.keep(data)
    attempt = Attempt(sample, place, sha256_hex(data))
    found = read_reply(sample.reply, backend)
    if isinstance(found, FormatFailure):
        attempt.fault = found.fault
    else:
        attempt.idea = _idea(found)
    return attempt


def _idea(found: ReadReply) -> Idea:
    name = f"policy-{sha256_hex(found.source.encode())[:12]}"
    return Idea(Candidate(found.source, name), found.params, "", ORIGIN)


def share(first: Attempt, equal: Attempt) -> None:
    """Samples of one batch that say the same are tried once."""
    equal.trials, equal.failed = list(first.trials), first.failed


def build_key(attempt: Attempt) -> str:
    """The same for attempts that build the same thing."""
    assert attempt.idea is not None
    place, idea = attempt.place, attempt.idea
    return digest([place.run.task.name, place.dims, idea.candidate.text, idea.params])


def build_ahead(attempt: Attempt, rng: random.Random) -> None:
    """For the trial and the looks that follow, which find it made; what fails here fails there again, and is told there.

    The looks are drawn here: each is a shape of its own, and on a GPU that is a build of its own, which nothing else should
    wait for. Whoever builds one is told of that shape alone."""
    assert attempt.idea is not None
    opened, idea = attempt.place.run.opened, attempt.idea
    with suppress(EnvironmentFault):
        if isinstance(opened.build(attempt.place.dims, idea.candidate, idea.params), Built):
            attempt.looks = draw_looks(attempt.place, rng)
            for dims, distribution in attempt.looks:
                opened.build(dims, idea.candidate, idea.params, judging=Judging(distribution=distribution))


def build_in_full(attempt: Attempt) -> None:
    """For the full verdict that follows."""
    assert attempt.idea is not None
    opened, idea = attempt.place.run.opened, attempt.idea
    with suppress(EnvironmentFault):
        opened.build(attempt.place.dims, idea.candidate, idea.params, judging=Judging(level="full"))


def draw_looks(place: Place, rng: random.Random) -> list[Look]:
    opened = place.run.opened
    further = draw_further(opened.task, place.dims, opened.device.rig.device.thrifty, rng)
    return [further, *draw_timed(opened.task, place.dims, rng)]


class Examiner:
    """Tries attempts and takes further looks at what passed, all of it recorded."""

    def __init__(self, book: RewardBook, rng: random.Random) -> None:
        self._book, self._rng = book, rng
        self._looked_at: set[str] = set()
        self._inputs: dict[str, tuple[str, int]] = {}
        """By place, the seed of the inputs of full verdicts, and how many more there are on them."""

    def new_batch(self) -> None:
        """A text gets one further shape a batch, however many samples say the same."""
        self._looked_at.clear()

    def examine(self, attempt: Attempt) -> None:
        with self._boundary(attempt):
            self._try(attempt)
            self._look_further(attempt)

    def was_judged_in_full(self, attempt: Attempt) -> bool:
        return self._book.text(attempt.trials[-1]) in self._book.judged

    def judge_in_full(self, attempt: Attempt) -> None:
        """Every shape and distribution, once for a text."""
        number = attempt.trials[-1]
        trial = self._book.trials[number]
        if not self._passed(number) or self.was_judged_in_full(attempt) or isinstance(trial, FailedTrial):
            return
        with self._boundary(attempt):
            judging = Judging(level="full", inputs_seed=self._seed(attempt.place))
            found = self._asked(attempt, trial.dims, judging=judging, expected=trial.artifact)
            attempt.place.run.keep(*found.evidence.values())
            self._record(attempt, "full", trial.dims, "", found)

    def _seed(self, place: Place) -> str:
        where = place_of(place.run.task.name, place.dims)
        seed, left = self._inputs.get(where, ("", 0))
        seed, left = (seed, left) if left else (os.urandom(32).hex(), _VERDICTS)
        self._inputs[where] = seed, left - 1
        return seed

    @contextmanager
    def _boundary(self, attempt: Attempt) -> Iterator[None]:
        """What the laboratory cannot do says nothing of a kernel. A ledger that cannot be written ends everything."""
        try:
            yield
        except LedgerFault:
            raise
        except EnvironmentFault as fault:
            attempt.failed = fault.what
        except OSError as err:  # of a process or a pipe: one sample must not be able to end every batch it is sent in
            attempt.failed = f"{type(err).__name__}: {err}"
            with suppress(EnvironmentFault, OSError):
                attempt.place.stage().close()  # it is set up anew for the next

    def _try(self, attempt: Attempt) -> None:
        assert attempt.idea is not None
        for _ in range(_TRIES):
            trial = step(attempt.place.run, attempt.place.stage(), attempt.idea)
            attempt.trials.append(trial.trial)
            if not self._book.rule.unclear(self._book.settled(trial.trial)):
                return

    def _look_further(self, attempt: Attempt) -> None:
        """At one secret shape, and wherever a kernel with equal machine code failed."""
        number = attempt.trials[-1]
        text, code = self._book.text(number), self._book.code(number)
        if text is None or text in self._looked_at or text in self._book.refused or not self._passed(number):
            return
        self._looked_at.add(text)
        failures = self._book.failures.get(code or "", [])
        again = [(check.dims, check.distribution) for check in failures if check.level == "further"][-_MOST_AGAIN:]
        looks = draw_looks(attempt.place, self._rng) if attempt.looks is None else attempt.looks
        for dims, distribution in (*again, *looks):
            found = self._asked(attempt, dims, judging=Judging(distribution=distribution))
            self._record(attempt, "further", dims, distribution, found)
            if text in self._book.refused:
                return
        if any(check.level == "full" for check in failures):
            self.judge_in_full(attempt)

    def _passed(self, number: int) -> bool:
        return isinstance(self._book.settled(number), (MeasuredTrial, UntimedTrial))

    def _asked(self, attempt: Attempt, dims: Dims, **asked: Any) -> TrialRecord:
        assert attempt.idea is not None
        opened = attempt.place.run.opened
        return opened.evaluate(opened.request(dims, attempt.idea.candidate, attempt.idea.params, **asked))

    def _record(self, attempt: Attempt, level: Level, dims: Dims, distribution: str, found: TrialRecord) -> None:
        check = RewardCheck(
            trial=attempt.trials[-1], level=level, dims=dims, distribution=distribution, inputs_seed=found.inputs_seed,
            verdict=found.verdict or _unbuilt(found), artifact=found.artifact if level == "full" else None,
        )  # fmt: skip
        attempt.place.run.append(REWARD_CHECK, check)
        self._book.take(check)


def _unbuilt(found: TrialRecord) -> Rejected:
    return Rejected(cause="plan", reason=f"{found.status} there, though not at the screened shapes")
