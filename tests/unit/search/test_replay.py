from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cube_run import cube_run

from kernellab.core.errors import UsageError
from kernellab.search.replay import read_trials, replay_trial, rerun

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def folder(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cube_run(tmp_path_factory)


def first(folder: Path, status: str) -> int:
    return next(t.trial for t in read_trials(folder) if t.status == status)


def test_a_trial_that_was_rejected_is_rejected_again_for_the_same_reason(folder: Path) -> None:
    row = replay_trial(folder, first(folder, "rejected"))
    assert (row["recorded"], row["status"], row["agrees"]) == ("rejected", "rejected", True)
    assert row["reason"].startswith("wrong-output: ")


@pytest.mark.heavy
def test_a_measured_trial_gives_the_same_machine_code_and_is_measured_again(folder: Path) -> None:
    row = replay_trial(folder, first(folder, "measured"))
    assert row["same_machine_code"]
    assert row["status"] == "measured"
    assert row["speedup_low"] <= row["speedup"] <= row["speedup_high"]


@pytest.mark.heavy
def test_the_published_trial_is_the_first_to_be_run_again(folder: Path) -> None:
    (row,) = rerun(folder, 1)
    assert row["trial"] == first(folder, "measured")


@pytest.mark.parametrize("number", [-1, 8, 99])
def test_a_trial_that_is_not_there_is_a_usage_error(number: int, folder: Path) -> None:
    with pytest.raises(UsageError, match=f"has no trial {number}") as caught:
        replay_trial(folder, number)
    assert "0 to 7" in caught.value.fix
