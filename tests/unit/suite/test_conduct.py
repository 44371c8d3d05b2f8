"""Suites that are run, gone on with, asked for on other terms, or found changed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.e2e.command import offspring
from tests.unit.suite.conftest import SETTINGS

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.ledger import kinds
from kernellab.ledger.run import Run
from kernellab.ledger.suite_records import SUITE_TASK
from kernellab.report.audit import audit
from kernellab.suite.audit import audit_suite
from kernellab.suite.conduct import SuiteOutcome, SuiteRequest, resume_suite, run_suite
from kernellab.suite.folder import SuiteFolder
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.suites.finding import find_suite

pytestmark = pytest.mark.backend_c
Requests = Callable[..., SuiteRequest]


def outcomes(outcome: SuiteOutcome) -> dict[str, str]:
    return {t.task: t.outcome for t in outcome.tasks}


def test_each_task_has_its_outcome_and_those_that_ran_a_run_of_their_own(ran: SuiteOutcome) -> None:
    found = outcomes(ran)
    assert found.pop("1_scaled") in ("better", "nothing-better", "busy")
    assert found == {"2_sorted": "no-candidates", "4_missing": "refused", "6_again": "left-out"}
    assert ran.status == "ended"
    for task in ran.tasks:
        folder = ran.folder / "runs" / task.task
        assert folder.is_dir() == bool(task.run)
        if task.run:
            report = audit(folder)
            assert (report.problems, report.run, report.root, report.entries) == ([], task.run, task.root, task.size)


def test_without_candidates_baselines_and_floor_are_measured(ran: SuiteOutcome) -> None:
    run = SuiteFolder(ran.folder).run_folder("2_sorted")
    report = audit(run)
    assert (report.trials, report.ended) == (0, True)
    assert report.figures >= 3


def test_a_finished_suite_is_only_read(ran: SuiteOutcome, problems: Path, request_for: Requests) -> None:
    before = (ran.folder / "ledger.jsonl").read_bytes()
    said: list[Event] = []
    again = run_suite(find_suite(path=str(problems)), request_for(), ran.folder, said.append)
    assert (outcomes(again), again.root) == (outcomes(ran), ran.root)
    assert "nothing to resume" in said[-1].text
    assert (ran.folder / "ledger.jsonl").read_bytes() == before


def test_other_terms_need_another_folder(ran: SuiteOutcome, problems: Path, request_for: Requests) -> None:
    suite = find_suite(path=str(problems))
    for other, asked, words in [
        (find_suite(path=str(problems), tasks="1"), request_for(), "other tasks"),
        (suite, SuiteRequest(SETTINGS), "other candidates"),
        (suite, replace(request_for(), settings=SETTINGS.model_copy(update={"trials": 9})), "other settings"),
        (suite, replace(request_for(), wishes=Wishes(keep_text=False)), "the problems' texts kept"),
        (find_suite("lab", tasks="gemv-f32"), SuiteRequest(SETTINGS), "another suite, other tasks"),
    ]:
        with pytest.raises(UsageError, match=words):
            run_suite(other, asked, ran.folder)


@pytest.mark.slow
def test_what_is_left_of_a_cut_suite_is_run_and_what_was_finished_is_left_alone(
    ran: SuiteOutcome,
) -> None:
    """The root as it was when the second task had begun, which is what kill -9 leaves."""
    folder = _copied(ran)
    _cut_root(folder, after="1_scaled")
    shutil.rmtree(folder / "runs" / "2_sorted")
    kept = (folder / "runs" / "1_scaled" / "ledger.jsonl").read_bytes()
    done = resume_suite(folder)
    assert outcomes(done) == outcomes(ran)
    assert (folder / "runs" / "1_scaled" / "ledger.jsonl").read_bytes() == kept
    assert SuiteFolder(folder).run.count(SUITE_TASK) == 4


@pytest.mark.slow
def test_a_run_that_ended_before_the_root_knew_is_not_run_again(ran: SuiteOutcome) -> None:
    folder = _copied(ran)
    _cut_root(folder, after="1_scaled")
    kept = (folder / "runs" / "2_sorted" / "ledger.jsonl").read_bytes()
    done = resume_suite(folder)
    assert outcomes(done) == outcomes(ran)
    assert (folder / "runs" / "2_sorted" / "ledger.jsonl").read_bytes() == kept


@pytest.mark.slow
def test_a_problem_that_was_changed_meanwhile_fails_and_the_rest_goes_on(
    home: Path, problems: Path, request_for: Requests, tmp_path: Path
) -> None:
    """And a budget that is spent before the first task leaves all of them for later."""
    own = Path(shutil.copytree(problems, tmp_path / "own"))
    begun = run_suite(find_suite(path=str(own)), request_for(budget_s=1e-9), tmp_path / "suite")
    assert (begun.status, begun.tasks, len(begun.left)) == ("unfinished", (), 4)
    (own / "1_scaled.py").write_text((own / "1_scaled.py").read_text() + "\n# another\n")
    (own / "2_sorted.py").unlink()
    (own / "6_again.py").unlink()
    done = resume_suite(tmp_path / "suite", budget_s=0.0)
    assert outcomes(done) == dict.fromkeys(("1_scaled", "2_sorted", "6_again"), "failed") | {"4_missing": "refused"}
    reasons = {t.task: t.reason for t in done.tasks}
    assert reasons["1_scaled"] == "its problem was changed since the suite was begun"
    assert reasons["2_sorted"] == "its problem is no longer there"


def _copied(ran: SuiteOutcome) -> Path:
    """Beside it: a suite names the folder of its problems from where it lies."""
    return Path(shutil.copytree(ran.folder, ran.folder.with_name(f"cut-{uuid4().hex}")))


def _cut_root(folder: Path, after: str) -> None:
    """Back to the head that was signed when this task was written down."""
    entries = SuiteFolder(folder).run.of(SUITE_TASK)
    size = next(e.seq for e in entries if e.record.task == after) + 1
    for name in ("ledger.jsonl", "heads.jsonl"):
        path = folder / name
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:size]))


@pytest.mark.slow
def test_a_worker_that_is_killed_in_a_run_is_replaced_and_the_run_resumed(
    home: Path, problems: Path, request_for: Requests, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_once(event: Event) -> None:
        if event.kind == "calibration" and not killed:
            killed.append(_worker_of(os.getpid()))
            os.kill(killed[0], signal.SIGKILL)

    suite = find_suite(path=str(problems), tasks="1_scaled")
    done = run_suite(suite, request_for(), tmp_path / "suite", kill_once)
    assert killed
    assert set(outcomes(done).values()) <= {"better", "nothing-better", "busy"}
    report = audit_suite(tmp_path / "suite")
    assert (report.problems, report.runs["1_scaled"].trials) == ([], 1)
    assert Run(tmp_path / "suite" / "runs" / "1_scaled").count(kinds.RESUME) == 1


def _worker_of(parent: int) -> int:
    for pid, _ in offspring(parent):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"kernellab.suite.worker_job" in words and int(Path(f"/proc/{pid}/stat").read_text().split()[3]) == parent:
            return pid
    raise AssertionError("there is no worker")
