"""Test data for C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernellab.certify.known_answers import known_answers
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Array, Buffer, Dims, Task


def test_cases_name_their_arrays_and_say_what_is_outside() -> None:
    found = known_answers(TASKS["particle_filter"], [{"N": 7}], {"N": 99})
    (case,) = found["cases"]
    assert case["arguments"] == "buf_x, buf_lw, buf_z, buf_w, buf_ess, 7"
    assert [b["count"] for b in case["outputs"]] == [7, 1]
    assert found["outside"] == "99"
    text = "\n".join(found["lines"])
    for name in ("x_0[]", "lw_0[]", "z_0[]", "w_0_low[]", "w_0_high[]", "ess_0_low[]"):
        assert f"static const float {name}" in text


def test_numbers_are_written_so_that_no_bit_is_lost(double_task: Task) -> None:
    def draw(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        return np.array([0.1, -np.inf, np.inf, 3.0], np.float32)

    task = replace(double_task, distributions={"odd": draw, "more": draw})
    (row,) = [line for line in known_answers(task, [{"N": 4}], {"N": 5})["lines"] if line.startswith("    ")][:1]
    assert row.strip() == f"{float(np.float32(0.1)).hex()}f, -INFINITY, INFINITY, {(3.0).hex()}f,"
