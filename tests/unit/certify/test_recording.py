"""Plans of a certified candidate, recorded in the sandbox."""

from __future__ import annotations

import pytest

from kernellab.build.base import Candidate
from kernellab.certify.recording import record_c
from kernellab.core.errors import EnvironmentFault
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.backend_c
SOURCE = 'SOURCE = "void k(const float *x, float *y, long n) {}"\n'
PICKY = (
    SOURCE
    + 'def launch(x, y, B=1):\n    if x.size > 10:\n        raise ValueError("too large")\n    kernel("k")(x, y, x.size)\n'
)


def test_plans_for_all_shapes_or_for_the_fewer(double_task: Task) -> None:
    wide, narrow = [{"N": 4}, {"N": 11}], [{"N": 4}]
    recorded, shapes = record_c(double_task, Candidate(PICKY.replace("10", "99"), "k"), {"B": 2}, wide, narrow)
    assert (shapes, len(recorded.plans), "void k" in recorded.source) == (wide, 2, True)
    recorded, shapes = record_c(double_task, Candidate(PICKY, "k"), {"B": 2}, wide, narrow)
    assert (shapes, len(recorded.plans)) == (narrow, 1)


def test_a_candidate_that_records_nothing_any_more_is_an_error(double_task: Task) -> None:
    with pytest.raises(EnvironmentFault, match="can no longer be recorded"):
        record_c(double_task, Candidate("import nothing_of_the_kind", "k"), {}, [{"N": 1}], [{"N": 1}])


def test_a_candidate_whose_text_depends_on_the_process_is_no_one_file(double_task: Task) -> None:
    text = "import os\n" + PICKY.replace("10", "99").replace('{}"', '{}" + f"// {os.urandom(8).hex()}"')
    with pytest.raises(EnvironmentFault, match="another at another shape"):
        record_c(double_task, Candidate(text, "k"), {"B": 2}, [{"N": 4}, {"N": 11}], [{"N": 4}, {"N": 11}])
