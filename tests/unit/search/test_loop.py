"""One step at a time; whole searches are in test_runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, Param, RejectedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.stage import Stage
from kernellab.propose.base import Idea
from kernellab.search.construct import read_recipes
from kernellab.search.lab import Lab
from kernellab.search.loop import score, step
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def lab(task_file: Path, quick: Settings) -> Iterator[Lab]:
    with Lab(quick, load_task(str(task_file)), str(task_file)) as opened:
        yield opened


@pytest.fixture(scope="module")
def stage(lab: Lab) -> Iterator[Stage]:
    made = lab.stage({"N": 32768})
    yield made
    made.close()


def test_each_ending_of_a_step_is_the_right_record_with_the_right_score(
    lab: Lab, stage: Stage, task_file: Path
) -> None:
    def take(text: str | None = None, **params: Param) -> object:
        idea = Idea(Candidate(text or task_file.read_text(), "cube"), params, "because", "user")
        return step(lab, stage, idea)

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
    assert lab.archive.trials == endings
    measured, twin, rejected, rejected_twin, invalid, broken = endings
    assert isinstance(measured, MeasuredTrial)
    assert isinstance(rejected, RejectedTrial)
    assert isinstance(invalid, FailedTrial)
    assert isinstance(broken, FailedTrial)
    assert [score(lab, t) for t in lab.archive.trials] == [measured.timing.speedup_low] * 2 + [None] * 4
    assert (invalid.status, broken.status) == ("invalid", "build-failed")
    assert (measured.proposal.why, measured.proposal.origin, measured.trust) == ("because", "user", "native")
    assert measured.inputs_seed == stage.table.seed.hex()
    assert rejected.verdict.cause == "wrong-output"
    assert isinstance(twin, DuplicateTrial)
    assert isinstance(rejected_twin, DuplicateTrial)
    assert (twin.of, rejected_twin.of) == (0, 2)


def test_no_trial_is_built_for_a_shape_that_is_kept_back(lab: Lab, stage: Stage) -> None:
    kept = [d for d in stage.task.held_out if d not in stage.task.edge]
    assert kept
    assert not any(d in stage.shapes for d in kept)
    assert all(d in stage.every_shape for d in kept)


def test_of_a_long_build_log_the_beginning_is_kept(lab: Lab, stage: Stage) -> None:
    text = "SOURCE = r'''" + "#error this is not C\n" * 400 + "'''\ndef launch(x, y):\n    kernel('k')(x, y)\n"
    idea = Idea(Candidate(text, "long"), {}, "because", "user")
    trial = step(lab, stage, idea)
    assert isinstance(trial, FailedTrial)
    assert len(trial.log) == 4000
    assert trial.log.count("this is not C") > 20


def test_no_candidates_are_no_recipes(quick: Settings) -> None:
    assert read_recipes([], quick) == ([], {})
