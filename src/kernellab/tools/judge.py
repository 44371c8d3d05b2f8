"""verify() and benchmark(): an artifact through the laboratory's whole chain; all calls of a session in one ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial, Dims, FailedTrial, Rejected, RejectedTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.core.targets import home_of, language
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger.records import AnyResult, Calibration, Published
from kernellab.measurement.stats import median
from kernellab.propose.prompts.withhold import without_paths
from kernellab.propose.recipe import with_defaults
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.reasons import reason_of
from kernellab.search.runs import time_trial
from kernellab.search.verify import judge_trial
from kernellab.targets.choose import choose_device
from kernellab.tasks.load import load_task
from kernellab.tasks.room import read_shape
from kernellab.tasks.spec import Task, dims_label
from kernellab.tools.context import ToolContext
from kernellab.tools.quota import Deadline, TimeSpent, check_memory, effort_for, over_memory
from kernellab.tools.records import Benchmarked, NotTimed, OutOfTime, Refused, Spec, Timed, Verification, Verified
from kernellab.tools.workspace import Kept

REPEATS = 41
_TIMED = {"speedup", "speedup_low", "speedup_high", "baseline", "gb_per_s", "of_floor", "max_ulp"}


def verify(
    artifact: str,
    reference: str = "",
    dtype: str = "",
    tol: float | None = None,
    *,
    timeout_s: float = 0.0,
    context: ToolContext | None = None,
) -> Verification:
    """The judge's full verdict in seconds: every edge shape, held-out shapes, repeatability. Nothing is timed.

    `reference` and `dtype` may say again which task this is for; another one is refused. `tol` is the largest error in
    ULP that is accepted. It tightens the task's own error budget and never loosens it: where more is asked for, the
    task's budget holds, and the note says so.
    """
    if tol is not None and not (math.isfinite(tol) and tol >= 0):
        raise UsageError(f"a tolerance of {tol} ULP makes no sense", "give a number from 0 on, or none")
    with _at(context) as context:
        kept = context.workspace.artifact(artifact)
        _task(context, kept, reference, dtype)
        deadline = context.deadline.sooner(timeout_s)
        try:
            trial, opened = _judged(context, kept, deadline)
        except TimeSpent as spent:
            return OutOfTime(artifact=kept.id, timeout_s=deadline.seconds, reason=str(spent), **_record(context))
        return _verification(kept, trial, opened, tol, context)


def benchmark(
    artifact: str,
    shapes: Sequence[str] = (),
    repeats: int = REPEATS,
    timeout_s: float = 0.0,
    vram_gb: float = 0.0,
    *,
    context: ToolContext | None = None,
) -> Benchmarked:
    """Speed-up over the fastest baseline at each shape (default: the one it was compiled for); judged first, in full.

    `repeats`: at least so many paired samples in the confirmation, which says how much effort is spent. `timeout_s`
    and `vram_gb` are quotas for the whole call and for one candidate's buffers.
    """
    effort = effort_for(repeats)
    with _at(context) as context:
        return _benchmarked(context, context.workspace.artifact(artifact), shapes, effort, timeout_s, vram_gb)


def _benchmarked(
    context: ToolContext, kept: Kept, shapes: Sequence[str], effort: str, timeout_s: float, vram_gb: float
) -> Benchmarked:
    task = _task(context, kept, "", "")
    check_memory(vram_gb, home_of(kept.backend))
    wanted = [read_shape(shape, task) for shape in shapes] or [kept.dims]
    deadline = context.deadline.sooner(timeout_s)
    settings = context.choose(effort=effort, vram_gb=vram_gb or None)
    rows: list[Timed | NotTimed] = []
    for dims in {dims_label(d): d for d in wanted}.values():
        over = over_memory(task, dims, vram_gb)
        late = bool(rows) and isinstance(rows[-1], NotTimed) and rows[-1].status == "out-of-time"
        if over:
            rows.append(NotTimed(status="over-quota", shape=dims_label(dims), reason=over))
        elif late:
            rows.append(NotTimed(status="out-of-time", shape=dims_label(dims), reason="no time was left for it"))
        else:
            rows.append(_row(context, kept, settings, dims, deadline))
    return Benchmarked(artifact=kept.id, effort=effort, rows=tuple(rows))


@contextmanager
def _at(context: ToolContext | None) -> Iterator[ToolContext]:
    """The caller's context; without one, one for this call alone, whose session ends with it."""
    own = context or ToolContext()
    try:
        yield own
    finally:
        if context is None:
            own.workspace.close()


def _row(context: ToolContext, kept: Kept, settings: Settings, dims: Dims, deadline: Deadline) -> Timed | NotTimed:
    shape = dims_label(dims)
    try:
        trial, result, refused, known = _timed(context, kept, settings, dims, deadline)
    except TimeSpent as spent:
        return NotTimed(status="out-of-time", shape=shape, reason=str(spent), **_record(context))
    recorded = _record(context, trial)
    if refused is not None:
        why = f"{refused.cause}: {refused.reason}"
        return NotTimed(status="nothing-verified", shape=shape, reason=why, **recorded)
    if result.status == "busy" or not isinstance(result, Published):
        return NotTimed(status="busy", shape=shape, reason=without_paths(result.reason), **recorded)
    return Timed(
        status="better" if result.status == "better" else "nothing-better", shape=shape,
        latency_us=result.latency_s * 1e6, bound=known.bound,
        baseline_us=median(known.baselines[known.fastest][0]) * 1e6, **result.model_dump(include=_TIMED), **recorded,
    )  # fmt: skip


