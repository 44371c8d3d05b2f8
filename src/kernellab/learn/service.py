"""The reward service: whole replies in, rewards out, everything in one ledger that is gone on with after a kill.

A batch is read, built on all cores, judged and timed one by one, with the fastest baseline timed against itself before and
after it. Then each sample is rewarded, the best of a place first, once: its id is its own for ever. Not covered: two
services in one folder, which the ledger's lock refuses.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Self

from kernellab.core.errors import UsageError
from kernellab.core.ids import sha256_hex
from kernellab.learn.attempt import Attempt, Examiner, Place, build_ahead, build_in_full, build_key, read, share
from kernellab.learn.book import RewardBook
from kernellab.learn.building import built_first
from kernellab.learn.feedback import told
from kernellab.learn.prompts import RunPrompts
from kernellab.learn.replies import reply_bytes
from kernellab.learn.reward import Reward, RewardRule
from kernellab.learn.samples import Sample, Scored, read_samples
from kernellab.learn.terms import RewardTerms, rewarded_shapes
from kernellab.learn.tried import RewardedTrials
from kernellab.ledger.reward_records import (
    EXAM,
    REWARD,
    REWARD_BATCH,
    REWARD_EXAM,
    RewardBatch,
    RewardExam,
    RewardPlan,
    RewardRecord,
)
from kernellab.ledger.run import Run, place_of
from kernellab.measurement.bench import Pairs
from kernellab.search.experiment_run import ExperimentRun
from kernellab.tasks.spec import dims_label, parse_dims

_PAIRS = 5  # of a baseline against itself, before a batch and again after it


class RewardService:
    """Made by open_service() (opening.py). Calls from several threads are answered one after another."""

    def __init__(
        self, runs: Mapping[str, ExperimentRun], plan: RewardPlan, book: RewardBook, terms: RewardTerms,
        rng: random.Random,
    ) -> None:  # fmt: skip
        self._runs, self._plan, self._book, self._rng = dict(runs), plan, book, rng
        self._most, self._full_share = terms.most, terms.full_share
        self._first = next(iter(self._runs.values()))
        assert isinstance(self._first.archive, RewardedTrials)
        self._trials = self._first.archive
        self._examiner = Examiner(book, rng)
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        return self._first.folder

    def facts(self) -> dict[str, Any]:
        """What a trainer may ask for."""
        shapes = {task.name: [dims_label(dims) for dims in task.shapes] for task in self._plan.tasks}
        return {"tasks": shapes, "backend": self._plan.backend, "form": self._plan.form, "most_samples": self._most,
                "device": self._first.device_name, "rewarded": len(self._book.rewards)}  # fmt: skip

    def prompts(self) -> list[dict[str, Any]]:
        """Every task at every shape that is rewarded: what to ask a policy."""
        with self._lock:
            made = RunPrompts(Run(self.folder))
            return [
                {"task": task.name, "shape": dims_label(dims), "prompt": made.of(task.name, dims, self._plan.backend)}
                for task in self._plan.tasks
                for dims in task.shapes
            ]

    def score(self, samples: Sequence[Sample]) -> list[Scored]:
        """In the order of the samples. Those that were rewarded before get what they got then."""
        with self._lock:
            fresh = self._admitted(samples)
            if fresh:
                self._score([read(sample, place, self._plan.backend) for sample, place in fresh])
            return [self._told(sample.id) for sample in samples]

    def score_plain(self, samples: object) -> list[dict[str, Any]]:
        """The same for plain data, as it comes in JSON."""
        return [scored.data() for scored in self.score(read_samples(samples, self._most))]

    def examined(self, exam: RewardExam) -> None:
        """Write down whose exam this is. One ledger holds one: of other replies it would say what these were worth."""
        with self._lock:
            found = self._book.exam
            if found is None and not self._book.examined.total():
                self._first.append(REWARD_EXAM, exam)
                self._book.take(exam)
            elif found is None or found != exam.model_copy(update={"model": found.model}):
                who = f"another exam, of {found.model}" if found else "an exam that does not say of which model"
                raise UsageError(f"{self.folder} holds {who}", "choose another --rewards, or ask for the same exam")

    def _admitted(self, samples: Sequence[Sample]) -> list[tuple[Sample, Place]]:
        """Those that have no reward yet. Nothing is tried where one of them is off."""
        if len(samples) > self._most:
            raise UsageError(f"a batch of {len(samples)} samples is too large: {self._most} are taken", "send several")
        fresh: dict[str, tuple[Sample, Place]] = {}
        for sample in samples:
            place = self._place(sample)
            if sample.id in fresh:
                raise UsageError(f"the id '{sample.id}' stands twice in the batch", "give each sample its own")
            given = self._book.rewards.get(sample.id)
            if given is None:
                fresh[sample.id] = (sample, place)
            elif not _same(given, sample, place):
                raise UsageError(f"the id '{sample.id}' was given to another reply", "give each sample its own id")
        self._refuse_more_of_an_exam(list(fresh.values()))
        return list(fresh.values())

    def _refuse_more_of_an_exam(self, fresh: Sequence[tuple[Sample, Place]]) -> None:
        asked = Counter(_where(place) for sample, place in fresh if sample.id.startswith(EXAM))
        if not all(self._book.has_room(place, more) for place, more in asked.items()):
            raise UsageError(
                f"this exam has its samples, and ids that begin with '{EXAM}' are its own", "choose other ids"
            )

    def _place(self, sample: Sample) -> Place:
        names = ", ".join(self._runs)
        if not sample.task and len(self._runs) > 1:
            raise UsageError(f"sample '{sample.id}' names no task", f"one of {names}")
        run = self._runs.get(sample.task) if sample.task else self._first
        if run is None:
            raise UsageError(f"there is no task '{sample.task[:80]}' here", f"one of {names}")
        task = run.task
        dims = parse_dims(sample.shape, task) if sample.shape else task.quick_shape
        if dims not in (shapes := rewarded_shapes(task)):
            known = "; ".join(dims_label(shape) for shape in shapes)
            raise UsageError(f"{task.name} is not rewarded at {sample.shape[:80]}", f"one of {known}")
        return Place(run, dims)

    def _score(self, attempts: Sequence[Attempt]) -> None:
        if tried := [attempt for attempt in attempts if attempt.idea is not None]:
            self._examine(tried)
        self._reward_all(attempts)

    def _examine(self, tried: Sequence[Attempt]) -> None:
        """Try every one, between two looks at the machine. If others used it, what was timed counts for nothing, now or
        when the same kernel comes again."""
        self._examiner.new_batch()
        place, first = tried[0].place, len(self._book.trials)
        try:
            batch = self._looked_after(tried, place, first)
        except BaseException:
            self._forget(first)  # nobody looked after them: they must not stand in for what comes again
            raise
        self._first.append(REWARD_BATCH, batch)
        self._book.take(batch)
        if batch.masked:
            self._forget(first)

    def _forget(self, first: int) -> None:
        self._trials.forget(set(range(first, len(self._book.trials))))

    def _looked_after(self, tried: Sequence[Attempt], place: Place, first: int) -> RewardBatch:
        looks = [place.stage().against_itself(_PAIRS)]
        for equal in self._built(tried):
            self._examiner.examine(equal[0])
            for attempt in equal[1:]:
                share(equal[0], attempt)
        looks.append(place.stage().against_itself(_PAIRS))
        return _batch(len(self._book.batches), first, place, looks, self._book.rule)

    def _built(self, tried: Sequence[Attempt]) -> Iterator[list[Attempt]]:
        """The attempts, built; those that say the same together, and those of a place after one another: where memory does
        not hold all places, each is set up once a batch."""
        groups: dict[str, list[Attempt]] = {}
        for attempt in sorted(tried, key=lambda attempt: _where(attempt.place)):
            groups.setdefault(build_key(attempt), []).append(attempt)
        drawn = {key: random.Random(self._rng.getrandbits(256)) for key in groups}
        beside = self._first.opened.device.build_jobs

        def build(key: str) -> None:
            build_ahead(groups[key][0], drawn[key])

        return (groups[key] for key in built_first(groups, build, self._jobs, bool(beside)))

    @property
    def _jobs(self) -> int:
        return self._first.opened.device.build_jobs or len(os.sched_getaffinity(0))

    def _reward_all(self, attempts: Sequence[Attempt]) -> None:
        """The best of each place first: of a batch that gets better and better, one sample a place is a new best, not every
        one. The others in their order. What is judged in full is built before, on all cores."""
        for attempt in attempts:
            attempt.drawn = self._rng.random() < self._full_share
        best: dict[str, Attempt] = {}
        for attempt in sorted(attempts, key=self._worth, reverse=True):
            best.setdefault(_where(attempt.place), attempt)
        others = [attempt for attempt in attempts if best[_where(attempt.place)] is not attempt]
        order = [*best.values(), *others]

        def build(attempt: Attempt) -> None:
            likely = attempt.drawn or best[_where(attempt.place)] is attempt
            if likely and self._needs_full(attempt) and not self._examiner.was_judged_in_full(attempt):
                build_in_full(attempt)

        for attempt in built_first(order, build, self._jobs, beside=False):
            self._reward(attempt)

    def _worth(self, attempt: Attempt) -> float:
        return self._derived(attempt).reward or 0.0

    def _needs_full(self, attempt: Attempt) -> bool:
        """Whether a full verdict comes before its reward: it would be the best so far, or was drawn."""
        best = self._book.best.get(_where(attempt.place), 0.0)
        return (worth := self._worth(attempt)) > 0 and (attempt.drawn or worth > best)

    def _derived(self, attempt: Attempt) -> Reward:
        return self._book.derive(attempt.trials, attempt.fault, attempt.failed)

    def _reward(self, attempt: Attempt) -> None:
        """Derived, with a full verdict first where that is due; then on record."""
        place, fault = attempt.place, attempt.fault
        if self._needs_full(attempt):
            self._examiner.judge_in_full(attempt)
        reward = self._derived(attempt)
        record = RewardRecord(
            sample=attempt.sample.id, task=place.run.task.name, dims=place.dims, reply=attempt.reply, fault=fault,
            failed=attempt.failed, trials=attempt.trials, **reward.model_dump(),
        )  # fmt: skip
        self._first.append(REWARD, record)
        self._book.take(record)

    def _told(self, sample: str) -> Scored:
        return told(self._book, self._first.store, self._book.rewards[sample], self._plan.backend)

    def close(self) -> None:
        with self._lock:
            self._first.close()
            self._first.opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _where(place: Place) -> str:
    return place_of(place.run.task.name, place.dims)


def _same(given: RewardRecord, sample: Sample, place: Place) -> bool:
    there = (given.task, given.dims) == (place.run.task.name, place.dims)
    return there and given.reply == sha256_hex(reply_bytes(sample.reply))


def _batch(number: int, first: int, place: Place, looks: Sequence[Pairs], rule: RewardRule) -> RewardBatch:
    aa = [[s for look in looks for s in look.first], [s for look in looks for s in look.second]]
    disturbed = any(look.disturbed for look in looks)
    return RewardBatch(
        batch=number, first=first, task=place.run.task.name, dims=place.dims, aa=aa, disturbed=disturbed,
        masked=rule.used_by_others(aa, disturbed),
    )  # fmt: skip
