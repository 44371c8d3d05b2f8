"""Kernels by the names of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.suite.candidates import candidates_in
from kernellab.tasks.suites.base import Problem

PROBLEMS = [Problem(Request("a.py"), "a"), Problem(Request("b.py"), "b")]


def test_a_file_or_a_folder_for_each_task(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("first")
    (tmp_path / "b").mkdir()
    for name in ("two", "one"):
        (tmp_path / "b" / f"{name}.py").write_text(name)
    found = candidates_in(tmp_path, PROBLEMS, {"a", "b", "c"})
    assert {k: [c.name for c in v] for k, v in found.items()} == {"a": ["a"], "b": ["one", "two"]}
    assert found["a"][0].text == "first"


def test_a_name_of_another_part_of_the_suite_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("x")
    assert candidates_in(tmp_path, PROBLEMS, {"a", "b", "c"}) == {}


def test_a_name_of_no_task_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "aa.py").write_text("x")
    with pytest.raises(UsageError, match=r"aa\.py is named after no task"):
        candidates_in(tmp_path, PROBLEMS, {"a", "b"})
    with pytest.raises(UsageError, match="there is no folder"):
        candidates_in(tmp_path / "absent", PROBLEMS, {"a"})
