"""A task's calling conventions as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernellab.certify.interface import Interface
from kernellab.core.errors import UsageError
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Buffer, Task, elements


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


@pytest.mark.parametrize("name", ["zip", "from", "axes", "at_0", "size_1", "out_0", "tuple", "_calls", "given", "N"])
def test_whatever_the_code_around_uses_is_taken(name: str, double_task: Task) -> None:
    task = replace(double_task, inputs=(Buffer("x", ("N",)), Buffer(name, ("N",))))
    assert Interface(task).facts()["input_list"] == ["x", f"{name}_"]


def test_other_names_are_left_alone(double_task: Task) -> None:
    names = ["a", "x", "x_at", "x_size", "y_out", "t", "weight"]
    task = replace(double_task, inputs=tuple(Buffer(n, ("N",)) for n in names))
    assert Interface(task).facts()["input_list"] == names


def test_dims_are_renamed_in_every_expression(double_task: Task) -> None:
    task = replace(double_task, inputs=(Buffer("len_", ("len",)),), outputs=(Buffer("y", ("2*len + 1",)),), tune=({"len": 4},),
                   held_out=({"len": 5},), edge=({"len": 1},))  # fmt: skip
    facts = Interface(task).facts()
    assert facts["dims_line"] == "len__ = len_.shape[0]"
    assert facts["output_shapes"] == "((2*len__ + 1,),)"


@pytest.mark.parametrize(
    ("task", "function"),
    [("softmax", "softmax"), ("class", "task_class"), ("run", "task_run"), ("prepare", "task_prepare"), ("sum", "task_sum"),
     ("host", "task_host"), ("3d-stencil", "task_3d_stencil"), ("np", "task_np")],
)  # fmt: skip
def test_functions_hide_nothing(task: str, function: str, double_task: Task) -> None:
    interface = Interface(replace(double_task, name=task))
    assert interface.function == function
    assert interface.package == f"klab_{task.replace('-', '_')}"


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
    assert elements((*double_task.inputs, *double_task.outputs), {"N": 10}) == 20


@pytest.mark.parametrize(("name", "there"), [("softmax", False), ("softmax_bf16", True), ("softmax_f16", False)])
def test_bfloat16_is_mentioned_where_a_buffer_is_of_it(name: str, there: bool) -> None:
    assert Interface(TASKS[name]).facts()["bfloat16"] is there
