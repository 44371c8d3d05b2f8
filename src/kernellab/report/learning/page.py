"""The report in words: Markdown for people, plain data for programs, rows for a drawing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kernellab.core.errors import KlabError
from kernellab.measurement.bootstrap import Interval
from kernellab.report.learning.exams import Comparison, ExamFigures
from kernellab.report.learning.gathered import LearningReport
from kernellab.report.learning.ledgers import Share
from kernellab.report.learning.stages import Stage, examined
from kernellab.report.markdown_table import markdown_table
from kernellab.report.paper.charts import draw, spec_of

_INTRODUCTION = """\
Rewards, what was right and what was masked are derived again from ledgers that passed their audit; the root of each stands
beside its figures. Steps, lessons and losses are as the folders of the models record them, in no ledger. Every task of an
exam counts alike; an interval is a 95 % bootstrap over tasks, and one task has none. Masked samples have no reward and are
left out of its mean."""
_STAGES = [
    "stage",
    "folder",
    "from",
    "steps",
    "lessons",
    "samples judged",
    "right",
    "mean reward",
    "masked",
    "ledger root",
]
_EXAMS = ["exam", "model", "tasks", "prompts", "replies", "pass@1", "mean reward", "masked", "ledger root"]
_COMPARED = ["second", "over the first", "tasks", "ratio of mean reward", "remarks"]


def page(report: LearningReport, chart: str = "") -> str:
    """`chart`: the name of a drawing beside the page, or a sentence in its place."""
    lines = ["# Learning", "", *_INTRODUCTION.splitlines()]
    if report.stages:
        lines += ["", "## Stages", "", *markdown_table(_STAGES, [_stage(stage) for stage in report.stages])]
        lines += [line for stage in report.stages for line in _curves(stage)]
    if chart:
        lines += ["", f"![mean reward by samples judged]({chart})" if chart.endswith(".svg") else chart]
    if report.exams:
        lines += ["", "## Exams", "", *markdown_table(_EXAMS, [_exam(exam, report.stages) for exam in report.exams])]
    if report.compared:
        lines += ["", "## Exams of the same tasks", ""]
        lines += markdown_table(_COMPARED, [_compared(one) for one in report.compared])
    if report.left_out:
        lines += ["", "## Not counted", "", *(f"- {' '.join(why.split())}" for why in report.left_out)]
    return "\n".join([*lines, ""])


def drawing(report: LearningReport) -> tuple[str, str]:
    """The rewards of trainings as SVG, and why there is none."""
    rows = [
        {"stage": f"{stage.kind} {stage.folder.name}", "samples": samples, "reward": share.reward}
        for stage in report.stages
        for samples, share in _parts(stage)
        if share.reward is not None
    ]
    if not rows:
        return "", ""
    try:
        return draw(spec_of("learning", rows, {}), rows), ""
    except KlabError as fault:
        return "", f"No drawing: {fault.what} ({fault.fix})."


def data(report: LearningReport) -> dict[str, Any]:
    return {
        "stages": [_stage_data(stage) for stage in report.stages],
        "exams": [_exam_data(exam, report.stages) for exam in report.exams],
        "compared": [
            {"first": str(one.first.folder), "second": str(one.second.folder), "tasks": one.tasks,
             "ratio": one.ratio and _finite(one.ratio), "remarks": list(one.remarks)}
            for one in report.compared
        ],
        "left_out": report.left_out,
    }  # fmt: skip


def _stage(stage: Stage) -> list[str]:
    training, judged = stage.training, stage.judged
    told = ["", "", ""] if training is None else [training.origin, str(training.steps), _count(stage.lessons)]
    figures = [""] * 5
    if judged is not None:
        figures = [str(judged.whole.samples), *_share(judged.whole), f"`{judged.root}`"]
    elif training is not None and training.kind == "grpo":
        figures[0] = "not counted"
    return [stage.kind, str(stage.folder), *told, *figures]


def _curves(stage: Stage) -> Iterator[str]:
    name = f"{stage.kind} {stage.folder}"
    if stage.judged is not None:
        rows = [[str(samples), *_share(share)] for samples, share in _parts(stage)]
        head = ["samples judged, up to", "right", "mean reward", "masked"]
        yield from ("", f"{name}, from the ledger `{stage.judged.root}`:", "", *markdown_table(head, rows))
        return
    if sources := stage.sources:
        told = [[s.folder, f"`{s.root}`", str(s.replies), "; ".join(f"{n} {why}" for why, n in s.left_out.items())]
                for s in sources]  # fmt: skip
        yield from ("", f"{name} was taught, as its folder records it:", "")
        yield from markdown_table(["ledger", "ledger root", "replies", "left out"], told)
    if losses := stage.losses:
        rows = [["step", *(str(step) for step, _ in losses)], ["loss", *(f"{loss:.4g}" for _, loss in losses)]]
        yield from ("", f"{name}, as its folder records it:", "", *markdown_table(rows[0], rows[1:]))


def _parts(stage: Stage) -> Iterator[tuple[int, Share]]:
    """Each part of the curve, with the samples that were judged when it ended."""
    done = 0
    for share in stage.judged.curve if stage.judged else ():
        done += share.samples
        yield done, share


def _exam(exam: ExamFigures, stages: list[Stage]) -> list[str]:
    found = exam.result
    several = found.tasks > 1
    reward = "all masked" if found.reward is None else found.reward.words(several)
    return [str(exam.folder), _model(exam, stages), str(found.tasks), str(found.places), str(found.samples),
            found.right.words(several), reward, _percent(exam.masked), f"`{exam.root}`"]  # fmt: skip


def _compared(one: Comparison) -> list[str]:
    ratio = "" if one.ratio is None else one.ratio.words(one.tasks > 1)
    return [str(one.second.folder), str(one.first.folder), str(one.tasks), ratio, "; ".join(one.remarks)]


def _model(exam: ExamFigures, stages: list[Stage]) -> str:
    if exam.exam is None:
        return "not recorded"
    stage = examined(stages, exam.exam.record, exam.exam.weights)
    return f"{stage.kind} {stage.folder}" if stage else f"{exam.exam.model} (its folder is not among these)"


def _stage_data(stage: Stage) -> dict[str, Any]:
    training = stage.training
    return {
        "stage": stage.kind, "folder": str(stage.folder), "from": training.origin if training else None,
        "record": training.digest if training else None, "steps": training.steps if training else None,
        "lessons": stage.lessons, "losses": [list(point) for point in stage.losses],
        "judged": asdict(stage.judged) if stage.judged else None,
        "sources": [source.model_dump() for source in stage.sources],
    }  # fmt: skip


def _exam_data(exam: ExamFigures, stages: list[Stage]) -> dict[str, Any]:
    return {"folder": str(exam.folder), "model": _model(exam, stages), "run": exam.run, "ledger_root": exam.root,
            "device": exam.device, "masked_share": exam.masked, **exam.result.data(),
            "by_task": {name: asdict(found) for name, found in exam.tasks.items()}}  # fmt: skip


def _finite(found: Interval) -> dict[str, float | None]:
    """As JSON: an end that is infinite is null."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(found).items()}


def _share(share: Share) -> list[str]:
    reward = "all masked" if share.reward is None else f"{share.reward:.3f}"
    return [_percent(share.right), reward, _percent(share.masked)]


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _count(number: int | None) -> str:
    return "" if number is None else str(number)
