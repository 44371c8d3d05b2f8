"""The reference's answers as a hash: stable where it should be, sensitive where it must be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.certify.anchor import anchor_again, make_anchor, rounded_answers
from kernellab.core.errors import UsageError
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Array, Task

PINNED = {  # found with NumPy 2.4 on x86-64; those of earlier shapes were the same on aarch64
    "stencil3x3": ("816435d0dde3d7b2947d82b7", "a5dbbe30a123deac3789fc21"),
    "softmax": ("7ee5224c253b1c4e3276f1b7", "3daecb0a64366d7173681f92"),
}


def scaled(task: Task, factor: float) -> Task:
    """The same task with answers that are off by a factor."""

    def other(*inputs: Array) -> Array:
        return np.asarray(task.reference(*inputs) * factor)

    return replace(task, reference=other)


@pytest.mark.parametrize("name", list(TASKS))
def test_every_built_in_task_has_an_anchor_and_gets_the_same_one_again(name: str) -> None:
    first = make_anchor(TASKS[name])
    assert anchor_again(TASKS[name], first.seed) == first
    assert first.elements > 100


def test_other_tasks_have_other_anchors() -> None:
    assert len({make_anchor(task).outputs for task in TASKS.values()}) == len(TASKS)


@pytest.mark.parametrize("name", list(PINNED))
def test_the_anchor_is_the_one_found_before(name: str) -> None:
    inputs, outputs = PINNED[name]
    anchor = make_anchor(TASKS[name])
    assert anchor.inputs.startswith(inputs), "NumPy draws other numbers here: recheck would say so"
    assert anchor.outputs.startswith(outputs)


@pytest.mark.parametrize("factor", [1 + 2e-15, 1 - 1e-14, 1 + 1e-13])
def test_last_bits_of_float64_do_not_show(factor: float) -> None:
    task = TASKS["softmax"]
    anchor = make_anchor(task)
    assert anchor_again(scaled(task, factor), anchor.seed).outputs == anchor.outputs


def test_another_precision_and_order_of_summation_do_not_show() -> None:
    task = TASKS["softmax"]

    def otherwise(x: Array) -> Array:
        e = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.longdouble))
        total = np.cumsum(e[:, ::-1], axis=1)[:, -1:]
        return np.asarray(e / total, np.float64)

    anchor = make_anchor(task)
    assert anchor_again(replace(task, reference=otherwise), anchor.seed).outputs == anchor.outputs


@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-5, 2.0])
def test_a_changed_reference_shows(factor: float) -> None:
    task = TASKS["softmax"]
    anchor = make_anchor(task)
    changed = anchor_again(scaled(task, factor), anchor.seed)
    assert changed.inputs == anchor.inputs
    assert changed.outputs != anchor.outputs


def test_exact_tasks_are_anchored_bit_for_bit(double_task: Task) -> None:
    exact = replace(double_task, exact=True)
    anchor = make_anchor(exact)
    assert anchor.method == "bits"

    def nudged(x: Array) -> Array:
        return np.nextafter(2 * x, np.float32(np.inf))

    assert anchor_again(replace(exact, reference=nudged), anchor.seed).outputs != anchor.outputs


def test_values_on_a_binary_grid_are_no_reason_to_refuse(double_task: Task) -> None:
    assert make_anchor(double_task).seed == 0


def test_answers_on_a_boundary_whatever_is_drawn_are_refused(double_task: Task) -> None:
    from kernellab.certify import anchor

    def on_the_edge(x: Array) -> Array:
        return np.full_like(x, (1000 - anchor._SECTION) * 2.0**-18)

    def one(x: Array) -> Array:
        return np.ones_like(x)

    with pytest.raises(UsageError, match="rounding boundaries"):
        make_anchor(replace(double_task, reference=on_the_edge, scale=one))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(-1.0, 1.0))
def test_what_is_fit_does_not_move_with_the_last_bits(values: list[float], nudge: float) -> None:
    value = np.array(values)
    scale = np.abs(value) + 1e-3
    whole, fit = rounded_answers(value, scale)
    again, _ = rounded_answers(value + nudge * 2.0**-42 * scale, scale * (1 + nudge * 2.0**-42))
    assert not fit or np.array_equal(whole, again)


def test_infinities_and_nan_are_answers_too() -> None:
    value = np.array([np.inf, -np.inf, np.nan, 0.0])
    whole, fit = rounded_answers(value, np.abs(value))
    assert fit
    assert len({tuple(column) for column in whole.T.tolist()}) == 4
