"""Examining a model: so many replies to each prompt, judged and timed by the service; figures from its ledger alone."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernellab.learn.book import book_of, last_words
from kernellab.learn.lm.model import LanguageModel, weights_of
from kernellab.learn.lm.trained import parent_of
from kernellab.learn.samples import Sample
from kernellab.learn.service import RewardService
from kernellab.ledger.reward_records import EXAM, REWARD, RewardExam, RewardRecord
from kernellab.ledger.run import Run, place_of
from kernellab.measurement.bootstrap import Interval, mean_interval


@dataclass(frozen=True)
class Exam:
    """`count`: replies to a prompt. `longest`: tokens of a reply."""

    count: int = 8
    longest: int = 1536
    temperature: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """`readable`, `right`: shares of the replies; `right` is pass@1. `reward`: on average, masked samples left out; None
    where all were masked. Every task counts alike, and intervals are over tasks: one task has none to speak of."""

    samples: int
    tasks: int
    places: int
    masked: int
    readable: Interval
    right: Interval
    reward: Interval | None

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TaskResult:
    """Of one task: means of its shapes' means. `reward`: None where all of its samples were masked."""

    readable: float
    right: float
    reward: float | None


def examine(opened: LanguageModel, service: RewardService, exam: Exam, say: Callable[[str], None]) -> Result:
    """Prompts whose replies are on record already are not asked again."""
    service.examined(
        RewardExam(
            model=opened.folder.name, weights=weights_of(opened.folder), record=parent_of(opened.folder), **asdict(exam)
        )
    )
    done = {record.sample for record in Run(service.folder).records(REWARD)}
    for number, row in enumerate(service.prompts()):
        ids = [f"{EXAM}{row['task']}-{row['shape']}-{n}" for n in range(exam.count)]
        if done >= set(ids):
            continue
        texts = opened.replies(
            opened.prompt(row["prompt"]), exam.count, exam.longest, exam.temperature, exam.seed + number
        )
        samples = [Sample(i, text, row["task"], row["shape"]) for i, text in zip(ids, texts, strict=True)]
        scored = service.score(samples)
        say(f"{row['task']} {row['shape']}: {sum(s.accuracy == 1 for s in scored)} of {len(scored)} right")
    return result_of(exam_records(Run(service.folder)))


def result_of(given: Sequence[RewardRecord]) -> Result:
    tasks = task_results(given).values()
    rewards = [task.reward for task in tasks if task.reward is not None]
    return Result(
        samples=len(given), tasks=len(tasks), places=len({place_of(record.task, record.dims) for record in given}),
        masked=sum(record.reward is None for record in given),
        readable=_over_tasks([task.readable for task in tasks]), right=_over_tasks([task.right for task in tasks]),
        reward=_over_tasks(rewards) if rewards else None,
    )  # fmt: skip


def exam_records(run: Run) -> list[RewardRecord]:
    """The exam's samples, by what the ledger says of them at its end."""
    return [record for record in last_words(run, book_of(run)) if record.in_exam]


def task_results(given: Sequence[RewardRecord]) -> dict[str, TaskResult]:
    """By task, in the order of the ledger."""
    tasks: dict[str, dict[str, list[RewardRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in given:
        tasks[record.task][place_of(record.task, record.dims)].append(record)
    return {name: _task_result(list(places.values())) for name, places in tasks.items()}


def _task_result(shapes: Sequence[Sequence[RewardRecord]]) -> TaskResult:
    rewards = [[r.reward for r in shape if r.reward is not None] for shape in shapes]
    known = [statistics.fmean(found) for found in rewards if found]
    return TaskResult(
        statistics.fmean(statistics.fmean(r.format for r in shape) for shape in shapes),
        statistics.fmean(statistics.fmean(r.accuracy == 1 for r in shape) for shape in shapes),
        statistics.fmean(known) if known else None,
    )


def _over_tasks(means: Sequence[float]) -> Interval:
    return mean_interval(means) if means else Interval(0.0, 0.0, 0.0)
