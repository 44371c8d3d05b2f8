from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.records import FailedTrial, Proposal
from kernellab.core.settings import Settings
from kernellab.ledger import kinds
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import Note
from kernellab.ledger.run import Run
from kernellab.search.lab import Budget, Lab, candidates_of, task_of
from kernellab.tasks.load import load_task


def test_a_budget_ends_with_its_trials_or_its_seconds() -> None:
    assert Budget(3, 0.0).left(2)
    assert not Budget(3, 0.0).left(3)
    assert Budget(3, 1000.0).left(0)
    assert not Budget(3, 1.0, started=time.monotonic() - 2).left(0)
    assert not Budget(3, 0.0, spent=lambda: True).left(0)


@pytest.fixture(scope="module")
def folder(task_file: Path, quick: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one trial in it."""
    made = tmp_path_factory.mktemp("runs") / "run"
    with Lab(quick, load_task(str(task_file)), str(task_file)) as lab:
        lab.begin(made, [{"N": 32768}], [Candidate("text é", "mine")], "test")
        proposal = Proposal(source="s", name="mine")
        lab.record(FailedTrial(trial=0, task="cube", dims={"N": 32768}, proposal=proposal, tier=lab.tier, seed=0,
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
    with Lab(quick, task, locator) as lab:
        lab.reopen(folder)
        assert [t.status for t in lab.archive.trials] == ["invalid"]
    assert [e.kind for e in read_entries(folder)][-1] == "resume"


def test_without_a_run_folder_nothing_is_written(task_file: Path, quick: Settings) -> None:
    with Lab(quick, load_task(str(task_file)), str(task_file)) as lab:
        lab.append(kinds.NOTE, Note(candidate="none"))
        lab.keep(b"x")
        assert lab.ledger is None
        assert lab.tier == lab.device.sandbox.tier
        assert lab.trust == "native"
