from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.cli import demo
from kernellab.core.settings import Settings
from kernellab.report.audit import audit
from kernellab.search.runs import try_candidate
from kernellab.tasks.builtin import TASKS

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_the_cheat_of_the_demo_is_rejected_and_recorded(own_home: None, tmp_path: Path) -> None:
    settings = Settings(effort="quick", sample_s=0.0001)
    outcome = try_candidate("softmax", demo._CHEAT, settings, tmp_path / "run", {"M": 64, "N": 256})
    assert outcome.status == "nothing-verified"
    assert outcome.data()["reason"]
    assert outcome.data()["trial"] is None
    report = audit(tmp_path / "run", outcome.ledger_root)
    assert (report.problems, report.trials, report.ended) == ([], 1, True)


def test_the_demo_plans_shapes_that_its_tasks_have() -> None:
    for name, dims, trials, seconds in demo._PLAN:
        assert tuple(dims) == tuple(TASKS[name].dim_names)
        assert trials > 0
        assert seconds > 0
    assert sum(seconds for *_, seconds in demo._PLAN) < 110


@pytest.mark.parametrize(
    ("statuses", "sound", "came_to"),
    [
        (["better", "better"], True, ("better", 0)),
        (["better", "busy"], True, ("busy", 7)),
        (["busy", "nothing-better"], True, ("nothing-better", 3)),
        (["better", "nothing-verified"], True, ("nothing-verified", 4)),
        (["better", "better"], False, ("unsound", 5)),
    ],
)
def test_the_demo_ends_with_the_worst_that_its_tasks_came_to(
    statuses: list[str], sound: bool, came_to: tuple[str, int]
) -> None:
    assert demo._came_to(statuses, sound) == came_to
