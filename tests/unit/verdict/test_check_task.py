from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernellab.core.errors import TaskRefused
from kernellab.tasks.spec import Array, Task
from kernellab.verdict.check_task import check_task


def test_what_was_derived_for_a_task_is_said(double_task: Task) -> None:
    found = check_task(double_task)
    assert (found.name, found.fingerprint, found.precision) == ("double", double_task.fingerprint(), "ieee")
    assert (found.inputs, found.outputs) == ({"x": "float32[N]"}, {"y": "float32[N]"})
    assert (found.tune, found.edge, found.held_out) == (("N=4096",), ("N=1", "N=7", "N=1025"), 1)
    assert found.controls > 0
    (least,) = found.least
    assert (least.shape, least.bytes) == ("N=4096", 2 * 4 * 4096)


def test_every_output_has_a_scale_for_every_distribution(double_task: Task) -> None:
    found = check_task(double_task)
    assert [s.distribution for s in found.scales] == list(double_task.distributions) == list(found.distributions)
    for scale in found.scales:
        assert scale.scale == pytest.approx(1), "a product is measured by its own size"
        assert scale.floor_ulp is not None
        assert scale.budget_ulp is not None
        assert 0 < scale.floor_ulp <= scale.budget_ulp


def test_the_object_for_json_says_that_it_was_proved(double_task: Task) -> None:
    data = check_task(double_task).data()
    assert data["status"] == "proved"
    assert list(data["least"]) == [{"shape": "N=4096", "bytes": 32768, "flops": double_task.least_flops({"N": 4096})}]


def test_a_task_that_a_constant_solves_is_refused(double_task: Task) -> None:
    def nothing(x: Array) -> Array:
        return np.zeros_like(x)

    with pytest.raises(TaskRefused):
        check_task(replace(double_task, reference=nothing))
