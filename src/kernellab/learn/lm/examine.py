"""Examining a model: so many replies to each prompt, judged and timed by the service; figures from its ledger alone."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernellab.learn.lm.model import LanguageModel
from kernellab.learn.samples import Sample
from kernellab.learn.service import RewardService
from kernellab.ledger.reward_records import REWARD, RewardRecord
from kernellab.ledger.run import Run
from kernellab.measurement.bootstrap import Interval, mean_interval
from kernellab.tasks.spec import dims_label

_NAME = "exam"


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
    where all were masked."""

    samples: int
    places: int
    masked: int
    readable: Interval
    right: Interval
    reward: Interval | None

    def data(self) -> dict[str, Any]:
        return asdict(self)


def examine(opened: LanguageModel, service: RewardService, exam: Exam, say: Callable[[str], None]) -> Result:
    """Prompts whose replies are on record already are not asked again."""
    done = {record.sample for record in Run(service.folder).records(REWARD)}
    for number, row in enumerate(service.prompts()):
        ids = [f"{_NAME}-{row['task']}-{row['shape']}-{n}" for n in range(exam.count)]
        if done >= set(ids):
            continue
        texts = opened.replies(
            opened.prompt(row["prompt"]), exam.count, exam.longest, exam.temperature, exam.seed + number
        )
        samples = [Sample(i, text, row["task"], row["shape"]) for i, text in zip(ids, texts, strict=True)]
        scored = service.score(samples)
        say(f"{row['task']} {row['shape']}: {sum(s.accuracy == 1 for s in scored)} of {len(scored)} right")
    return result_of(Run(service.folder))


def result_of(run: Run) -> Result:
    """By what the ledger says of the exam's samples."""
    places: dict[str, list[RewardRecord]] = defaultdict(list)
    for record in run.records(REWARD):
        if record.sample.startswith(f"{_NAME}-"):
            places[f"{record.task} {dims_label(record.dims)}"].append(record)
    groups = list(places.values())
    rewards = [[r.reward for r in group if r.reward is not None] for group in groups]
    return Result(
        samples=sum(map(len, groups)), places=len(groups),
        masked=sum(r.reward is None for group in groups for r in group),
        readable=_over_places([statistics.fmean(r.format for r in group) for group in groups]),
        right=_over_places([statistics.fmean(r.accuracy == 1 for r in group) for group in groups]),
        reward=_over_places([statistics.fmean(known) for known in rewards if known]) if any(rewards) else None,
    )  # fmt: skip


def _over_places(means: Sequence[float]) -> Interval:
    return mean_interval(means) if means else Interval(0.0, 0.0, 0.0)
