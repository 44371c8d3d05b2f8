"""Exams from their ledgers, and two exams of the same tasks side by side."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.ids import digest
from kernellab.learn.lm.examine import Result, TaskResult, exam_records, result_of, task_results
from kernellab.learn.lm.rewarded import AuditedLedger
from kernellab.ledger.reward_records import REWARD_EXAM, REWARD_PLAN, RewardExam
from kernellab.ledger.run import well_formed
from kernellab.measurement.bootstrap import Interval, ratio_interval


@dataclass(frozen=True)
class ExamFigures:
    """`exam`: whose it was; None for a ledger that does not say. `asked`: a digest of the tasks, their shapes and the
    kind of reward: figures of different ones are not compared."""

    folder: Path
    run: str
    root: str
    exam: RewardExam | None
    asked: str
    device: str
    result: Result
    tasks: Mapping[str, TaskResult]

    @property
    def masked(self) -> float:
        return self.result.masked / self.result.samples


@dataclass(frozen=True)
class Comparison:
    """`ratio`: mean reward of the second over the first's, over the tasks that both have one of; None where there is no such
    ratio. `remarks`: why, and what else is not the same."""

    first: ExamFigures
    second: ExamFigures
    tasks: int
    ratio: Interval | None
    remarks: tuple[str, ...]


def exam_in(ledger: AuditedLedger) -> ExamFigures | None:
    """None where no sample is of an exam."""
    with well_formed(ledger.folder):
        run = ledger.opened()
        given = exam_records(run)
        if not given:
            return None
        plan = run.records(REWARD_PLAN)[0]
        shapes = [[task.name, task.fingerprint, task.shapes] for task in sorted(plan.tasks, key=lambda task: task.name)]
        who = run.records(REWARD_EXAM)
        return ExamFigures(
            ledger.folder, ledger.run, ledger.root, who[0] if who else None,
            digest([plan.form, plan.backend, shapes]), run.start.environment.device, result_of(given), task_results(given),
        )  # fmt: skip


def comparisons(exams: list[ExamFigures]) -> list[Comparison]:
    """Each with the first of the same tasks."""
    first: dict[str, ExamFigures] = {}
    return [compare(first[exam.asked], exam) for exam in exams if first.setdefault(exam.asked, exam) is not exam]


def compare(first: ExamFigures, second: ExamFigures) -> Comparison:
    pairs = [
        (one.reward, other.reward)
        for name, one in first.tasks.items()
        if (other := second.tasks.get(name)) and one.reward is not None and other.reward is not None
    ]
    before, after = [one for one, _ in pairs], [other for _, other in pairs]
    told = list(_differences(first, second))
    if missing := len(first.tasks.keys() | second.tasks.keys()) - len(pairs):
        told.append(f"{missing} tasks have no reward in one of them")
    if not pairs or not statistics.fmean(before):
        return Comparison(first, second, len(pairs), None, ("the first got no reward: there is no ratio", *told))
    return Comparison(first, second, len(pairs), ratio_interval(before, after), tuple(told))


def _differences(first: ExamFigures, second: ExamFigures) -> list[str]:
    told = [] if first.device == second.device else ["on different machines"]
    if first.exam and second.exam and _drawn(first.exam) != _drawn(second.exam):
        told.append("the replies were drawn in different ways")
    return told


def _drawn(exam: RewardExam) -> dict[str, Any]:
    return exam.model_dump(include={"count", "longest", "temperature"})
