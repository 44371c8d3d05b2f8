"""A second look at what was judged, where it is asked for: by a sanitizer, and by a profiler. Both are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.events import Event
from kernellab.core.records import MeasuredTrial, Param
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult, ProfileReport, SanitizerReport, Unpublished
from kernellab.measurement.profile import NoCounters, Profile, from_timing
from kernellab.search.experiment_run import ExperimentRun
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.spec import Dims, dims_label
from kernellab.verdict.cases import all_shapes
from kernellab.verdict.sanitize import Sanitized


def sanitize_candidate(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], result: AnyResult
) -> tuple[AnyResult, dict[str, Any] | str]:
    """The sanitizer on what was judged, at the edge shapes. A finding overrules the verdict; both are recorded."""
    sanitizer = run.opened.platform.sanitizer()
    built = run.opened.builder.build(run.task, candidate, params, all_shapes(run.task, dims))
    reason = f"not run: {built.reason}" if isinstance(built, NotBuilt) else ""
    if not reason and (missing := "there is none for this device" if sanitizer is None else sanitizer.missing()):
        reason = f"not available: {missing}"
    place: dict[str, Any] = {"task": run.task.name, "dims": dims, "reason": reason}
    if reason or sanitizer is None or isinstance(built, NotBuilt):
        run.append(kinds.SANITIZER, SanitizerReport(artifact="", **place, **Sanitized((), ()).data()))
        run.emit(Event("note", f"sanitizer {reason}"))
        return result, reason
    cases = sanitizer.sanitizer_cases(run.task)
    run.emit(Event("note", f"{sanitizer.NAME}: {', '.join(sanitizer.TOOLS)} on {len(cases)} cases"))
    found = sanitizer.sanitize(built, run.task, cases)
    run.append(kinds.SANITIZER, SanitizerReport(artifact=built.artifact.id, **place, **found.data()))
    if found.findings and result.status != "nothing-verified":
        why = "; ".join(map(str, found.findings))
        reason = f"{run.task.name} {dims_label(dims)}: no candidate passed: {sanitizer.NAME}: {why}"
        result = Unpublished(
            task=result.task, dims=result.dims, dtype=result.dtype, threads=result.threads,
            status="nothing-verified", reason=reason, trial=None,
        )  # fmt: skip
        run.append(kinds.RESULT, result)
    return result, found.data()


def profile_trial(run: ExperimentRun, stage: Stage, number: int) -> ProfileReport:
    """What bounds a confirmed trial, recorded; from the clock alone where no counters can be read."""
    trial, task, dims = run.archive.trials[number], run.task, stage.dims
    confirmed = next(c for c in run.archive.confirmed(task.name, dims) if c.trial == number)
    assert isinstance(trial, MeasuredTrial)
    assert confirmed.timing is not None
    run.emit(Event("note", f"profiling trial {number}"))
    try:
        found = _counted(run, stage, trial)
    except NoCounters as why:
        flops, ceiling = stage.calibration.flops, stage.calibration.ceilings.flops
        found = from_timing(confirmed.timing, flops, ceiling, str(why))
    report = ProfileReport(trial=number, task=task.name, dims=dims, artifact=trial.artifact.id, **found.data())
    run.append(kinds.PROFILE, report)
    return report


def _counted(run: ExperimentRun, stage: Stage, trial: MeasuredTrial) -> Profile:
    profiler = run.opened.platform.profiler()
    if profiler is None:
        raise NoCounters("hardware counters are read on a GPU only")
    built = run.opened.builder.build(run.task, run.candidate_of(trial), dict(trial.proposal.params), stage.shapes)
    if isinstance(built, NotBuilt) or built.artifact.id != trial.artifact.id:
        raise NoCounters("the build gave other machine code than before")
    inputs = draw_inputs(run.task, stage.dims, next(iter(run.task.distributions)), np.random.default_rng())
    return profiler(built, run.task, stage.dims, inputs)
