"""What a confirmation needs is built while trials go on, where builds may: real builds of real trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.propose.base import Idea
from kernellab.search.early_build import EarlyBuild, confirmation_request
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import step
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}


@pytest.fixture(params=[pytest.param(0, id="alone", marks=pytest.mark.heavy), pytest.param(2, id="beside")])
def run(request: pytest.FixtureRequest, task_file: Path, quick: Settings, tmp_path: Path) -> Iterator[ExperimentRun]:
    settings = quick.model_copy(update={"build_jobs": request.param})
    with (
        OpenTask(settings, load_task(str(task_file)), str(task_file)) as opened,
        ExperimentRun.start(opened, tmp_path / "run", [DIMS], [], "search") as started,
    ):
        yield started


def test_the_best_trial_is_built_for_every_shape_where_builds_run_ahead(run: ExperimentRun, task_file: Path) -> None:
    stage = run.stage(DIMS)
    with EarlyBuild(run, stage) as early:
        early.go_on()
        assert early._coming is None, "there is no trial yet"
        step(run, stage, Idea(Candidate(task_file.read_text(), "cube"), {"STEP": 1, "BAD": 0}, "because", "user"))
        early.go_on()
        first = early._coming
        early.go_on()
        assert early._coming is first, "once is enough"
        early.settle()
        if not run.opened.device.build_jobs:
            assert first is None, "a processor that is measured does nothing else"
            return
        assert first is not None
        trial, found = first
        built = found.result()
        assert isinstance(built, Built)
        assert [part.dims for part in built.parts] == stage.every_shape
        best = run.archive.trials[trial]
        assert run.opened.evaluator.build(confirmation_request(run, stage, best)) is built  # type: ignore[arg-type]
