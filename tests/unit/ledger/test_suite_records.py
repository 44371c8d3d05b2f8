"""The records of a suite's root: strict, and written as they were given."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from kernellab.ledger.suite_records import SUITE, SUITE_TASK, VERSION, SuitePlan

PLAN = {"version": VERSION, "suite": "lab", "device": "cpu", "tasks": [{"name": "a", "problem": "a", "digest": "d"}]}


def test_a_plan_is_written_as_it_was_read() -> None:
    plan = SUITE.read(PLAN)
    assert isinstance(plan, SuitePlan)
    assert (plan.path, plan.precision, plan.tasks[0].candidates) == ("", "ieee", [])
    assert SUITE.plain(plan) == PLAN


@pytest.mark.parametrize(
    "change", [{"outcome": "wonderful"}, {"size": "3"}, {"moon": 1}, {"outcome": None}, {"seconds": float("nan")}]
)
def test_an_outcome_that_is_none_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SUITE_TASK.read({"task": "a", "outcome": "better", **change})
