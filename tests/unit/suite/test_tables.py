"""Rows for the screen, for CSV and for a page: the same words in all of them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from tests.unit.suite.test_compare import ROW, suite

from kernellab.suite.checked import CheckedProblem, Finding
from kernellab.suite.compare import compare
from kernellab.suite.rows import TaskScore
from kernellab.suite.tables import (
    CHECK_HEAD,
    COMPARED_HEAD,
    SCORE_HEAD,
    TASK_HEAD,
    as_csv,
    check_rows,
    compared_rows,
    page,
    ratio,
    score_rows,
    summary,
    task_rows,
)

REFUSED = TaskScore("b", "", "broken", "refused", "broken: no module <x>")


def test_a_ratio_never_goes_without_its_interval_and_what_it_is_worth() -> None:
    assert ratio(ROW) == "2.000x [1.800, 2.200]"
    assert ratio(replace(ROW, outcome="nothing-better")) == "2.000x [1.800, 2.200] (no win)"
    assert ratio(replace(ROW, outcome="busy")) == "2.000x [1.800, 2.200] (busy)"
    assert ratio(REFUSED) == ""


def test_every_row_fits_its_head() -> None:
    found = suite(ROW, REFUSED)
    for head, rows in [
        (TASK_HEAD, task_rows(found)),
        (SCORE_HEAD, score_rows(found)),
        (COMPARED_HEAD, compared_rows(compare(found, found))),
        (CHECK_HEAD, check_rows([CheckedProblem(name="p")])),
    ]:
        assert rows
        assert all(len(row) == len(head) for row in rows)


def test_refused_tasks_and_what_the_figures_mean_are_said() -> None:
    lines = summary(replace(suite(ROW, REFUSED), left=2))
    assert lines[0] == "2 tasks: 1 better, 1 refused"
    assert "refused: b: broken: no module <x>" in lines
    assert any("no win counts as 1.0" in line for line in lines)
    assert any("2 tasks are left: 'klab resume'" in line for line in lines)


def test_csv_is_read_back_as_it_was_written() -> None:
    finding = Finding(is_a="broken", evidence='it says "no", twice\nand ends')
    rows = check_rows([CheckedProblem(name="p", findings=(finding,), reduced=True, timed="d0=2")])
    back = list(csv.reader(io.StringIO(as_csv(CHECK_HEAD, rows))))
    assert back == [CHECK_HEAD, *rows]
    assert rows[0][3] == "d0=2 (reduced)"


def test_a_page_holds_no_markup_of_a_problems_own() -> None:
    text = page("Suite <s>", suite(ROW, REFUSED), compare(suite(ROW), suite(ROW)))
    assert "&lt;x&gt;" in text
    assert "<x>" not in text
    assert "2.000x [1.800, 2.200]" in text
    assert "Compared with" in text
