from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.records import FailedTrial, Proposal
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import Genesis, Note
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.search.experiment_run import ExperimentRun, candidates_of, task_of
from kernellab.tasks.load import load_task


@pytest.fixture(scope="module")
def folder(task_file: Path, quick: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one trial in it."""
    made = tmp_path_factory.mktemp("runs") / "run"
    with (
        OpenTask(quick, load_task(str(task_file)), str(task_file)) as opened,
        ExperimentRun.start(
            opened, made, [{"N": 32768}], [Candidate("text é", "mine")], "test", remarks=["it is blind"]
        ) as run,
    ):
        proposal = Proposal(source="s", name="mine")
        run.record(FailedTrial(trial=0, task="cube", dims={"N": 32768}, proposal=proposal, tier=opened.tier, seed=0,
                               device="", environment="", status="invalid", reason="no"))  # fmt: skip
    return made


def test_the_genesis_says_what_was_asked_for(folder: Path, quick: Settings) -> None:
    body = kinds.GENESIS.plain(Run(folder).genesis)
    assert body["settings"] == {**quick.model_dump(mode="json"), "device": "cpu"}
    assert (body["purpose"], body["task"]["name"], body["task"]["builtin"], body["shapes"]) == (
        "test",
        "cube",
        False,
        [{"N": 32768}],
    )
    assert body["environment"]["digest"]


def test_what_the_task_cannot_show_is_in_the_record_and_in_every_audit(folder: Path) -> None:
    genesis = Run(folder).genesis
    assert isinstance(genesis, Genesis)
    assert genesis.task.remarks == ["it is blind"]
    assert "task cube: it is blind" in audit(folder).remarks


def test_the_task_file_is_kept_in_the_run_and_found_again(folder: Path, task_file: Path) -> None:
    task, locator = task_of(folder)
    assert task.name == "cube"
    assert Path(locator) == folder / "task.py"
    assert (folder / "task.py").read_bytes() == task_file.read_bytes()


def test_the_candidates_are_kept_in_the_run(folder: Path) -> None:
    assert candidates_of(folder) == [Candidate("text é", "mine")]


def test_a_run_whose_task_was_changed_is_refused(folder: Path) -> None:
    file = folder / "task.py"
    text = file.read_text()
    try:
        file.write_text(text.replace("2 * x ** 3", "3 * x ** 3"))
        with pytest.raises(UsageError, match="is not the one this run was made with"):
            task_of(folder)
    finally:
        file.write_text(text)


def test_a_reopened_run_remembers_its_trials_and_says_that_it_was_resumed(folder: Path, quick: Settings) -> None:
    task, locator = task_of(folder)
    with OpenTask(quick, task, locator) as opened, ExperimentRun.resume(opened, folder) as run:
        assert [t.status for t in run.archive.trials] == ["invalid"]
    assert [e.kind for e in read_entries(folder)][-1] == "resume"


def test_a_run_that_cannot_begin_lets_go_of_its_folder(folder: Path, quick: Settings) -> None:
    def refuse(event: Event) -> None:
        if event.kind == "start":
            raise UsageError("no time is left", "")

    made = folder.parent / "refused"
    with OpenTask(quick, load_task("softmax"), "softmax", refuse, torch=False) as opened:
        with pytest.raises(UsageError):
            ExperimentRun.start(opened, made, [], [], "test")
        assert not check(made).problems
        with ExperimentRun.resume(opened, made) as run:
            assert run.archive.trials == []


@pytest.mark.heavy
def test_two_tasks_write_one_record_and_each_its_own_calibrations(folder: Path, quick: Settings) -> None:
    task, locator = task_of(folder)
    with OpenTask(quick, task, locator) as opened, ExperimentRun.resume(opened, folder) as run:
        with OpenTask(quick, load_task("softmax"), "softmax", torch=False) as second:
            other = run.beside(second)
            assert (other.ledger, other.store, other.archive) == (run.ledger, run.store, run.archive)
            assert (other.task.name, run.task.name) == ("softmax", "cube")
            assert other._written is not run._written
        run.append(kinds.NOTE, Note(candidate="none"))
    assert [e.kind for e in read_entries(folder)][-1] == "note"
