"""A whole folder through the filter: broken problems cost their lines, equal ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.suite.problems import write

from kernellab.core.events import Event
from kernellab.suite.check import Known, check_suite, judged
from kernellab.suite.checked import CheckedProblem
from kernellab.suite.worker import Worker
from kernellab.tasks.modules.importing import AS_IT_IS
from kernellab.tasks.suites.finding import find_suite


def test_good_and_broken_problems_side_by_side(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = write(tmp_path / "mixed", "2_sorted", "4_missing", "6_again")
    (folder / "3_syntax.py").write_text("def get_inputs(:\n")
    said: list[Event] = []
    rows = list(check_suite(find_suite(path=str(folder)), "cpu", emit=said.append))
    assert [(r.name, r.is_a) for r in rows] == [
        ("2_sorted", "ok"), ("3_syntax", "broken"), ("4_missing", "broken"), ("6_again", "duplicate"),
    ]  # fmt: skip
    assert rows[3].evidence == "the same graph at the same sizes as 2_sorted"
    assert [e.text.partition(":")[0] for e in said] == ["1/4 2_sorted", "2/4 3_syntax", "3/4 4_missing", "4/4 6_again"]


def test_a_worker_that_is_lost_costs_one_problem(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "few", "2_sorted")
    (problem,) = find_suite(path=str(folder)).problems
    with Worker({}) as worker:  # a worker without what it needs: it ends at its first job
        found, record = judged(worker, problem, "cpu", AS_IT_IS)
    assert (found.is_a, record) == ("broken", "")
    assert "its process ended with exit code 1: KeyError" in found.evidence


def test_the_same_graph_at_other_sizes_is_remarked() -> None:
    known = Known()
    first = CheckedProblem(name="a", graph="g", sizes="d0=2")
    assert known.new((first, ""))[0] == first
    other, _ = known.new((CheckedProblem(name="b", graph="g", sizes="d0=4"), ""))
    assert (other.is_a, other.remarks) == ("ok", ("the same graph as a at other sizes",))
    unknown = CheckedProblem(name="c")
    assert known.new((unknown, ""))[0] == unknown
