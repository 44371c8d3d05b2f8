"""One artifact from trial to confirmation. What the audit makes of records that say otherwise is in report/test_audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.build.base import Builder, Built, Candidate, Described, NotBuilt
from kernellab.core.records import (
    AnyTrial,
    Artifact,
    Confirmation,
    MeasuredTrial,
    Param,
    Passed,
    Rejected,
    UntimedTrial,
)
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import FORMAT, blobs_of, same_parts
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.stage import Stage
from kernellab.ledger.run import Run
from kernellab.propose.base import Idea
from kernellab.report.audit import audit
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import conclude, step
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, shape_key

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}


class TwoFaced:
    """Stands for a candidate that tells builds apart, however it may do that: from the second on it has another text."""

    backend = "c"

    def __init__(self, builder: Builder, later: str) -> None:
        self._builder, self._later, self._first = builder, later, True

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        return self._builder.describe(candidate)

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        chosen = candidate if self._first else replace(candidate, text=self._later)
        self._first = False
        return self._builder.build(task, chosen, params, shapes)


@pytest.fixture
def run(task_file: Path, quick: Settings, tmp_path: Path) -> Iterator[ExperimentRun]:
    with (
        OpenTask(quick, load_task(str(task_file)), str(task_file)) as opened,
        ExperimentRun.start(opened, tmp_path / "run", [DIMS], [], "search") as started,
    ):
        yield started


@pytest.fixture
def stage(run: ExperimentRun) -> Iterator[Stage]:
    made = run.stage(DIMS)
    yield made
    made.close()


def confirmed(run: ExperimentRun, stage: Stage, text: str) -> tuple[MeasuredTrial, Confirmation]:
    idea = Idea(Candidate(text, "cube"), {"STEP": 1, "BAD": 0}, "", "user")
    trial = step(run, stage, idea)
    assert isinstance(trial, MeasuredTrial)
    conclude(run, stage)
    return trial, run.archive.confirmations[-1]


def refusing_at(size: int, text: str) -> str:
    """The candidate, which raises at this size."""
    at = text.index("\n", text.index("def launch(")) + 1
    return f"{text[:at]}    if x.size == {size}:\n        raise ValueError(f'cannot do {{x.size}}')\n{text[at:]}"


@pytest.mark.heavy
def test_what_is_timed_is_what_was_judged_and_every_shape_is_stored(
    run: ExperimentRun, stage: Stage, task_file: Path, tmp_path: Path
) -> None:
    trial, confirmation = confirmed(run, stage, task_file.read_text())
    verdict, artifact, timed = confirmation.verdict, confirmation.artifact, shape_key(DIMS)
    assert isinstance(verdict, Passed)
    assert artifact is not None
    assert confirmation.timing is not None
    assert set(verdict.judged) == set(artifact.parts) == {shape_key(d) for d in stage.every_shape}
    assert verdict.judged == {label: part.id for label, part in artifact.parts.items()}
    assert confirmation.timing.part == artifact.parts[timed].id == trial.artifact.parts[timed].id == trial.timing.part
    assert same_parts(trial.artifact, artifact)
    assert set(trial.artifact.parts) == {shape_key(d) for d in stage.shapes} < set(artifact.parts)
    assert run.store.verify(blobs_of(artifact)) == []
    assert Run(tmp_path / "run").genesis.format == FORMAT
    assert audit(tmp_path / "run").problems == []


def test_a_confirmation_that_builds_other_bytes_than_the_trial_is_refused(
    run: ExperimentRun, stage: Stage, task_file: Path, tmp_path: Path
) -> None:
    text = task_file.read_text()
    run.opened.device.builder = TwoFaced(run.opened.builder, text.replace("-O3", "-O1"))
    assert text != text.replace("-O3", "-O1")
    _, confirmation = confirmed(run, stage, text)
    verdict = confirmation.verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.cause, verdict.reason) == ("plan", "the build gave other machine code than before")
    assert (confirmation.timing, confirmation.win) == (None, False)
    assert confirmation.artifact is not None
    assert audit(tmp_path / "run").problems == []


@pytest.mark.heavy
def test_a_shape_that_is_kept_back_is_not_told_of_when_it_does_not_build(
    run: ExperimentRun, stage: Stage, task_file: Path
) -> None:
    kept = next(d["N"] for d in stage.task.held_out)
    _, confirmation = confirmed(run, stage, refusing_at(kept, task_file.read_text()))
    assert isinstance(confirmation.verdict, Rejected)
    assert confirmation.verdict.reason.startswith("invalid at a shape that is kept back")
    assert str(kept) not in confirmation.verdict.reason


def test_records_of_older_versions_are_compared_by_the_timed_machine_code() -> None:
    facts = {"id": "i", "backend": "c", "plans": "p", "log": "l", "compiler": "cc", "flags": [], "static_bytes": 0}
    old, same, other = (Artifact.model_validate({**facts, "code": c, "build_s": 0.0}) for c in ("c", "c", "d"))
    assert same_parts(old, same)
    assert not same_parts(old, other)


@pytest.mark.heavy
def test_when_all_are_refused_the_best_of_another_text_is_judged(
    run: ExperimentRun, stage: Stage, task_file: Path, tmp_path: Path
) -> None:
    kept = next(d["N"] for d in stage.task.held_out)
    text = task_file.read_text()
    refusing = refusing_at(kept, text)
    for source in (refusing, refusing.replace("-O3", "-O1"), text.replace("-O3", "-O2")):
        trial = step(run, stage, Idea(Candidate(source, "cube"), {"STEP": 1, "BAD": 0}, "", "user"))
        assert isinstance(trial, MeasuredTrial | UntimedTrial)
    run.archive.trials = [_untimed(t) for t in run.archive.trials]  # whichever is the fastest
    conclude(run, stage)
    *refused, last = run.archive.confirmations
    assert [(c.trial, c.verdict.status) for c in refused] == [(0, "rejected"), (1, "rejected")]
    assert (last.trial, last.verdict.status) == (2, "passed")
    assert audit(tmp_path / "run").problems == []


def _untimed(trial: AnyTrial) -> AnyTrial:
    if not isinstance(trial, MeasuredTrial):
        return trial
    known = trial.model_dump(exclude={"status", "timing", "trust"})
    return UntimedTrial.model_validate({**known, "reason": "the machine was busy"})
