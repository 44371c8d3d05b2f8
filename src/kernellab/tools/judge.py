"""verify() and benchmark(): an artifact through the laboratory's whole chain, each call in a run folder of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.records import (
    Dims,
    FailedTrial,
    Rejected,
    RejectedTrial,
    UntimedTrial,
)
from kernellab.core.settings import Settings
from kernellab.core.targets import home_of, language
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.records import Published
from kernellab.ledger.run import Run
from kernellab.propose.prompts.withhold import without_paths
from kernellab.search.outcome import Outcome
from kernellab.search.reasons import reason_of
from kernellab.search.runs import try_candidate
from kernellab.search.verify import verify_candidate
from kernellab.targets.choose import choose_device
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task, dims_label, parse_dims
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
    context = context or ToolContext()
    if tol is not None and not (math.isfinite(tol) and tol >= 0):
        raise UsageError(f"a tolerance of {tol} ULP makes no sense", "give a number from 0 on, or none")
    kept = context.workspace.artifact(artifact)
    _task(context, kept, reference, dtype)
    deadline = context.deadline.sooner(timeout_s)
    folder = context.workspace.new_run(f"verify-{kept.id}")
    try:
        outcome = _judged(context, kept, folder, deadline)
    except TimeSpent as spent:
        return OutOfTime(artifact=kept.id, timeout_s=deadline.seconds, reason=str(spent), **_record(folder))
    return _verification(kept, folder, outcome, tol, context)


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
    context = context or ToolContext()
    effort = effort_for(repeats)
    kept = context.workspace.artifact(artifact)
    task = _task(context, kept, "", "")
    check_memory(vram_gb, home_of(kept.backend))
    wanted = [parse_dims(shape, task) for shape in shapes] or [kept.dims]
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


def _row(context: ToolContext, kept: Kept, settings: Settings, dims: Dims, deadline: Deadline) -> Timed | NotTimed:
    folder, shape = context.workspace.new_run(f"bench-{kept.id}"), dims_label(dims)
    try:
        outcome = _tried(context, kept, settings, folder, dims, deadline)
    except TimeSpent as spent:
        return NotTimed(status="out-of-time", shape=shape, reason=str(spent), **_record(folder))
    (result,) = outcome.results
    if outcome.status == "nothing-verified":
        refused = _refusal(kept, folder, context)
        why = f"{refused.cause}: {refused.reason}"
        return NotTimed(status="nothing-verified", shape=shape, reason=why, **_record(folder))
    if result.status == "busy" or not isinstance(result, Published):
        return NotTimed(status="busy", shape=shape, reason=without_paths(result.reason), **_record(folder))
    return Timed(
        status="better" if outcome.status == "better" else "nothing-better", shape=shape,
        latency_us=result.latency_s * 1e6, **result.model_dump(include=_TIMED), **_record(folder),
    )  # fmt: skip


def _judged(context: ToolContext, kept: Kept, folder: Path, deadline: Deadline) -> Outcome:
    """In the task that is open already, if it is this one."""
    candidate = context.workspace.candidate(context.workspace.kernel(kept.kernel))
    settings = choose_device(context.choose(effort="quick"), [candidate])
    tasks = context.workspace.open
    with context.workspace.lab:
        deadline.check()
        try:
            opened = tasks.open(settings, load_task(kept.task).on(settings.device), kept.task, deadline)
            return verify_candidate(kept.task, candidate, settings, folder, kept.dims, dict(kept.params), deadline,
                                    opened=opened, inputs_seed=tasks.inputs(kept.dims))  # fmt: skip
        except BaseException:
            tasks.close()
            raise


def _tried(
    context: ToolContext, kept: Kept, settings: Settings, folder: Path, dims: Dims, deadline: Deadline
) -> Outcome:
    candidate = context.workspace.candidate(context.workspace.kernel(kept.kernel))
    with context.workspace.lab:
        deadline.check()
        return try_candidate(kept.task, candidate, settings, folder, dims, dict(kept.params), deadline)


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


def _verification(kept: Kept, folder: Path, outcome: Outcome, tol: float | None, context: ToolContext) -> Verification:
    if outcome.status == "nothing-verified":
        return _refusal(kept, folder, context)
    run = Run(folder)
    trial = run.trials[0]
    assert isinstance(trial, UntimedTrial)
    verdict = trial.verdict
    if language(kept.backend).same_code and trial.artifact.code != kept.artifact.code:
        return Refused(artifact=kept.id, cause="build", reason="the build gave other machine code than the artifact's: "
                       "the compiler or its flags have changed; compile it again", **_record(folder))  # fmt: skip
    if tol is not None and tol < verdict.budget_ulp and verdict.max_ulp > tol:
        why = (
            f"its largest error is {verdict.max_ulp:.4g} ULP, and tol={tol:g} was asked for; the task itself allows it"
        )
        return Refused(artifact=kept.id, cause="tolerance", reason=why, max_ulp=verdict.max_ulp, **_record(folder))
    loose = tol is not None and tol > verdict.budget_ulp
    note = (
        f"tol={tol:g} ULP is looser than the task's own budget: {verdict.budget_ulp:.4g} ULP was applied"
        if loose
        else ""
    )
    figures = verdict.model_dump(include={"cases", "max_abs_err", "max_ulp", "budget_ulp", "deterministic"})
    return Verified(artifact=kept.id, tol=None if loose else tol, trust=outcome.trust, tier=outcome.tier, note=note,
                    **figures, **_record(folder))  # fmt: skip


def _refusal(kept: Kept, folder: Path, context: ToolContext) -> Refused:
    """From the trial or its confirmation, whichever said no."""
    run = Run(folder)
    trial = run.trials[0]
    if isinstance(trial, FailedTrial):
        source = context.workspace.candidate(context.workspace.kernel(kept.kernel)).text
        return Refused(artifact=kept.id, cause="build", reason=reason_of(trial, source), **_record(folder))
    verdict = trial.verdict if isinstance(trial, RejectedTrial) else run.confirmations[-1].verdict
    assert isinstance(verdict, Rejected)
    return Refused(
        artifact=kept.id, cause=verdict.cause, reason=without_paths(verdict.reason), case=verdict.case,
        max_ulp=verdict.max_ulp, **_record(folder),
    )  # fmt: skip


def _record(folder: Path) -> dict[str, Any]:
    """Where it is recorded; nothing where it ended before there was a ledger."""
    if not (folder / LEDGER_FILE).is_file():
        return {"folder": "", "ledger_root": ""}
    return {"folder": str(folder), "ledger_root": check(folder).root}
