from __future__ import annotations

from pathlib import Path

from kernellab.report.run_list import read_row
from kernellab.report.run_words import shapes_of
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.extents import extents
from kernellab.tasks.spec import parse_dims

STENCIL = Path(__file__).parents[3] / "runs" / "h200-tuned" / "stencil3x3"


def test_a_recorded_shape_is_written_as_shape_reads_it() -> None:
    for task in TASKS.values():
        for dims in task.tune:
            recorded = dict(sorted(dims.items()))
            assert parse_dims(extents(task.name, recorded), task) == dims


def test_what_is_not_built_in_is_written_as_it_comes() -> None:
    assert extents("mine", {"H": 3, "W": 2}) == "3x2"
    assert extents("stencil3x3", {"N": 7}) == "7", "somebody's own task of that name"


def test_the_list_of_runs_writes_them_so() -> None:
    assert shapes_of(read_row(STENCIL)) == "4096x4096x1, 2048x2048x16"
