"""What a confirmation needs is built while trials go on: every shape, those kept back too, takes longer than two."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from kernellab.build.base import Built, NotBuilt
from kernellab.core.records import MeasuredTrial, UntimedTrial
from kernellab.evaluate.request import Clocking, Judging, TrialRequest
from kernellab.evaluate.stage import Stage
from kernellab.search.experiment_run import ExperimentRun


def confirmation_request(run: ExperimentRun, stage: Stage, trial: MeasuredTrial | UntimedTrial) -> TrialRequest:
    asked = {"judging": Judging(level="full"), "clocking": Clocking(how="fixed"), "expected": trial.artifact}
    return run.opened.request(stage.dims, run.candidate_of(trial), trial.proposal.params, **asked)


class EarlyBuild:
    """Where builds run ahead: what the confirmation of the best trial so far will need, when there is little else to build.

    A build by another thread is the same build, and what it says is told by the confirmation, not before."""

    def __init__(self, run: ExperimentRun, stage: Stage) -> None:
        self._run, self._stage = run, stage
        self._pool = ThreadPoolExecutor(1, "early") if run.opened.device.build_jobs else None
        self._coming: tuple[int, Future[Built | NotBuilt]] | None = None

    def go_on(self) -> None:
        self._stage.expect_confirmation()
        best = self._best()
        if self._pool is None or best is None or (self._coming is not None and self._coming[0] == best.trial):
            return
        if self._coming is not None and not self._coming[1].done():
            return
        request = confirmation_request(self._run, self._stage, best)
        self._coming = (best.trial, self._pool.submit(self._run.opened.evaluator.build, request))

    def settle(self) -> None:
        """Wait for the one that will be wanted, and for no other."""
        best = self._best()
        if self._coming is not None and best is not None and self._coming[0] == best.trial:
            self._coming[1].result()

    def _best(self) -> MeasuredTrial | UntimedTrial | None:
        return next(iter(self._run.archive.promising(self._stage.task.name, self._stage.dims)), None)

    def __enter__(self) -> EarlyBuild:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
