"""What the page of a suite says: its tasks by class, the score as recorded, and the fast_p curve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernellab.suite.score import SuiteScore, recorded_score
from kernellab.suite.tables import SCORE_HEAD, TASK_HEAD, score_rows, summary, task_rows
from kernellab.view.drawings import Drawing, fast_p


@dataclass(frozen=True)
class SuiteFacts:
    """`tasks`: for each class of operators its rows; of each, the task's name and its cells."""

    score: SuiteScore
    score_head: list[str]
    score_rows: list[list[str]]
    task_head: list[str]
    classes: list[tuple[str, list[list[str]]]]
    remarks: list[str]
    curve: Drawing | None


def suite_facts(folder: Path, drawn: bool = True) -> SuiteFacts:
    score = recorded_score(folder)
    classes: dict[str, list[list[str]]] = {}
    for row in task_rows(score):
        classes.setdefault(row[1] or "other", []).append([row[0], *row[2:]])
    head = [TASK_HEAD[0], *TASK_HEAD[2:]]
    return SuiteFacts(score, SCORE_HEAD, score_rows(score), head, sorted(classes.items()), summary(score),
                      fast_p(score) if drawn else None)  # fmt: skip
