from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernellab.core.errors import TaskRefused
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.dtypes import limits
from kernellab.tasks.inputs import STANDARD, draw_inputs, draw_normal
from kernellab.tasks.oracle import error_ulp, expect, own_is_over, own_rms_ulp, run_reference, run_trusted
from kernellab.tasks.spec import Array, Buffer, Task
from kernellab.verdict.numeric import within

EPS = float(np.finfo(np.float32).eps)
HALF = {"float32": np.float16, "float16": ml_dtypes.float8_e5m2, "bfloat16": ml_dtypes.float8_e5m2}
SHORT = ("float16", "bfloat16")


def make(reference: Any = lambda x: x, **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "name": "t",
        "about": "",
        "inputs": (Buffer("x", ("N",)),),
        "outputs": (Buffer("y", ("N",)),),
        "reference": reference,
        "tune": ({"N": 8},),
        "held_out": ({"N": 9},),
        "edge": ({"N": 1},),
        "distributions": STANDARD,
    }
    return Task(**{**fields, **changes})


def ones(n: int = 8) -> Array:
    return np.ones(n, np.float32)


def off_by(ulps: float) -> Any:
    """An implementation that is off by so many ULPs of one."""

    def baseline(x: Array, y: Array) -> None:
        y[...] = x * np.float32(1 + ulps * EPS)

    return baseline


def budget(**changes: Any) -> float:
    return expect(make(**changes), {"N": 8}, [ones()])[0].budget_ulp


def test_the_reference_runs_in_float64() -> None:
    seen = []
    run_reference(make(lambda x: seen.append(x.dtype) or x), [ones()])
    assert seen == [np.float64]


def test_the_reference_gets_copies() -> None:
    def spoil(x: Array) -> Array:
        x += 1
        return x

    inputs = [ones().astype(np.float64)]
    run_reference(make(spoil), inputs)
    assert inputs[0].tolist() == [1.0] * 8


def test_the_trusted_implementation_runs_in_the_tasks_own_dtype() -> None:
    (y,) = run_trusted(make(lambda x: x * 3), [ones()], {"N": 8})
    assert (y.dtype, y.tolist()) == (np.float32, [3.0] * 8)


@pytest.mark.parametrize(("terms", "floor"), [(1, 5.0), (100, 14.0), (10_000, 104.0), (1 << 30, 1024.0)])
def test_the_floor_grows_with_the_root_of_the_terms_summed_up_to_its_cap(terms: int, floor: float) -> None:
    assert budget(reduction=lambda d: terms) == floor


def test_zeros_are_no_terms_of_a_sum() -> None:
    x = np.zeros(10_000, np.float32)
    x[::2500] = 1
    task = make(reduction=lambda d: 10_000)
    assert expect(task, {"N": 10_000}, [x])[0].budget_ulp == 6.0
    assert expect(task, {"N": 10_000}, [ones(10_000)])[0].budget_ulp == 104.0


