"""A whole folder through the filter: broken problems cost their lines, equal ones are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.suite.problems import write

from kernellab.core.events import Event
from kernellab.suite.check import Beside, Known, check_job, check_suite, judged
from kernellab.suite.checked import CheckedProblem
from kernellab.suite.worker import Worker
from kernellab.tasks.modules.importing import AS_IT_IS
from kernellab.tasks.suites.finding import find_suite


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_a_worker_that_is_lost_costs_one_problem(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "few", "2_sorted")
    (problem,) = find_suite(path=str(folder)).problems
    with Worker({}) as worker:  # a worker without what it needs: it ends at its first job
        found, record = judged(worker, problem, "cpu", AS_IT_IS)
    assert (found.is_a, record) == ("broken", "")
    assert "its process ended with exit code 1: KeyError" in found.evidence


@pytest.mark.heavy
def test_a_check_that_was_begun_is_the_one_that_is_answered(worker: Worker, tmp_path: Path) -> None:
    folder = write(tmp_path / "beside", "2_sorted", "4_missing")
    sorted_, missing = find_suite(path=str(folder)).problems
    jobs = {p.name: check_job(p, "cpu", AS_IT_IS, tmp_path / "records", "") for p in (sorted_, missing)}
    (tmp_path / "records").mkdir()
    beside = Beside(worker)
    beside.begin(jobs["4_missing"])
    assert beside.judged(missing, jobs["4_missing"])[0].is_a == "broken"
    beside.begin(jobs["4_missing"])  # and then another one is wanted
    found, record = beside.judged(sorted_, jobs["2_sorted"])
    assert (found.name, found.is_a) == ("2_sorted", "ok")
    assert Path(record).is_file()
    assert beside.judged(missing, jobs["4_missing"])[0].is_a == "broken"  # nothing was begun


@pytest.mark.heavy
def test_a_check_that_was_begun_and_that_nobody_waits_for_ends_with_its_worker(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "beside", "2_sorted")
    (problem,) = find_suite(path=str(folder)).problems
    with Worker({"folders": []}) as worker:
        Beside(worker).begin(check_job(problem, "cpu", AS_IT_IS, None, ""))
        process = worker._process
    assert process is not None
    assert process.returncode is not None


@pytest.mark.heavy
@pytest.mark.parametrize("kept", [True, False])
def test_records_hold_the_problems_text_or_leave_it_out(kept: bool, worker: Worker, tmp_path: Path) -> None:
    folder = write(tmp_path / "few", "2_sorted")
    (problem,) = find_suite(path=str(folder)).problems
    found, record = judged(worker, problem, "cpu", replace(AS_IT_IS, keep_text=kept), tmp_path)
    assert found.is_a == "ok"
    assert (b"def forward" in Path(record).read_bytes()) == kept


@pytest.mark.heavy
def test_a_worker_that_is_lost_beside_costs_one_problem(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "few", "2_sorted")
    (problem,) = find_suite(path=str(folder)).problems
    job = check_job(problem, "cpu", AS_IT_IS, None, "")
    with Worker({}) as worker:  # a worker without what it needs: it ends at its first job
        beside = Beside(worker)
        beside.begin(job)
        found, record = beside.judged(problem, job)
    assert (found.is_a, record) == ("broken", "")


def test_the_same_graph_at_other_sizes_is_remarked() -> None:
    known = Known()
    first = CheckedProblem(name="a", graph="g", sizes="d0=2")
    assert known.new((first, ""))[0] == first
    other, _ = known.new((CheckedProblem(name="b", graph="g", sizes="d0=4"), ""))
    assert (other.is_a, other.remarks) == ("ok", ("the same graph as a at other sizes",))
    unknown = CheckedProblem(name="c")
    assert known.new((unknown, ""))[0] == unknown
