"""Problems as plain data and back, and as a digest of what they are."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.suite.problems import write

from kernellab.core.errors import TaskRefused
from kernellab.graph.source import Request
from kernellab.suite.problems import digest_of, folders_of, plain, problem_of
from kernellab.tasks.lab import FOLDER
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import find_suite


def test_a_problem_is_the_same_again_after_a_journey(tmp_path: Path) -> None:
    for problem in (*find_suite("lab").problems[:2], Problem(Request("x.py", "run", {"n": 2}, text="t"), "x", "s")):
        assert problem_of(json.loads(json.dumps(plain(problem)))) == problem


def test_one_that_cannot_be_read_says_why_there_too() -> None:
    broken = Problem(Request("x.py"), "x", broken=TaskRefused("it is not JSON", "correct it"))
    found = problem_of(json.loads(json.dumps(plain(broken)))).broken
    assert isinstance(found, TaskRefused)
    assert (found.what, found.fix, found.cause) == ("it is not JSON", "correct it", "broken")


def test_a_digest_follows_the_text_and_the_settings_and_not_the_place(tmp_path: Path) -> None:
    here, there = write(tmp_path / "a", "1_scaled", "2_sorted"), write(tmp_path / "b", "1_scaled")
    first, other = find_suite(path=str(here)).problems
    (moved,) = find_suite(path=str(there)).problems
    assert digest_of(first) == digest_of(moved) != digest_of(other)
    (there / "1_scaled.py").write_text("other")
    assert digest_of(first) != digest_of(moved)
    lab = find_suite("lab", tasks="gemm-*").problems
    assert len({digest_of(p) for p in lab}) == 2  # one file, two dtypes


def test_the_sandbox_may_read_the_suites_own_folder(tmp_path: Path) -> None:
    assert folders_of(find_suite(path=str(write(tmp_path / "a", "1_scaled")))) == [str(tmp_path / "a")]
    assert folders_of(find_suite("lab")) == [str(FOLDER)]