def _judged(context: ToolContext, kept: Kept, deadline: Deadline) -> tuple[AnyTrial, OpenTask]:
    """In the task that is open already, if it is this one."""
    candidate = context.workspace.candidate(context.workspace.kernel(kept.kernel))
    settings = choose_device(context.choose(effort="quick"), [candidate])
    tasks, session = context.workspace.open, context.workspace.session
    with context.workspace.lab:
        deadline.check()
        try:
            task = load_task(kept.task).on(settings.device)
            session.prove(task, deadline)
            opened = tasks.open(settings, task, kept.task, deadline)
            params = with_defaults(opened.builder, candidate, dict(kept.params))
            run = session.go_on(opened, kept.dims)
            judge_trial(run, kept.dims, candidate, params, tasks.inputs(kept.dims))
            return _noted(context, run, "verify", kept), opened
        except BaseException:
            tasks.close()
            raise


def _timed(
    context: ToolContext, kept: Kept, settings: Settings, dims: Dims, deadline: Deadline
) -> tuple[AnyTrial, AnyResult, Refused | None, Calibration]:
    """In a task opened for it alone: nothing else may use the machine meanwhile."""
    candidate = context.workspace.candidate(context.workspace.kernel(kept.kernel))
    settings = choose_device(settings, [candidate])
    session = context.workspace.session
    with context.workspace.lab:
        deadline.check()
        task = load_task(kept.task).on(settings.device)
        session.prove(task, deadline)
        with OpenTask(settings, task, kept.task, deadline) as opened:
            params = with_defaults(opened.builder, candidate, dict(kept.params))
            run = session.go_on(opened, dims)
            result = time_trial(run, dims, candidate, params)
            trial = _noted(context, run, "benchmark", kept)
            refused = _refusal(kept, run, trial, context) if result.status == "nothing-verified" else None
            return trial, result, refused, run.first_calibration(dims)


def _noted(context: ToolContext, run: ExperimentRun, tool: Literal["verify", "benchmark"], kept: Kept) -> AnyTrial:
    trial = run.archive.trials[-1]
    context.workspace.session.note(tool, trial, kept.kernel, kept.id)
    return trial


def _task(context: ToolContext, kept: Kept, reference: str, dtype: str) -> Task:
    """The artifact's task, which must be the one that it was compiled for."""
    task = load_task(kept.task).on(home_of(kept.backend))
    if task.fingerprint() != kept.fingerprint:
        raise UsageError(f"the task '{task.name}' has changed since {kept.id} was compiled", "compile it again")
    if reference or dtype:
        asked, _ = context.locate(Spec(task=reference or kept.task, dtype=dtype))
        if asked.name != task.name:
            raise UsageError(
                f"{kept.id} was compiled for {task.name}, not for {asked.name}", "compile it for that task"
            )
    return task


def _verification(
    kept: Kept, trial: AnyTrial, opened: OpenTask, tol: float | None, context: ToolContext
) -> Verification:
    recorded = _record(context, trial)
    if not isinstance(trial, UntimedTrial):
        return _refused(kept, trial, context)
    verdict = trial.verdict
    if language(kept.backend).same_code and trial.artifact.code != kept.artifact.code:
        return Refused(artifact=kept.id, cause="build", reason="the build gave other machine code than the artifact's: "
                       "the compiler or its flags have changed; compile it again", **recorded)  # fmt: skip
    if tol is not None and tol < verdict.budget_ulp and verdict.max_ulp > tol:
        why = (
            f"its largest error is {verdict.max_ulp:.4g} ULP, and tol={tol:g} was asked for; the task itself allows it"
        )
        return Refused(artifact=kept.id, cause="tolerance", reason=why, max_ulp=verdict.max_ulp, **recorded)
    loose = tol is not None and tol > verdict.budget_ulp
    note = (
        f"tol={tol:g} ULP is looser than the task's own budget: {verdict.budget_ulp:.4g} ULP was applied"
        if loose
        else ""
    )
    figures = verdict.model_dump(include={"cases", "max_abs_err", "max_ulp", "budget_ulp", "deterministic"})
    return Verified(artifact=kept.id, tol=None if loose else tol, trust=opened.trust, tier=opened.tier, note=note,
                    **figures, **recorded)  # fmt: skip


def _refusal(kept: Kept, run: ExperimentRun, trial: AnyTrial, context: ToolContext) -> Refused:
    """From the trial or its confirmation, whichever said no."""
    if isinstance(trial, (FailedTrial, RejectedTrial)):
        return _refused(kept, trial, context)
    verdict = next(c.verdict for c in run.archive.confirmations if c.trial == trial.trial)
    assert isinstance(verdict, Rejected)
    return _rejected(kept, verdict, _record(context, trial))


def _refused(kept: Kept, trial: AnyTrial, context: ToolContext) -> Refused:
    if isinstance(trial, FailedTrial):
        source = context.workspace.candidate(context.workspace.kernel(kept.kernel)).text
        return Refused(artifact=kept.id, cause="build", reason=reason_of(trial, source), **_record(context, trial))
    assert isinstance(trial, RejectedTrial)
    return _rejected(kept, trial.verdict, _record(context, trial))


def _rejected(kept: Kept, verdict: Rejected, recorded: dict[str, Any]) -> Refused:
    return Refused(
        artifact=kept.id, cause=verdict.cause, reason=without_paths(verdict.reason), case=verdict.case,
        max_ulp=verdict.max_ulp, **recorded,
    )  # fmt: skip


def _record(context: ToolContext, trial: AnyTrial | None = None) -> dict[str, Any]:
    """Where it is recorded; nothing where it ended before there was a ledger."""
    session = context.workspace.session
    place = {"folder": str(session.folder) if session.folder else "", "ledger_root": session.root}
    return {**place, "trial": trial.trial if trial else None}