def ten_bits(x: Array) -> Array:
    return np.asarray(((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32))


def test_weights_of_ten_bits_are_outside_however_many_there_are() -> None:
    task = TASKS["particle_filter"]
    for distribution in ("normal", "sparse"):
        inputs = draw_inputs(task, {"N": 1 << 20}, distribution, np.random.default_rng(1))
        weights, _ = expect(task, {"N": 1 << 20}, inputs)
        right = weights.value.astype(np.float32)
        assert within(right, weights)
        assert not within(ten_bits(right), weights)


@pytest.mark.parametrize("distribution", TASKS["softmax"].distributions)
def test_a_running_sum_in_the_worst_order_is_inside(distribution: str) -> None:
    task, dims = TASKS["softmax"], {"M": 64, "N": 4096}
    (x,) = draw_inputs(task, dims, distribution, np.random.default_rng(4))
    (expected,) = expect(task, dims, [x])
    e = np.exp(x - x.max(axis=1, keepdims=True))
    for terms in (e, e[:, ::-1], -np.sort(-e, axis=1)):
        assert within(e / np.cumsum(terms, axis=1, dtype=np.float32)[:, -1:], expected)


def test_without_a_reduction_the_floor_is_five_ulp() -> None:
    assert budget() == 5.0


def test_the_budget_is_four_times_the_trusted_implementations_own_error() -> None:
    assert budget(baselines={"numpy": off_by(10)}) == pytest.approx(40, rel=0.01)


def test_the_budget_is_twice_the_plain_implementations_error() -> None:
    plain = lambda x: x * np.float32(1 + 50 * EPS)  # noqa: E731
    assert budget(plain=plain) == pytest.approx(100, rel=0.01)
    assert budget(plain=plain, baselines={"numpy": off_by(60)}) == pytest.approx(240, rel=0.01)


@pytest.mark.parametrize("halo", [None, 0])
def test_one_element_far_off_excuses_no_other_however_large_the_shape(halo: int | None) -> None:
    def slipped(x: Array, y: Array) -> None:
        y[...] = x
        y[-1] *= np.float32(1.01)

    (found,) = expect(make(halo=halo, baselines={"numpy": slipped}), {"N": 4096}, [ones(4096)], band=1024)
    assert found.budget_ulp == 64 * 5.0
    assert found.wanted_ulp == pytest.approx(0.04 / EPS, rel=0.01)
    assert float(found.high[0]) == pytest.approx(1 + 320 * EPS)


def test_a_trusted_implementation_that_breaks_down_does_not_open_the_budget() -> None:
    def broken(x: Array, y: Array) -> None:
        y[...] = np.nan

    assert budget(baselines={"numpy": broken}) == 5.0


@pytest.mark.parametrize("name", TASKS)
def test_half_precision_is_outside_at_every_edge_shape_of_the_built_in_tasks(name: str) -> None:
    task = TASKS[name]
    for dims in task.edge[-2:]:
        inputs = draw_inputs(task, dims, "normal", np.random.default_rng(3))
        for expected in expect(task, dims, inputs):
            if expected.value.size < 16:
                continue
            dtype = expected.low.dtype
            half = expected.value.astype(HALF[dtype.name]).astype(dtype)
            assert not within(half, expected)
            assert within(expected.value.astype(dtype), expected)


def test_the_interval_is_the_budget_wide() -> None:
    (expected,) = expect(make(), {"N": 8}, [ones()])
    assert expected.high[0] == np.float32(1 + 5 * EPS)
    assert expected.low[0] == np.float32(1 - 5 * EPS)
    assert expected.low.dtype == np.float32


def test_scale_widens_the_interval_where_terms_cancel() -> None:
    task = make(
        lambda x: x - 1, scale=lambda x: np.abs(x) + 1, baselines={"numpy": lambda x, y: np.subtract(x, 1, out=y)}
    )
    (expected,) = expect(task, {"N": 8}, [ones()])
    assert expected.value.tolist() == [0.0] * 8
    assert expected.high[0] == pytest.approx(5 * EPS * 2)


def test_fully_masked_rows_expect_nan_and_masked_entries_zero() -> None:
    task = TASKS["softmax"]
    x = np.array([[0, -np.inf], [-np.inf, -np.inf]], np.float32)
    (expected,) = expect(task, {"M": 2, "N": 2}, [x])
    right = np.array([[1, 0], [np.nan, np.nan]], np.float32)
    assert np.array_equal(expected.value, right, equal_nan=True)
    assert within(right, expected)
    assert not within(np.nan_to_num(right), expected)
    assert not within(np.array([[1, np.nan], [np.nan, np.nan]], np.float32), expected)
    assert math.isfinite(expected.budget_ulp)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_non_finite_values_must_match_in_kind_and_sign(value: float) -> None:
    x = np.array([1, value], np.float32)
    (expected,) = expect(make(), {"N": 2}, [x])
    assert within(x, expected)
    others = [
        v
        for v in (math.inf, -math.inf, math.nan, 0.0, 3e38)
        if v != value and not (math.isnan(v) and math.isnan(value))
    ]
    for other in others:
        assert not within(np.array([1, other], np.float32), expected)


def test_a_value_beyond_the_dtype_expects_infinity() -> None:
    (expected,) = expect(make(lambda x: x * 1e39), {"N": 8}, [ones()])
    assert within(np.full(8, np.inf, np.float32), expected)
    assert not within(np.full(8, np.nan, np.float32), expected)


def test_error_ulp_counts_in_units_of_the_scale_and_says_where() -> None:
    got = np.array([1, 2, 3], np.float32)
    absolute, ulps, where = error_ulp(got, np.array([1, 2.5, 3]), np.array([1.0, 2.5, 3.0]))
    assert (absolute, where) == (0.5, 1)
    assert ulps == pytest.approx(0.5 / (EPS * 2.5))


def test_the_worst_of_many_elements_is_found_wherever_it_is() -> None:
    for place in (0, 40_000, 99_999):
        value, scale = np.ones(100_000), np.ones(100_000)
        got = value.astype(np.float32)
        got[place] += 8 * EPS
        assert error_ulp(got, value, scale) == (8 * EPS, 8.0, place)
        scale[12] = got[12] = np.inf
        absolute, ulps, where = error_ulp(got, value, scale)
        assert (absolute, where) == (math.inf, 12)
        assert math.isnan(ulps), "an infinite error in infinite units is no number, and fits no budget"


def test_differences_below_the_smallest_normal_number_do_not_count() -> None:
    tiny = float(np.finfo(np.float32).tiny)
    assert error_ulp(np.zeros(1, np.float32), np.array([tiny / 3]), np.array([tiny / 3]))[1] == 0.0


def test_an_exact_task_expects_every_bit() -> None:
    integers = {"inputs": (Buffer("x", ("N",), "int32"),), "outputs": (Buffer("y", ("N",), "int32"),)}
    task = make(lambda x: x[::-1], **integers, exact=True, distributions={"normal": draw_normal})
    x = np.arange(8, dtype=np.int32)
    (expected,) = expect(task, {"N": 8}, [x])
    assert (expected.exact, expected.budget_ulp, expected.value.dtype) == (True, 0.0, np.int32)
    assert within(x[::-1].copy(), expected)
    assert not within(x, expected)


def test_a_reference_with_the_wrong_number_of_outputs_is_refused() -> None:
    with pytest.raises(TaskRefused, match="returns 2 outputs, 1 declared"):
        expect(make(lambda x: (x, x), baselines={"numpy": off_by(0)}), {"N": 8}, [ones()])


def test_a_reference_of_the_wrong_shape_is_refused_with_the_shape() -> None:
    with pytest.raises(TaskRefused, match=r"gives shape \(7,\) for 'y' at N=8, declared \(8,\)"):
        expect(make(lambda x: x[1:]), {"N": 8}, [ones()])


def short(dtype: str, reference: Any = lambda x: x * 3, **changes: Any) -> Task:
    return make(reference, inputs=(Buffer("x", ("N",), dtype),), outputs=(Buffer("y", ("N",), dtype),), **changes)


def draws(dtype: str, n: int = 999) -> Array:
    return np.random.default_rng(7).standard_normal(n).astype(dtype)


@pytest.mark.parametrize("dtype", SHORT)
def test_16_bit_outputs_may_be_off_by_about_two_ulp(dtype: str) -> None:
    (expected,) = expect(short(dtype), {"N": 999}, [draws(dtype)])
    assert 1.5 < expected.budget_ulp <= 2.01
    assert expected.low.dtype == expected.high.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", SHORT)
def test_where_rounding_loses_nothing_16_bit_outputs_may_be_off_by_one_ulp(dtype: str) -> None:
    assert expect(short(dtype, lambda x: x * 2), {"N": 999}, [draws(dtype)])[0].budget_ulp == 1.0


@pytest.mark.parametrize("dtype", SHORT)
def test_plain_summation_runs_in_float32_too(dtype: str) -> None:
    seen = []

    def plain(x: Array) -> Array:
        seen.append(x.dtype)
        return x * 3

    assert expect(short(dtype, plain=plain), {"N": 999}, [draws(dtype)])[0].budget_ulp <= 2.01
    assert seen == [np.float32]


@pytest.mark.parametrize("dtype", SHORT)
def test_float32_outputs_of_16_bit_inputs_are_held_to_float32(dtype: str) -> None:
    task = make(lambda x: x * 3, inputs=(Buffer("x", ("N",), dtype),))
    (expected,) = expect(task, {"N": 999}, [draws(dtype)])
    assert (expected.budget_ulp, expected.low.dtype) == (5.0, np.float32)
    assert not within(expected.value.astype(dtype).astype(np.float32), expected)


@pytest.mark.parametrize("dtype", SHORT)
def test_a_large_scale_buys_float32_ulps_not_16_bit_ones(dtype: str) -> None:
    """Terms a hundred times the result: float32 sums stay inside, the same sum rounded on the way does not."""
    task = short(dtype, lambda x: x + 100 - 100, scale=lambda x: np.abs(x) + 200)
    x = draws(dtype)
    (expected,) = expect(task, {"N": 999}, [x])
    assert within((x.astype(np.float32) + 100 - 100).astype(dtype), expected)
    rounded = (x.astype(np.float32) + 100).astype(dtype).astype(np.float32) - 100
    assert not within(rounded.astype(dtype), expected)


@pytest.mark.parametrize("dtype", SHORT)
def test_the_interval_of_16_bit_outputs_holds_what_the_budget_allows_and_nothing_else(dtype: str) -> None:
    x = np.concatenate([draws(dtype, 400), draws(dtype, 100) * np.array(1e-4, dtype), np.zeros(3, dtype)])
    (expected,) = expect(short(dtype), {"N": len(x)}, [x])
    right = expected.value.astype(dtype)
    info = limits(dtype)
    slack = expected.budget_ulp * info.eps * np.maximum(expected.scale, info.tiny) + info.quiet
    for steps in range(-6, 7):
        got = (right.view(np.int16) + np.int16(steps)).view(dtype)
        off = np.abs(got.astype(np.float64) - expected.value)
        with np.errstate(invalid="ignore"):  # below zero's own bits there are NaNs
            inside = (got >= expected.low) & (got <= expected.high)
        sure = np.abs(off / slack - 1) > 1e-9
        assert np.array_equal(inside[sure], off[sure] < slack[sure])


def test_on_the_budget_is_within_and_the_next_number_is_not() -> None:
    value = np.array([1.5])
    eps = limits("bfloat16").eps
    for steps, accepted in ((2, True), (3, False), (-2, True), (-3, False)):
        got = (value + steps * eps).astype("bfloat16")
        wanted = expect(short("bfloat16", lambda x: x), {"N": 1}, [value.astype("bfloat16")], [2 / 1.5])[0]
        assert bool(wanted.low[0] <= got[0] <= wanted.high[0]) is accepted
        assert within(got, wanted) is accepted


def test_small_float16_outputs_are_not_excused() -> None:
    """Below float16's smallest normal number there are ordinary softmax outputs: zero is wrong there."""
    x = np.full(64, 3e-5, np.float16)
    (expected,) = expect(short("float16", lambda x: x * 0.7), {"N": 64}, [x])
    assert within((x.astype(np.float32) * np.float32(0.7)).astype(np.float16), expected)
    assert not within(np.zeros(64, np.float16), expected)


def test_a_value_beyond_float16_expects_infinity() -> None:
    (expected,) = expect(short("float16", lambda x: x * 1e6), {"N": 8}, [np.ones(8, np.float16)])
    assert within(np.full(8, np.inf, np.float16), expected)
    assert not within(np.full(8, 65504, np.float16), expected)
    assert not within(np.full(8, np.nan, np.float16), expected)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_non_finite_16_bit_values_must_match_in_kind_and_sign(value: float, dtype: str) -> None:
    x = np.array([1, value], dtype)
    (expected,) = expect(short(dtype, lambda x: x), {"N": 2}, [x])
    assert within(x, expected)
    assert not any(
        within(np.array([1, v], dtype), expected)
        for v in (math.inf, -math.inf, math.nan, 0.0)
        if v != value and not (math.isnan(v) and math.isnan(value))
    )


@pytest.mark.parametrize("dtype", SHORT)
def test_softmax_summed_or_shifted_in_16_bits_is_refused(dtype: str) -> None:
    task = TASKS[f"softmax_{'f16' if dtype == 'float16' else 'bf16'}"]
    dims = {"M": 17, "N": 513}
    (x,) = draw_inputs(task, dims, "normal", np.random.default_rng(2))
    (expected,) = expect(task, dims, [x])
    wide = x.astype(np.float32)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    assert within((e / e.sum(axis=1, keepdims=True)).astype(dtype), expected)
    total = np.zeros((17, 1), dtype)
    for k in range(513):
        total = total + e[:, k : k + 1].astype(dtype)
    assert not within((e / total.astype(np.float32)).astype(dtype), expected)
    shifted = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float32))
    assert not within((shifted / shifted.sum(axis=1, keepdims=True)).astype(dtype), expected)


@pytest.mark.parametrize("seed", range(40))
def test_the_quick_look_at_neighbours_says_what_their_mean_says(seed: int) -> None:
    """Of rows of all sizes, with common factors, roughness, tiny values and odd ones."""
    rng = np.random.default_rng(seed)
    rows, length = int(rng.integers(1, 5)), int(rng.choice([8, 64, 100, 513]))
    value = rng.standard_normal((rows, length)) * 10.0 ** rng.integers(-46, 1, (rows, length)) ** float(rng.integers(2))
    value[rng.random(value.shape) < 0.02 * (seed % 4 == 0)] = -np.inf
    shared = rng.random((rows, 1)) * 3
    scale = np.abs(value) * (shared + 1)
    roughness = float(rng.choice([0.0, 0.3, 2.0, 4.0]))
    common = shared * float(rng.integers(2))
    off = 1 + EPS * (common * rng.standard_normal((rows, 1)) + roughness * rng.standard_normal(value.shape))
    got, most = (value * off).astype(np.float32), 1.5
    assert own_is_over(got, value, scale, shared, most) == (own_rms_ulp(got, value, scale, shared) > most)
