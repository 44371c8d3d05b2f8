"""A task's calling conventions as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernellab.certify.interface import Interface, elements
from kernellab.core.errors import UsageError
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Buffer, Task


def test_names_and_shapes_of_a_task_with_several_buffers() -> None:
    facts = Interface(TASKS["particle_filter"]).facts()
    assert facts["package"] == "klab_particle_filter"
    assert facts["dims_line"] == "N = x.shape[0]"
    assert facts["input_shapes"] == "((N,), (N,), (1,),)" or facts["input_shapes"] == "((N,), (N,), (1,))"
    assert facts["op_returns"] == "tuple[torch.Tensor, torch.Tensor]"
    assert facts["dim_names"] == "(N,)"


def test_input_names_that_the_code_itself_uses_are_changed(double_task: Task) -> None:
    task = replace(double_task, inputs=(Buffer("out", ("N",)),))
    assert Interface(task).facts()["input_names"] == "out_"


def test_a_dim_that_no_input_shows_is_refused(double_task: Task) -> None:
    task = replace(double_task, inputs=(Buffer("x", ("2*N",)),))
    with pytest.raises(UsageError, match="cannot be read from the shape"):
        Interface(task)


def test_a_reference_that_cannot_be_carried_is_refused(double_task: Task) -> None:
    with pytest.raises(UsageError, match="cannot be carried"):
        Interface(replace(double_task, reference=lambda x: 2 * x)).reference_text(False)


def test_without_a_torch_expression_there_is_none(double_task: Task) -> None:
    assert not Interface(double_task).expression
    assert Interface(TASKS["softmax_bf16"]).expression


def test_elements_count_inputs_and_outputs(double_task: Task) -> None:
    assert elements(double_task, {"N": 10}) == 20
