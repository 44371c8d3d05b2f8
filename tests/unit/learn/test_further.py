"""Further shapes are new to a kernel, lie between what is known, and are none that is held out; or it is the timed one, on
inputs that are not timed."""

from __future__ import annotations

import random
from dataclasses import replace

from kernellab.learn.further import draw_further, draw_timed
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import Array, Task
from kernellab.verdict.cases import screen_cases


def test_a_further_shape_is_none_that_was_screened_timed_or_held_out(double_task: Task) -> None:
    rng = random.Random(1)
    known = [*(c.dims for c in screen_cases(double_task)), *double_task.held_out, *double_task.tune]
    drawn = [draw_further(double_task, {"N": 4096}, False, rng) for _ in range(80)]
    drawn = [(dims, name) for dims, name in drawn if dims != {"N": 4096}]
    assert all(dims not in known and 1 <= dims["N"] <= 4096 for dims, _ in drawn)
    assert len({dims["N"] for dims, _ in drawn}) > 25
    assert {name for _, name in drawn} == set(double_task.distributions)


def test_the_timed_shape_is_looked_at_on_other_inputs_than_the_timed_ones(double_task: Task) -> None:
    """A kernel that knows the shape that it is paid for may be right on the timed inputs alone."""
    rng, timed = random.Random(6), {"N": 4096}
    drawn = [look for _ in range(120) for look in draw_timed(double_task, timed, rng)]
    there = [name for dims, name in drawn if dims == timed]
    assert len(there) == len(drawn)
    assert set(there) == set(double_task.distributions) - {next(iter(double_task.distributions))}
    assert 12 <= len(there) <= 50


def test_a_device_that_screens_one_edge_shape_gets_the_others_too(double_task: Task) -> None:
    rng = random.Random(2)
    drawn = [draw_further(double_task, {"N": 4096}, True, rng)[0] for _ in range(50)]
    assert {"N": 1025} not in drawn
    assert {1, 7} <= {dims["N"] for dims in drawn}


def test_a_shape_at_which_the_task_has_no_meaning_is_not_taken(double_task: Task) -> None:
    def odd_only(x: Array) -> Array:
        if len(x) % 2 == 0:
            raise ValueError("odd sizes only")
        return 2 * x

    task = replace(double_task, reference=odd_only)
    rng = random.Random(3)
    assert all(draw_further(task, {"N": 4097}, False, rng)[0]["N"] % 2 for _ in range(20))


def test_where_there_is_no_other_shape_an_edge_shape_gets_new_inputs(double_task: Task) -> None:
    task = replace(double_task, edge=({"N": 8},), tune=({"N": 8},), held_out=({"N": 9},))
    assert draw_further(task, {"N": 8}, False, random.Random(4))[0] == {"N": 8}


def test_large_tasks_are_looked_at_where_that_is_cheap() -> None:
    task, rng = TASKS["softmax"], random.Random(5)
    shapes = [draw_further(task, task.tune[0], False, rng)[0] for _ in range(10)]
    most = max(4 << 20, *map(task.least_bytes, task.edge))
    assert all(task.least_bytes(dims) <= most for dims in shapes if dims != task.tune[0])
