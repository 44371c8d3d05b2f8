"""Neighbours are held together closer than each of them: in a verdict, and at some places of a timed call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernellab.core.errors import TaskRefused
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.expected import Expected
from kernellab.tasks.inputs import STANDARD, draw_inputs
from kernellab.tasks.oracle import expect, run_trusted
from kernellab.tasks.spec import Array, Buffer, Task
from kernellab.verdict.numeric import explain, within
from kernellab.verdict.spot_check import Closeness

SHAPES = {"softmax": {"M": 64, "N": 1024}, "particle_filter": {"N": 1 << 19}}
DICE = np.random.default_rng(11)


def rounded(values: Array, bits: int) -> Array:
    """To so many bits behind the first."""
    half = np.uint32(1 << (22 - bits))
    return ((values.view(np.uint32) + half) & ~(half * 2 - 1)).view(np.float32)


def drawn(name: str, distribution: str = "normal") -> tuple[Array, Expected]:
    task, dims = TASKS[name], SHAPES[name]
    inputs = draw_inputs(task, dims, distribution, np.random.default_rng(7), plain=True)
    return run_trusted(task, inputs, dims)[0], expect(task, dims, inputs)[0]


def doubted(got: Array, wanted: Expected) -> bool:
    return Closeness.of(wanted).doubts(got, wanted.low, wanted.high, DICE)


@pytest.mark.parametrize(("name", "bits"), [("softmax", 17), ("particle_filter", 12)])
def test_what_a_sum_may_lose_is_not_spent_on_the_elements(name: str, bits: int) -> None:
    right, wanted = drawn(name)
    rough = rounded(right, bits)
    assert ((rough >= wanted.low) & (rough <= wanted.high)).all()
    assert not within(rough, wanted)
    assert doubted(rough, wanted)
    fault = explain("y", rough, wanted, 0)
    assert fault.cause == "wrong-output"
    assert "apart from what a row has in common" in fault.reason
    assert 1 < fault.excess < 1000


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("distribution", [*STANDARD, "sparse"])
def test_a_sum_may_be_off_as_a_sum_may(name: str, distribution: str) -> None:
    right, wanted = drawn(name, distribution)
    assert wanted.shared is not None
    factor = 1 + 0.8 * float(wanted.shared.min()) * wanted.budget_ulp * 2.0**-23
    for got in (right, (right * factor).astype(np.float32)):
        assert within(got, wanted)
        assert not doubted(got, wanted)


def test_a_few_rough_rows_are_seen_by_a_verdict() -> None:
    right, wanted = drawn("softmax")
    got = right.copy()
    got[41] = rounded(right[41], 17)
    assert not within(got, wanted)


def test_a_bound_on_the_mean_is_held_to_where_a_call_is_timed() -> None:
    values = np.random.default_rng(3).standard_normal(1 << 14)
    right = values.astype(np.float32)
    wide = (values - 1e-4).astype(np.float32), (values + 1e-4).astype(np.float32)
    unit = 1e-4 / (5 * 2.0**-23)
    held = Closeness(budget_ulp=5.0, most_rms_ulp=1e-6 / (unit * 2.0**-23), shared=None)
    assert not held.doubts(right, *wide, DICE)
    assert held.doubts(right + np.float32(1e-5), *wide, DICE)


def test_the_ends_of_rows_are_looked_at_too() -> None:
    """A row of 127 is a block and nearly another."""
    task, dims = TASKS["softmax"], {"M": 64, "N": 127}
    inputs = draw_inputs(task, dims, "normal", np.random.default_rng(7), plain=True)
    (right,), (wanted,) = run_trusted(task, inputs, dims), expect(task, dims, inputs)
    assert not doubted(right, wanted)
    got = right.copy()
    got[:, 64:] = rounded(right[:, 64:], 18)
    assert ((got >= wanted.low) & (got <= wanted.high)).all()
    assert not within(got, wanted)
    assert doubted(got, wanted)


@pytest.mark.parametrize("size", [80, 100, 127, 200])
def test_and_so_is_the_end_of_an_output(size: int) -> None:
    """Of a hundred sums the last thirty-six: a third of the work."""
    values = np.random.default_rng(3).standard_normal(size)
    right = values.astype(np.float32)
    wide = (values - 1e-4).astype(np.float32), (values + 1e-4).astype(np.float32)
    unit = 1e-4 / (5 * 2.0**-23)
    held = Closeness(budget_ulp=5.0, most_rms_ulp=1e-6 / (unit * 2.0**-23), shared=None)
    assert not held.doubts(right, *wide, DICE)
    right[size // 64 * 64 :] += np.float32(1e-5)
    assert held.doubts(right, *wide, DICE) == (size % 64 >= 16)


def test_short_rows_and_16_bit_outputs_are_left_to_their_intervals() -> None:
    few = np.ones((3, 7), np.float32)
    assert not Closeness(5.0, np.inf, np.ones((3, 1))).doubts(few, few, few, DICE)
    half = np.ones(1000, np.float16)
    assert not Closeness(1.0, 0.1, None).doubts(half, half, half, DICE)


def shared_task(shared: Any) -> Task:
    return Task(
        name="doubled", about="", inputs=(Buffer("x", ("M", "N")),), outputs=(Buffer("y", ("M", "N")),),
        reference=lambda x: 2 * x, tune=({"M": 4, "N": 32},), held_out=({"M": 3, "N": 5},), edge=({"M": 1, "N": 1},),
        distributions=STANDARD, shared=shared,
    )  # fmt: skip


@pytest.mark.parametrize(
    "shared", [lambda y: np.ones(3), lambda y: -np.ones((4, 1)), lambda y: (None, None), lambda y: "much"]
)
def test_what_is_no_number_a_row_is_refused(shared: Any) -> None:
    with pytest.raises(TaskRefused, match="shared"):
        expect(shared_task(shared), {"M": 4, "N": 32}, [np.ones((4, 32), np.float32)])


def test_what_is_shared_is_part_of_a_task() -> None:
    assert shared_task(None).fingerprint() != shared_task(lambda y: np.zeros((4, 1))).fingerprint()
