"""Two runs of a suite side by side: a difference is one that the intervals show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.suite.compare import compare
from kernellab.suite.rows import TaskScore
from kernellab.suite.score import SuiteScore, score

ROW = TaskScore("a", "norm", "ok", "better", "", baseline="torch", speedup=2.0, speedup_low=1.8, speedup_high=2.2)


def suite(*rows: TaskScore, device: str = "d", name: str = "s") -> SuiteScore:
    return SuiteScore(Path("f"), name, device, "root", True, 0, 0, rows, score("all", rows), ())


def says(first: TaskScore, second: TaskScore) -> str:
    (found,) = compare(suite(first), suite(second)).rows
    return found.says


def test_a_difference_needs_intervals_that_do_not_meet() -> None:
    assert says(ROW, replace(ROW, speedup=3.0, speedup_low=2.3, speedup_high=3.5)) == "faster"
    assert says(replace(ROW, speedup=3.0, speedup_low=2.3, speedup_high=3.5), ROW) == "slower"
    assert says(ROW, replace(ROW, speedup=2.3, speedup_low=2.1)) == "no difference that the intervals show"


def test_other_baselines_outcomes_and_tasks_are_said_in_words() -> None:
    assert says(ROW, replace(ROW, baseline="torch.compile")) == "over other baselines: torch and torch.compile"
    none = TaskScore("a", "norm", "ok", "no-candidates", "")
    assert says(none, ROW) == "no-candidates, then better"
    assert says(none, none) == "the same"
    found = compare(suite(ROW), suite(replace(ROW, task="b")))
    assert [r.says for r in found.rows] == ["only in the first", "only in the second"]


def test_the_change_is_over_tasks_that_ran_in_both() -> None:
    refused = TaskScore("b", "norm", "broken", "refused", "")
    found = compare(suite(ROW, refused), suite(replace(ROW, speedup=4.0), refused))
    assert found.change.value == pytest.approx(2.0)
    assert found.rows[0].change == pytest.approx(2.0)


def test_other_machines_and_other_suites_are_remarked() -> None:
    found = compare(suite(ROW), suite(ROW, device="e", name="t"))
    assert [r.partition(":")[0] for r in found.remarks] == [
        "these runs are of different devices",
        "these are different suites",
    ]
    assert not compare(suite(ROW), suite(ROW)).remarks
