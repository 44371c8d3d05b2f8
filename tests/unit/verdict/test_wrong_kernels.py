from __future__ import annotations

import numpy as np
import pytest

from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.verdict.wrong_kernels import CONTROLS, PRECISION

FLOAT32 = ("softmax", "stencil3x3", "stencil5x5", "particle_filter")


@pytest.mark.parametrize("name", FLOAT32)
@pytest.mark.parametrize(("control", "off"), [("TF32 outputs", 2.0**-11), ("bfloat16 outputs", 2.0**-8)])
def test_rounded_outputs_are_off_by_no_more_than_their_rounding(control: str, off: float, name: str) -> None:
    task = TASKS[name]
    inputs = draw_inputs(task, task.edge[-1], "normal", np.random.default_rng(2))
    expected = expect(task, task.edge[-1], inputs)
    outputs = CONTROLS[control](task, task.edge[-1], inputs, expected)
    assert outputs is not None
    for got, wanted in zip(outputs, expected, strict=True):
        relative = np.abs(got - wanted.value) / np.maximum(np.abs(wanted.value), 1e-30)
        assert relative.max() <= off * 1.001
        assert got.size < 8 or relative.max() > off / 8, "of one number the rounding may be next to nothing"


@pytest.mark.parametrize("control", PRECISION)
def test_16_bit_outputs_have_no_room_for_it(control: str) -> None:
    for name in ("softmax_bf16", "stencil3x3_f16"):
        task = TASKS[name]
        inputs = draw_inputs(task, task.edge[-1], "normal", np.random.default_rng(2))
        assert CONTROLS[control](task, task.edge[-1], inputs, expect(task, task.edge[-1], inputs)) is None


def test_inputs_that_are_exact_in_ten_bits_have_none_to_lose() -> None:
    task = TASKS["stencil3x3"]
    inputs = [np.ones((4, 4, 1), np.float32)]
    expected = expect(task, {"H": 4, "W": 4, "C": 1}, inputs)
    assert CONTROLS["TF32 inputs"](task, {"H": 4, "W": 4, "C": 1}, inputs, expected) is None
