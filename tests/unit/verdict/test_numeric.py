from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.tasks.dtypes import np_dtype
from kernellab.tasks.inputs import draw_normal
from kernellab.tasks.oracle import Expected, expect
from kernellab.tasks.spec import DTYPES, Array, Buffer, Task
from kernellab.verdict.numeric import (
    decided,
    errors,
    explain,
    leftover_pattern,
    poison,
    poison_pattern,
    rests_on_nothing,
    same_values,
    within,
)

FLOATS = ("float32", "float64", "float16", "bfloat16")


def expected(value: Any, dtype: str) -> Expected:
    """What a task that copies its input expects of this value."""
    array = np.array(value, dtype)
    task = Task(
        name="copy", about="", inputs=(Buffer("x", array.shape, dtype),), outputs=(Buffer("y", array.shape, dtype),),
        reference=lambda x: x, tune=({"N": 1},), held_out=({"N": 2},), edge=({"N": 3},),
        distributions={"normal": draw_normal, "again": draw_normal}, exact=dtype not in FLOATS,
    )  # fmt: skip
    return expect(task, {"N": 1}, [array])[0]


def nudged(array: Array, ulps: int) -> Array:
    bits = array.view(f"i{array.dtype.itemsize}") + ulps
    return bits.view(array.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_right_answer_is_within_and_has_no_error(dtype: str) -> None:
    right = np.array([1, 2, 100], dtype)
    assert within(right, expected(right, dtype))
    assert errors(right, expected(right, dtype)) == (0.0, 0.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_element_is_within_up_to_the_budget_and_not_beyond(dtype: str) -> None:
    right = np.array([1.0, 1.5, -1.25], dtype)
    wanted = expected(right, dtype)
    budget = 1 if right.itemsize == 2 else 5
    assert wanted.budget_ulp == budget
    assert within(nudged(right, budget), wanted)
    for place in range(3):
        wrong = right.copy()
        wrong[place] = nudged(right, 9)[place]
        assert not within(wrong, wanted)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_integers_must_be_equal(dtype: str) -> None:
    right = np.array([[1, 2], [3, 4]], dtype)
    wrong = right.copy()
    wrong[1, 1] += 1
    assert not within(wrong, expected(right, dtype))
    assert errors(wrong, expected(right, dtype)) == (1.0, 1.0)


def test_large_integers_are_not_compared_as_floats() -> None:
    right = np.array([(1 << 62) + 1], np.int64)
    assert not within(right - 1, expected(right, "int64"))


def test_exact_floats_are_compared_bit_for_bit() -> None:
    value = np.array([0.0, 1.0], np.float32)
    wanted = Expected(value, value, 0.0, value, value, True)
    assert not within(-value * np.array([1, -1], np.float32), wanted)


def test_exact_floats_with_nan_accept_the_right_answer() -> None:
    value = np.array([np.nan, 1.0], np.float32)
    assert within(value.copy(), Expected(value, value, 0.0, value, value, True))


@pytest.mark.parametrize("dtype", FLOATS)
@given(secret=st.integers(0, (1 << 64) - 1))
def test_poison_of_floats_is_a_quiet_nan_with_the_secret_in_it(dtype: str, secret: int) -> None:
    array = np.zeros(4, dtype)
    pattern = poison(array, secret)
    assert pattern == poison_pattern(dtype, secret)
    assert np.isnan(array).all()
    assert (array.view(f"u{array.dtype.itemsize}") == pattern).all()
    payload = {"float32": 22, "float64": 51, "float16": 9, "bfloat16": 6}[dtype]
    assert pattern % (1 << payload) == secret % (1 << payload)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_poison_of_integers_is_the_secret_itself(dtype: str) -> None:
    array = np.zeros((2, 2), dtype)
    assert poison(array, 0xDEADBEEFCAFEF00D) == 0xDEADBEEFCAFEF00D % (1 << (8 * array.itemsize))
    assert len(np.unique(array)) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_output_nobody_wrote_is_explained_as_unwritten(dtype: str) -> None:
    got = np.zeros((4, 4), dtype)
    pattern = poison(got, 0x1234567812345678)
    wanted = expected(np.ones((4, 4)), dtype)
    assert not within(got, wanted)
    mismatch = explain("y", got, wanted, pattern)
    assert (mismatch.cause, mismatch.max_abs_err) == ("unwritten", None)
    assert "16 of 16 elements were never written" in mismatch.reason


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_left_out_is_explained_with_its_place(dtype: str) -> None:
    got = np.zeros((4, 4), dtype)
    pattern = poison(got, 0x1234567812345678)
    right = np.ones((4, 4), dtype)
    keep = got[2, 3]
    got[...] = right
    got[2, 3] = keep
    mismatch = explain("y", got, expected(right, dtype), pattern)
    assert mismatch.cause == "unwritten"
    assert "1 of 16 elements were never written (first [2, 3])" in mismatch.reason


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_value_is_explained_with_how_much_where_and_what(dtype: str) -> None:
    right = np.ones((4, 4), dtype)
    got = right.copy()
    got[1, 2] = 3
    got[3, 0] = 5
    mismatch = explain("y", got, expected(right, dtype), 0)
    assert mismatch.cause == "wrong-output"
    assert "2 of 16 elements, 2 of 4 rows wrong, first at [1, 2]" in mismatch.reason
    assert "instead of 1" in mismatch.reason
    assert mismatch.max_abs_err == 4


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_non_finite_value_is_its_own_cause(value: float, dtype: str) -> None:
    got = np.ones(4, dtype)
    got[2] = value
    mismatch = explain("y", got, expected(np.ones(4), dtype), 0)
    assert mismatch.cause == "non-finite"
    assert "first at [2]" in mismatch.reason
    assert mismatch.max_abs_err is None
    assert mismatch.max_ulp is None


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_finite_value_where_infinity_belongs_is_wrong(dtype: str) -> None:
    wanted = expected(np.array([1.0, -np.inf]), dtype)
    got = np.array([1.0, -6e4], dtype)
    assert not within(got, wanted)
    assert explain("y", got, wanted, 0).cause == "wrong-output"


def test_without_a_pattern_nothing_is_called_unwritten() -> None:
    """Where outputs held what may be an answer."""
    got = np.zeros(4, np.float32)
    assert explain("y", got, expected(np.ones(4), "float32"), 0).cause == "unwritten"
    assert explain("y", got, expected(np.ones(4), "float32"), None).cause == "wrong-output"


def test_a_partly_written_and_partly_wrong_output_is_wrong_not_unwritten() -> None:
    got = np.zeros(4, np.float32)
    pattern = poison(got, 77)
    got[:2] = 9
    assert explain("y", got, expected(np.ones(4), "float32"), pattern).cause != "unwritten"


@pytest.mark.parametrize(
    ("dtype", "large"), [("float64", 8e307), ("float32", 1.7e38), ("float16", 32_768.0), ("bfloat16", 1.7e38)]
)
def test_what_an_earlier_call_left_is_large_or_zero_or_of_ordinary_size(dtype: str, large: float) -> None:
    bits = f"u{np.dtype(dtype).itemsize}"
    found = np.array([leftover_pattern(dtype, k * 0x9E3779B97F4A7C15 % 2**64) for k in range(64)], bits).view(dtype)
    values = found.astype(np.float64)
    sizes = np.abs(values)
    zero, ordinary, huge = values == 0, (sizes >= 2**-8) & (sizes < 2**8), sizes >= large
    assert np.isfinite(values).all()
    assert (zero | ordinary | huge).all()
    assert huge.sum() > ordinary.sum() > 8
    assert zero.sum() > 8
    for kind in (ordinary, huge):
        assert {bool(v) for v in values[kind] > 0} == {True, False}


def test_integers_keep_their_secret_bits() -> None:
    assert leftover_pattern("uint8", 0x1234) == 0x34


def test_errors_that_are_each_allowed_may_be_too_many_together() -> None:
    right = np.ones(64, "float32")
    wanted = replace(expected(right, "float32"), most_rms_ulp=2.0)
    one_off = right.copy()
    one_off[5] = nudged(right, 4)[5]
    assert within(one_off, wanted)
    all_off = nudged(right, 4)
    assert not within(all_off, wanted)
    fault = explain("y", all_off, wanted, 0)
    assert fault.cause == "wrong-output"
    assert fault.reason == "y: off by 4 ULP in the mean of a block of elements, allowed are 2"
    assert fault.excess == 2.0


def counts(slack: int) -> Expected:
    """Counts of which each may be off by so many."""
    right = np.array([100, 120, 80, 100], np.int64)
    return replace(expected(right, "int64"), also=lambda got: np.abs(got - right) <= slack)


@pytest.mark.parametrize(("slack", "found"), [(0, True), (2, True), (5, True), (6, False), (100, False)])
def test_counts_are_decided_where_a_twentieth_more_is_refused(slack: int, found: bool) -> None:
    assert decided(counts(slack)) == found


def test_booleans_are_decided_where_most_may_not_be_turned() -> None:
    right = np.array([1, 0, 1, 0], np.uint8)
    for some, found in ((2, True), (3, False)):
        is_open = np.arange(4) < some
        assert decided(replace(expected(right, "uint8"), also=lambda got, o=is_open: (got == right) | o)) == found


def test_what_equals_the_right_answer_rests_on_itself_and_what_differs_on_what_is_refused() -> None:
    right = counts(0).value
    for slack, found in ((2, False), (100, True)):
        assert not rests_on_nothing(right, counts(slack))
        assert rests_on_nothing(right + 1, counts(slack)) == found
    assert not rests_on_nothing(right + 1, replace(counts(100), also=None))
    near = expected([1.0, 2.0], "float32")
    assert not rests_on_nothing(nudged(np.array([1, 2], np.float32), 1), near)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_the_same_values_are_told_wherever_one_differs(dtype: str) -> None:
    one = np.arange(300_000).reshape(3, -1).astype(np_dtype(dtype))
    assert same_values(one, one)
    assert same_values(one, one.copy())
    assert not same_values(one, one.reshape(-1))
    for place in (0, 131_072, one.size - 1):
        other = one.copy()
        other.reshape(-1)[place] += 1 if dtype != "bfloat16" else 4096
        assert not same_values(one, other)


def test_no_number_is_the_same_as_no_number_and_as_nothing_else() -> None:
    one = np.array([1.0, np.nan], np.float32)
    assert same_values(one, one.copy())
    assert not same_values(one, np.ones(2, np.float32))
    assert same_values(np.empty(0, np.float32), np.empty(0, np.float32))
