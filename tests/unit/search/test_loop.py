"""One step at a time; whole searches are in test_runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, Param, RejectedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.stage import Stage
from kernellab.propose.base import Idea
from kernellab.search.construct import read_recipes
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import Budget, step
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c


def test_a_budget_ends_with_its_trials_or_its_seconds() -> None:
    assert Budget(3, 0.0).left(2)
    assert not Budget(3, 0.0).left(3)
    assert Budget(3, 1000.0).left(0)
    assert not Budget(3, 1.0, started=time.monotonic() - 2).left(0)
    assert not Budget(3, 0.0, spent=lambda: True).left(0)


@pytest.fixture(scope="module")
def run(task_file: Path, quick: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExperimentRun]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    with (
        OpenTask(quick, load_task(str(task_file)), str(task_file)) as opened,
        ExperimentRun.start(opened, folder, [{"N": 32768}], [], "search") as started,
    ):
        yield started


@pytest.fixture(scope="module")
def stage(run: ExperimentRun) -> Iterator[Stage]:
    made = run.stage({"N": 32768})
    yield made
    made.close()


def test_each_ending_of_a_step_is_the_right_record_with_the_right_score(
    run: ExperimentRun, stage: Stage, task_file: Path
) -> None:
    def take(text: str | None = None, **params: Param) -> object:
        idea = Idea(Candidate(text or task_file.read_text(), "cube"), params, "because", "user")
        return step(run, stage, idea)

    endings = [
        take(STEP=1, BAD=0),
        take(STEP=2, BAD=0),
        take(STEP=1, BAD=1),
        take(STEP=2, BAD=1),
        take(STEP=0, BAD=0),
        take("x = 1 / 0"),
    ]
    kinds = [MeasuredTrial, DuplicateTrial, RejectedTrial, DuplicateTrial, FailedTrial, FailedTrial]
    assert [type(t) for t in endings] == kinds
    assert run.archive.trials == endings
    measured, twin, rejected, rejected_twin, invalid, broken = endings
    assert isinstance(measured, MeasuredTrial)
    assert isinstance(rejected, RejectedTrial)
    assert isinstance(invalid, FailedTrial)
    assert isinstance(broken, FailedTrial)
    outcomes = [run.outcome(t) for t in run.archive.trials]
    assert [o.score for o in outcomes] == [measured.timing.speedup_low] * 2 + [None] * 4
    assert [o.reached for o in outcomes] == ["timing", "timing", "screen", "screen", "build", "build"]
    assert [o.trial for o in outcomes] == list(range(6))
    assert outcomes[1].speedup == outcomes[0].speedup
    assert outcomes[0].max_ulp == measured.verdict.max_ulp
    assert outcomes[3].reason.startswith("wrong-output: ")
    assert outcomes[2].max_ulp == rejected.verdict.max_ulp
    assert outcomes[0].idea.candidate.text == task_file.read_text()
    assert (invalid.status, broken.status) == ("invalid", "build-failed")
    assert (measured.proposal.why, measured.proposal.origin, measured.trust) == ("because", "user", "native")
    assert measured.inputs_seed == stage.table.seed.hex()
    assert rejected.verdict.cause == "wrong-output"
    assert isinstance(twin, DuplicateTrial)
    assert isinstance(rejected_twin, DuplicateTrial)
    assert (twin.of, rejected_twin.of) == (0, 2)


def test_no_trial_is_built_for_a_shape_that_is_kept_back(run: ExperimentRun, stage: Stage) -> None:
    kept = [d for d in stage.task.held_out if d not in stage.task.edge]
    assert kept
    assert not any(d in stage.shapes for d in kept)
    assert all(d in stage.every_shape for d in kept)


def test_of_a_long_build_log_the_beginning_is_kept(run: ExperimentRun, stage: Stage) -> None:
    text = "SOURCE = r'''" + "#error this is not C\n" * 400 + "'''\ndef launch(x, y):\n    kernel('k')(x, y)\n"
    idea = Idea(Candidate(text, "long"), {}, "because", "user")
    trial = step(run, stage, idea)
    assert isinstance(trial, FailedTrial)
    assert len(trial.log) == 4000
    assert trial.log.count("this is not C") > 20


def test_no_candidates_are_no_recipes(quick: Settings) -> None:
    assert read_recipes([], quick) == ([], {})
