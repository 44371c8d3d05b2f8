from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from kernellab.cli.check import show
from kernellab.tasks.spec import Task
from kernellab.verdict.check_task import Checked, OutputScale, check_task


@pytest.fixture(scope="module")
def checked(double_task: Task) -> Checked:
    return check_task(double_task)


def page(checked: Checked) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=120), checked)
    return out.getvalue().splitlines()


def test_the_page_says_what_is_timed_judged_and_proved(checked: Checked) -> None:
    lines = page(checked)
    assert lines[0].split() == ["task", "double:", "y", "=", "2", "x"]
    assert "inputs         x float32[N]" in lines
    assert "judged         N=1; N=7; N=1025; 1 held out" in lines
    assert any(line.startswith("floor          N=4096: 32,768 bytes, ") for line in lines)
    assert lines[-1].startswith(f"proved         {checked.controls} wrong kernels were tried and seen, in ")


def test_there_is_a_row_for_every_distribution(checked: Checked) -> None:
    lines = page(checked)
    rows = lines[next(i for i, line in enumerate(lines) if line.startswith("output ")) + 1 :][: len(checked.scales)]
    assert [row.split()[:2] for row in rows] == [["y", s.distribution] for s in checked.scales]


def test_an_exact_output_has_no_figures_and_remarks_are_printed_as_they_are(checked: Checked) -> None:
    exact = OutputScale("places", "normal", None, None, None)
    lines = page(replace(checked, scales=(exact,), remarks=("a kernel may ignore [w]",)))
    assert ["places", "normal", "exact", "exact", "exact"] in [line.split() for line in lines]
    assert "remark         a kernel may ignore [w]" in lines


def test_the_name_of_a_module_is_said_once(checked: Checked) -> None:
    lines = page(replace(checked, name="net", about="net: 4 operations, captured from PyTorch"))
    assert lines[0] == "task           net: 4 operations, captured from PyTorch"
