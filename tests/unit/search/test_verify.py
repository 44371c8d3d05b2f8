"""A verdict without a clock: what is wrong is told first, what is right was judged in full, and the record says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.resign import resigned

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.records import FailedTrial, RejectedTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import Judged
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.report.paper.write import write_paper
from kernellab.report.run_list import list_runs
from kernellab.search.outcome import Outcome
from kernellab.search.replay import replay_trial
from kernellab.search.runs import resume_run
from kernellab.search.verify import verify_candidate
from kernellab.tools.memory import best, explain

pytestmark = pytest.mark.backend_c
QUICK = Settings(effort="quick", device="cpu")
DIMS = {"N": 4096}


def judged(task_file: Path, folder: Path, text: str | None = None, emit: Any = None, **params: Any) -> Outcome:
    candidate = Candidate(task_file.read_text() if text is None else text, "cube")
    chosen = {"STEP": 1, "BAD": 0, **params} if text is None else None
    return verify_candidate(str(task_file), candidate, QUICK, folder, DIMS, chosen, emit or (lambda event: None))


@pytest.fixture(scope="module")
def right(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[Event]]:
    events: list[Event] = []
    return judged(task_file, tmp_path_factory.mktemp("right") / "run", emit=events.append), events


def test_what_is_right_is_verified_in_full_and_nothing_is_timed(right: tuple[Outcome, list[Event]]) -> None:
    outcome, _ = right
    assert (outcome.status, outcome.exit_code) == ("verified", 0)
    (result,) = outcome.results
    assert isinstance(result, Judged)
    assert result.reason.endswith("nothing was timed")
    (trial,) = Run(outcome.folder).trials
    assert isinstance(trial, UntimedTrial)
    assert (trial.status, trial.verdict.level) == ("verified", "full")
    assert {e.kind for e in read_entries(outcome.folder)} == {"run", "trial", "result", "end"}
    assert outcome.data()["speedup"] is None
    assert outcome.data()["cases"] == trial.verdict.cases


def test_its_record_passes_the_audit_and_is_read_again(right: tuple[Outcome, list[Event]]) -> None:
    outcome, _ = right
    assert audit(outcome.folder).problems == []
    again = resume_run(outcome.folder)
    assert (again.status, again.results) == ("verified", outcome.results)
    with pytest.raises(UsageError, match="holds the trial of one candidate"):
        resume_run(outcome.folder, extra_trials=1)


@pytest.mark.heavy
def test_it_is_replayed_without_a_clock(right: tuple[Outcome, list[Event]]) -> None:
    events: list[Event] = []
    row = replay_trial(right[0].folder, 0, events.append)
    assert (row["status"], row["agrees"], row["same_machine_code"]) == ("verified", True, True)
    assert not any(e.kind in ("baseline", "calibration") for e in events)


def test_it_is_listed_explained_and_makes_no_paper(right: tuple[Outcome, list[Event]], tmp_path: Path) -> None:
    folder = right[0].folder
    (row,) = list_runs([folder]).rows
    assert (row.status, row.best) == ("verified", None)
    assert any("passed in full, held-out shapes included" in line for line in explain(folder).words)
    assert best([folder]).rows == ()
    with pytest.raises(UsageError, match="holds a verdict alone"):
        write_paper(folder, tmp_path / "paper")


def test_edge_cases_come_before_the_others(right: tuple[Outcome, list[Event]]) -> None:
    texts = [e.text for e in right[1]]
    assert any(t.startswith("right on ") and t.endswith("quick cases; now every case") for t in texts)


@pytest.mark.parametrize(
    ("entry", "change", "said"),
    [
        ("trial", {"verdict.level": "screen"}, "passes on level 'screen'"),
        ("trial", {"verdict.max_ulp": 99.0}, "with 99.0 ULP of"),
        ("trial", {"status": "busy"}, "calls trial 0 verified, which it is not"),
        ("result", {"dims": {"N": 8}}, "calls trial 0 verified at another shape than it was judged at"),
        ("result", {"cases": 9999}, "says of trial 0 what its verdict does not say"),
    ],
)
def test_a_forged_verdict_is_found(
    entry: str, change: dict[str, Any], said: str, right: tuple[Outcome, list[Event]], tmp_path: Path
) -> None:
    def forge(entries: Any) -> None:
        body = next(body for kind, body in entries if kind == entry)
        for path, value in change.items():
            *places, last = path.split(".")
            for place in places:
                body = body[place]
            body[last] = value

    folder = resigned(right[0].folder, tmp_path / "forged", forge)
    assert any(said in problem for problem in audit(folder).problems)


@pytest.mark.heavy
def test_what_is_wrong_is_told_from_the_quick_cases(task_file: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    outcome = judged(task_file, tmp_path / "run", emit=events.append, BAD=1)
    assert (outcome.status, outcome.exit_code) == ("nothing-verified", 4)
    assert "wrong-output" in outcome.results[0].reason
    assert isinstance(Run(outcome.folder).trials[0], RejectedTrial)
    assert not any("now every case" in e.text for e in events)
    assert audit(outcome.folder).problems == []
    assert replay_trial(outcome.folder, 0)["agrees"]


def test_a_file_without_launch_is_told_at_once(task_file: Path, tmp_path: Path) -> None:
    outcome = judged(task_file, tmp_path / "run", "x = 1\n")
    assert outcome.results[0].reason.endswith("build-failed: the file has no launch() function")
    assert isinstance(Run(outcome.folder).trials[0], FailedTrial)


def test_what_is_wrong_only_at_a_shape_kept_back_is_found_in_full(task_file: Path, tmp_path: Path) -> None:
    text = task_file.read_text().replace("def launch(x, y,", "def launch(x, y,", 1)
    spy = text.replace("    kernel(", "    if x.size == 5003:\n        raise ValueError('psst')\n    kernel(", 1)
    outcome = judged(task_file, tmp_path / "run", spy)
    assert outcome.status == "nothing-verified"
    assert "at a shape that is kept back" in outcome.results[0].reason
    assert "psst" not in outcome.results[0].reason
