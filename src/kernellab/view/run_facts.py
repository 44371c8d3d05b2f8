"""What the page of a run says: plain data from its records, nothing of HTML."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernellab.ledger import kinds
from kernellab.ledger.records import Environment, Published
from kernellab.measurement.stats import median
from kernellab.propose.models.journal import CALL
from kernellab.report.paper.figures import best_trial
from kernellab.report.paper.ledger_prefix import LedgerPrefix, Shape
from kernellab.report.run_words import outcome
from kernellab.search.scientist.notebook import KIND_OF
from kernellab.studies.judgement import VERDICT, StudyVerdict
from kernellab.studies.registration import STUDY, Registration
from kernellab.view.progress import Progress, progress_of
from kernellab.view.trial_line import TrialLine, line_of

PAGE = 500
"""Trials on one page."""


@dataclass(frozen=True)
class ShapeFacts:
    """Milliseconds a call: of the fastest baseline as calibrated, of the floor. `result`: "" while there is none."""

    index: int
    label: str
    trials: int
    baseline: str
    baseline_ms: float | None
    floor_ms: float | None
    noise: float | None
    best: TrialLine | None
    result: str
    reason: str


@dataclass(frozen=True)
class RunFacts:
    run: str
    task: str
    purpose: str
    device: str
    started: str
    entries: int
    made_by: str
    progress: Progress
    counts: dict[str, int]
    shapes: list[ShapeFacts]
    lines: list[TrialLine]
    page: int
    pages: int
    notes: int
    questions: int
    studies: list[tuple[Registration, StudyVerdict | None]]
    missing: dict[str, str]


def run_facts(run: LedgerPrefix, page: int = 1) -> RunFacts:
    """The newest trials come first: those of page 1 are the last that were written."""
    start = run.start
    trials = run.trials
    pages = max(1, -(-len(trials) // PAGE))
    shown = list(reversed(trials))[(page - 1) * PAGE : page * PAGE]
    confirmations = {c.trial: c for c in run.confirmations}
    verdicts = {v.id: v for v in run.records(VERDICT)}
    return RunFacts(
        run=run.run, task=start.task.name if hasattr(start, "task") else "", purpose=start.purpose,
        device=start.environment.device, started=run.first.time, entries=run.size, made_by=_made_by(start.environment),
        progress=progress_of(run), counts=dict(sorted(Counter(str(t.status) for t in trials).items())),
        shapes=[_shape(run, n, shape) for n, shape in enumerate(run.shapes)],
        lines=[line_of(t, confirmations.get(t.trial)) for t in shown], page=page, pages=pages,
        notes=sum(run.count(kind) for kind in KIND_OF.values()), questions=run.count(CALL),
        studies=[(r, verdicts.get(r.id)) for r in run.records(STUDY)],
        missing=dict(getattr(start, "missing_baselines", {})),
    )  # fmt: skip


def _made_by(by: Environment) -> str:
    return f"kernellab {by.version}, code {by.code[:16]}" if by.code else "code that is not named"


def _shape(run: LedgerPrefix, index: int, shape: Shape) -> ShapeFacts:
    calibration = run.at(kinds.CALIBRATION, shape.calibration) if shape.calibration is not None else None
    result = run.at(kinds.RESULT, shape.result) if shape.result is not None else None
    best = best_trial(run, shape)
    confirmations = {c.trial: c for c in run.confirmations}
    found = run.trial_at(best) if best is not None else None
    baseline = median(calibration.baselines[calibration.fastest][0]) * 1e3 if calibration else None
    return ShapeFacts(
        index=index, label=f"{shape.task} {shape.label}", trials=len(shape.trials),
        baseline=calibration.fastest if calibration else "", baseline_ms=baseline,
        floor_ms=calibration.floor_s * 1e3 if calibration else None,
        noise=calibration.noise_floor if calibration else None,
        best=line_of(found, confirmations.get(found.trial)) if found is not None else None,
        result=outcome(result) if result else "",
        reason="" if result is None or isinstance(result, Published) else result.reason,
    )  # fmt: skip
