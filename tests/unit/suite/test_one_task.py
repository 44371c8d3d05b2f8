"""A task's run that was begun before: gone on with, refused, or set aside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.suite.conftest import SETTINGS

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.report.audit import audit
from kernellab.suite.conduct import SuiteOutcome
from kernellab.suite.folder import SuiteFolder
from kernellab.suite.one_task import SET_ASIDE, made_from, run_task

pytestmark = pytest.mark.backend_c


def record_of(ran: SuiteOutcome, task: str) -> str:
    known = SuiteFolder(ran.folder)
    return str(ran.folder / "tasks" / known.checks[task].record)


def test_a_run_that_has_ended_is_only_read(ran: SuiteOutcome, copied: Path) -> None:
    folder = copied / "runs" / "1_scaled"
    before = (folder / "ledger.jsonl").read_bytes()
    found = run_task(record_of(ran, "1_scaled"), SETTINGS, folder, ())
    then = next(t for t in ran.tasks if t.task == "1_scaled")
    assert (found.outcome, found.run, found.size, found.root) == (then.outcome, then.run, then.size, then.root)
    assert (folder / "ledger.jsonl").read_bytes() == before


def test_the_run_of_another_task_is_not_taken_for_this_one(ran: SuiteOutcome, copied: Path) -> None:
    with pytest.raises(UsageError, match="holds the run of another task"):
        run_task(record_of(ran, "2_sorted"), SETTINGS, copied / "runs" / "1_scaled", ())


@pytest.mark.heavy
def test_what_was_cut_off_before_it_can_be_resumed_is_set_aside_and_begun_anew(ran: SuiteOutcome, copied: Path) -> None:
    """The ledger has its first entry, and the copy of the task was not yet written."""
    folder = copied / "runs" / "2_sorted"
    for name in ("ledger.jsonl", "heads.jsonl"):
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(lines[0])
    (folder / "task.json").unlink()
    shutil.rmtree(folder / "artifacts", ignore_errors=True)
    said: list[Event] = []
    found = run_task(record_of(ran, "2_sorted"), SETTINGS, folder, (), said.append)
    assert found.outcome == "no-candidates"
    assert (copied / SET_ASIDE / "2_sorted-1" / "ledger.jsonl").is_file()
    assert audit(folder).problems == []
    assert any("it was set aside as 2_sorted-1" in e.text for e in said)
    assert made_from(SuiteFolder(ran.folder).run.__class__(folder))
