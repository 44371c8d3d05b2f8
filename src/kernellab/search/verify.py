"""One candidate judged and not timed: `klab verify`. What is cheap comes first, so that what is wrong is told at once.

The order: the file is read and built for the tuned and the edge shapes, judged there, then built and judged for every shape
in full, those kept back too. Neither baselines nor ceilings are made ready, so the whole machine may compute answers.
Covered: the same verdict, by the same judge, as a trial's and its confirmation's without their timed calls.
Not covered: the outputs of timed calls, and whatever only a clock shows. A claim about speed needs `klab bench`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.own_code import own_code
from kernellab.core.records import AnyTrial, FailedTrial, Param, Passed, Proposal, RejectedTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Judging, TrialRecord
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult, End, Judged, Unpublished
from kernellab.propose.recipe import with_defaults
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.outcome import Outcome
from kernellab.search.result import plain
from kernellab.targets.base import platform
from kernellab.targets.choose import choose_device
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.verdict.controls import examine

PURPOSE = "verify"
NOT_TIMED = "judged in full, and nothing was timed"


def verify_candidate(
    locator: str,
    candidate: Candidate,
    settings: Settings,
    folder: Path,
    dims: Dims | None = None,
    params: dict[str, Param] | None = None,
    emit: Listener = silent,
    sanitized: bool = False,
    opened: OpenTask | None = None,
    inputs_seed: str = "",
) -> Outcome:
    """`sanitized`: let compute-sanitizer look at it too; what it finds overrules the verdict.

    `opened`: the task, where it is open and proved already; `inputs_seed`: of the inputs of the full verdict, whose answers
    an open task may have kept.
    """
    settings = choose_device(settings, [candidate])
    if sanitized and platform(settings.device).sanitizer() is None:
        raise UsageError("--sanitize is for kernels on a GPU: compute-sanitizer cannot look at machine code of a processor",
                         "leave it out, or give a Triton or CUDA candidate and --device cuda")  # fmt: skip
    task = load_task(locator).on(settings.device)
    dims = dims or min(task.tune, key=task.least_bytes)
    with _ready(settings, task, locator, emit, opened) as (ready, remarks):
        chosen = with_defaults(ready.builder, candidate, params)
        if not inputs_seed:
            asked = ready.request(dims, candidate, chosen, judging=Judging(level="full"))
            ready.evaluator.expect(asked)
        with ExperimentRun.start(ready, folder, [dims], [candidate], PURPOSE, chosen, remarks=remarks) as run:
            return judge_run(run, dims, candidate, chosen, sanitized, inputs_seed)


@contextmanager
def _ready(
    settings: Settings, task: Task, locator: str, emit: Listener, opened: OpenTask | None
) -> Iterator[tuple[OpenTask, tuple[str, ...]]]:
    """The task, open, with the remarks of those who proved it; while processes start, there is time to prove it."""
    if opened is not None:
        yield opened, ()
        return
    with ThreadPoolExecutor(2) as pool:
        proving = pool.submit(examine, task)
        pool.submit(own_code)  # kept: whoever names the code that judged need not wait for its digest
        with OpenTask(settings, task, locator, emit) as ready:
            remarks = proving.result().remarks
            for remark in remarks:
                emit(Event("note", f"remark: {remark}"))
            yield ready, remarks


def judge_run(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], sanitized: bool = False,
    inputs_seed: str = "",
) -> Outcome:  # fmt: skip
    """The trial, its result and the end of the run."""
    result = judge_trial(run, dims, candidate, params, inputs_seed)
    extras: dict[str, Any] = {}
    if sanitized:
        from kernellab.search.on_request import sanitize_candidate

        result, extras["sanitizer"] = sanitize_candidate(run, dims, candidate, params, result)
    run.append(kinds.END, End(results=[result], **({"extras": extras} if extras else {})))
    opened = run.opened
    outcome = Outcome(run.folder, opened.tier, opened.trust, run.ledger.root, (result,), extras)
    run.emit(Event("end", outcome.status, outcome.data()))
    return outcome


def judge_trial(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], inputs_seed: str = ""
) -> AnyResult:
    """One trial of a run that may go on: judged and recorded, with its result."""
    found = _judged(run, dims, candidate, params, inputs_seed)
    trial = run.record(_trial(run, dims, candidate, params, found))
    result = _result(run, dims, trial)
    run.append(kinds.RESULT, result)
    run.emit(Event("result", result.reason, plain(result)))
    return result


def _judged(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], inputs_seed: str
) -> TrialRecord:
    """On the tuned and the edge shapes, which takes a moment; then, where that went well, in full."""
    found = run.evaluate(run.opened.request(dims, candidate, params))
    if found.status != "passed":
        return found
    run.emit(Event("note", f"right on {found.passed.cases if found.passed else 0} quick cases; now every case"))
    judging = Judging(level="full", inputs_seed=inputs_seed)
    whole = run.evaluate(run.opened.request(dims, candidate, params, judging=judging, expected=found.artifact))
    run.keep_listing(whole)
    return whole


def _trial(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], found: TrialRecord
) -> AnyTrial:
    source = sha256_hex(candidate.text.encode())
    why = "handed in by the user"
    proposal = Proposal(source=source, name=candidate.name, params=params, why=why, origin="user")
    common: dict[str, Any] = {
        "trial": len(run.archive.trials), "task": run.task.name, "dims": dims, "proposal": proposal, "tier": found.tier,
        "seed": run.seed, "device": found.device, "environment": found.environment, "wall_s": found.wall_s,
    }  # fmt: skip
    if found.status in ("invalid", "build-failed"):
        return FailedTrial(**common, status=found.status, reason=_discreet(found, run, dims), log=found.log)
    common |= {"artifact": found.artifact, "inputs_seed": found.inputs_seed, "verdict": found.verdict}
    if found.status == "rejected":
        return RejectedTrial(**common)
    return UntimedTrial(**common, status="verified", reason=NOT_TIMED)


def _discreet(found: TrialRecord, run: ExperimentRun, dims: Dims) -> str:
    """The candidate's own words only where they cannot tell of a shape that is kept back."""
    if found.failed_at is None or found.failed_at not in run.task.held_out or found.failed_at == dims:
        return found.reason
    return f"{found.status} at a shape that is kept back, though not at the tuned and the edge shapes"


def _result(run: ExperimentRun, dims: Dims, trial: AnyTrial) -> AnyResult:
    where = f"{run.task.name} {dims_label(dims)}"
    facts: dict[str, Any] = {"task": run.task.name, "dims": dims, "dtype": run.task.outputs[0].dtype,
                             "threads": run.opened.device.rig.threads}  # fmt: skip
    if isinstance(trial, UntimedTrial):
        verdict: Passed = trial.verdict
        figures = verdict.model_dump(include={"cases", "max_abs_err", "max_ulp", "budget_ulp", "deterministic"})
        bits = "the same bits again" if verdict.deterministic else "other bits each time, all of them right"
        reason = (
            f"{where}: right in {verdict.cases} cases, error up to {verdict.max_ulp:.3g} ULP of "
            f"{verdict.budget_ulp:.3g} allowed, {bits}; nothing was timed"
        )
        return Judged(**facts, status="verified", trial=trial.trial, reason=reason, **figures)
    if isinstance(trial, RejectedTrial):
        why = f"{trial.verdict.cause}: {trial.verdict.reason}"
    else:
        assert isinstance(trial, FailedTrial)
        why = f"{trial.status}: {trial.reason}"
    return Unpublished(**facts, status="nothing-verified", reason=f"{where}: no candidate passed: {why}", trial=None)
