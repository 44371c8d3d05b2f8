"""Terms settle device and language from each other, and name the files that a folder keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded import CUBE

from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings
from kernellab.learn.terms import (
    NamedTask,
    RewardTerms,
    file_of,
    is_reward,
    named_tasks,
    plan_of,
    rewarded_shapes,
    settled,
)
from kernellab.tasks.builtin import TASKS

CPU = Settings(device="cpu")


def test_a_device_has_a_first_language_and_a_language_has_a_device() -> None:
    assert settled(RewardTerms([], CPU))[1] == "c"
    assert settled(RewardTerms([], Settings(), backend="c"))[0].device == "cpu"
    with pytest.raises(UsageError, match="does not run on cpu"):
        settled(RewardTerms([], CPU, backend="triton"))


def test_copies_of_task_files_have_names_of_their_own(tmp_path: Path) -> None:
    task = TASKS["softmax"]
    assert file_of(0, NamedTask(task, "softmax")) == ""
    assert file_of(0, NamedTask(task, "my/file.py")) == "task.py"
    assert file_of(2, NamedTask(task, "my/record.json")) == "task-2.json"


def test_the_plan_names_tasks_by_fingerprint_and_tuned_shapes() -> None:
    terms = RewardTerms(["stencil3x3"], CPU, form="seed", widest=0.2)
    plan = plan_of(terms, "c", named_tasks(terms.tasks, "cpu"))
    (task,) = plan.tasks
    assert (plan.form, plan.widest, plan.backend, task.name, task.file) == ("seed", 0.2, "c", "stencil3x3", "")
    assert task.fingerprint == TASKS["stencil3x3"].on("cpu").fingerprint()
    assert task.shapes == rewarded_shapes(TASKS["stencil3x3"])


def test_a_task_is_rewarded_at_its_tuned_shapes_and_the_quick_one() -> None:
    task = TASKS["softmax"]
    assert task.quick_shape not in task.tune
    assert rewarded_shapes(task) == [*task.tune, task.quick_shape]
    assert rewarded_shapes(TASKS["stencil3x3"]).count(TASKS["stencil3x3"].quick_shape) == 1


def test_a_folder_says_whether_it_holds_rewards() -> None:
    assert not is_reward(CUBE)
