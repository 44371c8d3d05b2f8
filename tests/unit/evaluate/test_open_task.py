from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.evaluate.evaluator import LocalEvaluator
from kernellab.evaluate.open_task import OpenTask
from kernellab.tasks.load import load_task

DIMS = {"N": 32768}


def test_a_request_names_the_task_the_place_and_the_effort(task_file: Path, quick: Settings) -> None:
    with OpenTask(quick, load_task(str(task_file)), str(task_file)) as opened:
        request = opened.request(DIMS, Candidate("text", "mine"), {"STEP": 1})
        assert (request.task, request.fingerprint) == (str(task_file), opened.task.fingerprint())
        assert (request.place.device, request.place.threads) == ("cpu", quick.threads)
        assert (request.source, request.name, request.params) == ("text", "mine", {"STEP": 1})
        assert request.effort == quick.profile
        assert (opened.tier, opened.trust) == (opened.device.sandbox.tier, "native")


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_trial_needs_no_folder_and_a_moved_task_file_is_read_where_it_is_now(
    task_file: Path, quick: Settings, tmp_path: Path
) -> None:
    said: list[Event] = []
    with OpenTask(quick, load_task(str(task_file)), str(task_file), said.append) as opened:
        candidate, params = Candidate(task_file.read_text(), "cube"), {"STEP": 1, "BAD": 0}
        assert isinstance(opened.build(DIMS, candidate, params), Built)
        copy = tmp_path / "task.py"
        copy.write_bytes(task_file.read_bytes())
        opened.move(str(copy))
        assert opened.request(DIMS, candidate, params).task == str(copy)
        assert opened.evaluate(opened.request(DIMS, candidate, params)).status == "passed"
        stage = opened.stage(DIMS)
        assert stage.dims == DIMS
        stage.close()
    assert "calibration" in [event.kind for event in said]


@pytest.mark.heavy
@pytest.mark.backend_c
def test_tasks_may_share_an_evaluator_and_are_closed_with_it(task_file: Path, quick: Settings, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(task_file.read_text().replace('"cube", about', '"other", about'))
    settings = quick.model_copy(update={"device": "cpu"})
    with LocalEvaluator(settings, memory=1) as evaluator:
        opened = [OpenTask(settings, load_task(str(p)), str(p), evaluator=evaluator) for p in (task_file, other)]
        stages = [one.stage(DIMS) for one in opened]
        assert [stage.task.name for stage in stages] == ["cube", "other"]
        assert [stage.closed for stage in stages] == [True, False]  # there is memory for one of them
    assert stages[1].closed
