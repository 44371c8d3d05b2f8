"""What was judged is found by drawing it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernellab.certify.values import judged_values
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import STANDARD
from kernellab.tasks.spec import Array, Buffer, Dims, Task


def draw_odd(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    values = np.ones(buffer.shape(dims), buffer.dtype)
    values.flat[0], values.flat[-1] = np.nan, np.inf
    return values


def test_finite_draws_say_so_and_name_what_was_never_drawn() -> None:
    values = judged_values(TASKS["particle_filter"])
    assert values.special == {}
    assert set(values.ranges) == {"x", "lw", "z"}
    assert "Not judged: NaN, +inf, -inf, values far beyond these." in values.text()


def test_special_values_are_named_with_their_distribution() -> None:
    values = judged_values(TASKS["softmax"])
    assert values.special == {"-inf": ("masked",)}
    assert "and -inf (masked). Not judged: NaN, +inf," in values.text()
    assert "a row of infinities" in values.text()


def test_a_users_own_distribution_counts(double_task: Task) -> None:
    values = judged_values(replace(double_task, distributions={**STANDARD, "odd": draw_odd}))
    assert set(values.special) == {"NaN", "+inf"}
    low, high = values.ranges["x"]
    assert low < -1000
    assert high > 1000


def test_whole_numbers_have_no_special_values(double_task: Task) -> None:
    task = replace(double_task, inputs=(Buffer("x", ("N",), "int32"),))
    assert "x from -1e+03 to 1e+03. Not judged: values far beyond these." in judged_values(task).text()
