"""Whole runs on the small task: what they record, how they end, and that they can go on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Candidate
from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.events import Event
from kernellab.core.records import TRIAL, DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import FIGURES, AnyResult, Published, Unpublished
from kernellab.report.audit import audit
from kernellab.search.outcome import Outcome, default_folder
from kernellab.search.runs import describe_task, resume_run, run_search, try_candidate
from kernellab.tasks.builtin import TASKS

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}


@pytest.fixture(scope="module")
def run(task_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, list[Event]]:
    """Every combination of the recipe, at one shape."""
    events: list[Event] = []
    settings = Settings(effort="quick", trials=20, sampler="exhaustive", sample_s=0.0001)
    folder = tmp_path_factory.mktemp("runs") / "first"
    return run_search(str(task_file), settings, folder, [DIMS], emit=events.append), events


def bodies(folder: Path, kind: str) -> list[Any]:
    return [e.body for e in read_entries(folder) if e.kind == kind]


def test_a_run_records_its_start_calibration_every_trial_the_result_and_the_end(run: Any) -> None:
    outcome, _ = run
    kinds = [e.kind for e in read_entries(outcome.folder)]
    assert kinds[0] == "run"
    assert kinds.count("result") == kinds.count("end") == 1
    assert kinds.count("calibration") >= 1  # once more where ceilings had to be measured again
    assert kinds.count("trial") == 8


def test_every_kind_of_ending_of_a_trial_is_a_record(run: Any) -> None:
    outcome, _ = run
    trials = [TRIAL.validate_python(b) for b in bodies(outcome.folder, "trial")]
    by_kind: dict[type, list[Any]] = {}
    for trial in trials:
        by_kind.setdefault(type(trial), []).append(trial)
    assert {t.reason for t in by_kind[FailedTrial]} == {"a step of nothing"}
    assert {t.status for t in by_kind[FailedTrial]} == {"invalid"}
    assert {t.verdict.cause for t in by_kind[RejectedTrial]} == {"wrong-output"}
    assert len(by_kind.get(MeasuredTrial, [])) + len(by_kind.get(UntimedTrial, [])) == 1  # others may use the machine
    assert [t.trial for t in trials] == list(range(8))


def test_combinations_that_give_the_same_machine_code_are_measured_once(run: Any) -> None:
    outcome, _ = run
    trials = [TRIAL.validate_python(b) for b in bodies(outcome.folder, "trial")]
    duplicates = [t for t in trials if isinstance(t, DuplicateTrial)]
    assert len(duplicates) == 4
    for duplicate in duplicates:
        original = trials[duplicate.of]
        assert isinstance(original, (MeasuredTrial, UntimedTrial, RejectedTrial))
        assert duplicate.of < duplicate.trial
        assert original.artifact.id == duplicate.artifact.id


def test_the_exit_code_follows_from_the_confirmed_result(run: Any) -> None:
    outcome, _ = run
    (confirmation,) = bodies(outcome.folder, "confirmation")
    assert outcome.status in (("better",) if confirmation["win"] else ("nothing-better", "busy"))
    assert outcome.exit_code == {"better": 0, "nothing-better": 3, "busy": 7}[outcome.status]
    if confirmation["timing"] is not None:
        assert outcome.data()["speedup"] == confirmation["timing"]["speedup"]
    assert json.dumps(outcome.data())
    assert (outcome.folder / "best-N32768.py").exists() == confirmation["win"]


def test_events_tell_the_story_in_order(run: Any) -> None:
    _, events = run
    doing = [e.text for e in events if e.kind == "doing"]
    assert doing[0].startswith("proving that the judge of")
    assert any(text.startswith("timing ") for text in doing)
    kinds = [e.kind for e in events if e.kind != "doing"]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert kinds.count("trial") == 8


def test_a_finished_run_resumes_to_the_same_result_without_new_trials(run: Any) -> None:
    outcome, _ = run
    before = {p: p.read_bytes() for p in outcome.folder.rglob("*") if p.is_file()}
    events: list[Event] = []
    again = resume_run(outcome.folder, events.append)
    assert again.data() == {**outcome.data(), "already_finished": True}
    assert again.exit_code == outcome.exit_code
    assert [e.text for e in events] == [f"{outcome.folder} is finished: nothing to resume, and nothing was changed"]
    assert {p: p.read_bytes() for p in outcome.folder.rglob("*") if p.is_file()} == before


@pytest.mark.heavy
def test_more_trials_can_be_asked_for_and_count_on_from_the_old_ones(task_file: Path, tmp_path: Path) -> None:
    settings = Settings(effort="quick", trials=2, sampler="exhaustive", sample_s=0.0001)
    run_search(str(task_file), settings, tmp_path / "run", [DIMS])
    assert len(bodies(tmp_path / "run", "trial")) == 2
    resume_run(tmp_path / "run", extra_trials=2)
    trials = bodies(tmp_path / "run", "trial")
    assert [t["trial"] for t in trials] == [0, 1, 2, 3]
    assert len({json.dumps(t["proposal"]["params"], sort_keys=True) for t in trials}) == 4


@pytest.mark.heavy
def test_builds_that_run_ahead_give_the_same_trials_and_a_sound_record(
    run: Any, task_file: Path, tmp_path: Path
) -> None:
    settings = Settings(effort="quick", trials=20, sampler="exhaustive", sample_s=0.0001, build_jobs=3)
    outcome = run_search(str(task_file), settings, tmp_path / "run", [DIMS])
    trials = bodies(outcome.folder, "trial")
    assert [t["trial"] for t in trials] == list(range(8))

    def tried(folder: Path) -> set[str]:
        return {json.dumps(t["proposal"]["params"], sort_keys=True) for t in bodies(folder, "trial")}

    assert tried(outcome.folder) == tried(run[0].folder)
    right = {"measured": "right", "busy": "right"}  # whether it could be timed is up to the machine
    one, other = (
        sorted(right.get(t["status"], t["status"]) for t in bodies(folder, "trial"))
        for folder in (outcome.folder, run[0].folder)
    )
    assert one == other
    assert audit(outcome.folder, outcome.ledger_root).problems == []


@pytest.mark.slow
def test_no_more_trials_are_made_than_asked_for_when_builds_run_ahead(task_file: Path, tmp_path: Path) -> None:
    settings = Settings(effort="quick", trials=3, sampler="tpe", sample_s=0.0001, build_jobs=3)
    run_search(str(task_file), settings, tmp_path / "run", [DIMS])
    assert len(bodies(tmp_path / "run", "trial")) == 3


def test_the_device_that_auto_came_to_is_recorded(run: Any) -> None:
    """A run goes on where it was made: what "auto" means may differ tomorrow."""
    (first,) = bodies(run[0].folder, "run")
    assert first["settings"]["device"] == "cpu"
    assert run[0].trust == "native"
    assert run[0].data()["trust"] == "native"


@pytest.mark.heavy
def test_a_single_wrong_file_ends_with_nothing_verified(task_file: Path, quick: Settings, tmp_path: Path) -> None:
    outcome = try_candidate(
        str(task_file), Candidate(task_file.read_text(), "cube"), quick, tmp_path / "run", DIMS, {"BAD": 1}
    )
    assert (outcome.status, outcome.exit_code) == ("nothing-verified", 4)
    assert "wrong-output" in outcome.results[0].reason


@pytest.mark.heavy
def test_a_file_that_does_not_build_ends_with_nothing_verified_and_the_reason(
    task_file: Path, quick: Settings, tmp_path: Path
) -> None:
    outcome = try_candidate(str(task_file), Candidate("x = 1 / 0", "broken"), quick, tmp_path / "run", DIMS)
    assert outcome.exit_code == 4
    assert "ZeroDivisionError" in outcome.results[0].reason


def test_a_task_that_cannot_be_proven_starts_no_run(task_file: Path, quick: Settings, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(task_file.read_text().replace("return 2 * x ** 3", "return 0 * x"))
    with pytest.raises(TaskRefused):
        run_search(str(path), quick, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_task_without_candidates_is_a_usage_error(task_file: Path, quick: Settings, tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text(task_file.read_text().split("SPACE =")[0])
    with pytest.raises(UsageError, match="no candidates") as caught:
        run_search(str(path), quick, tmp_path / "run")
    assert "--candidate" in caught.value.fix


def result(status: Any) -> AnyResult:
    place = {"task": "t", "dims": {"N": 1}, "dtype": "float32", "threads": 1, "reason": status}
    if status in ("better", "nothing-better"):
        figures = dict.fromkeys((*FIGURES, "max_abs_err", "max_ulp"), 1.0)
        return Published(**place, status=status, trial=0, win=status == "better", baseline="numpy", **figures)
    return Unpublished(**place, status=status, trial=None)


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["better"], 0),
        (["nothing-better"], 3),
        (["nothing-verified"], 4),
        (["nothing-verified", "better"], 0),
        (["nothing-verified", "nothing-better"], 3),
    ],
)
def test_the_best_shape_decides_the_exit_code(statuses: list[str], code: int, tmp_path: Path) -> None:
    outcome = Outcome(tmp_path, "T1", "native", "", tuple(result(s) for s in statuses))
    assert outcome.exit_code == code


def test_a_default_folder_is_never_an_existing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda _: "20261116-120000")
    made = [default_folder("softmax", tmp_path)]
    for _ in range(3):
        made[-1].mkdir()
        made.append(default_folder("softmax", tmp_path))
    assert [folder.name.removeprefix("softmax-20261116-120000") for folder in made] == ["", "-2", "-3", "-4"]
    assert {folder.parent for folder in made} == {tmp_path}


@pytest.mark.parametrize("name", TASKS)
def test_a_described_task_keeps_its_held_out_shapes_to_itself(name: str) -> None:
    text = json.dumps(describe_task(TASKS[name]))
    for dims in TASKS[name].held_out:
        assert ",".join(f"{k}={v}" for k, v in dims.items()) not in text
    assert describe_task(TASKS[name])["candidates"]
