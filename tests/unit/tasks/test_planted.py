"""What every draw of a built-in task shows for certain, at every shape; and kernels that are wrong there alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kernellab.tasks.builtin import TASKS
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.inputs import STANDARD, draw_huge, draw_inputs, draw_large, numbers
from kernellab.tasks.oracle import expect
from kernellab.tasks.planted import few_bits, hidden, in_rows, plant, plant_whole, sure_zeros
from kernellab.tasks.spec import Array, Buffer, Dims, Draw, Task, dims_label, elements
from kernellab.verdict.numeric import within

_MOST = 1 << 20
SHAPES = [
    pytest.param(name, dims, id=f"{name}-{dims_label(dims)}")
    for name, task in TASKS.items()
    for dims in (*task.edge, *task.held_out, *task.tune, task.quick_shape)
    if elements(task.inputs, dims) <= (_MOST if "_" not in name.removeprefix("particle_") else 1 << 17)
]
SEEDS = range(6)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def under_all(task: Task, dims: Dims, index: int, seed: int) -> dict[str, Array]:
    """One input under every distribution, as a matrix of rows."""
    names = enumerate(task.distributions)
    drawn = {name: draw_inputs(task, dims, name, rng(1000 * seed + k))[index] for k, name in names}
    return {name: in_rows(array.astype(np.float64)) for name, array in drawn.items()}


def zero_columns(drawn: dict[str, Array]) -> dict[int, set[int]]:
    """Column -> signs (0, 1) of the zeros that some distribution has there."""
    found: dict[int, set[int]] = {}
    for rows in drawn.values():
        for row, column in np.argwhere(rows == 0)[:1000].tolist():
            found.setdefault(column, set()).add(int(np.signbit(rows[row, column])))
    return found


def has_tie(rows: Array) -> bool:
    """A largest number that is in its row twice, among others."""
    top = rows.max(axis=1, keepdims=True)
    count = np.count_nonzero(rows == top, axis=1)
    return bool(((count > 1) & (count < rows.shape[1]) & np.isfinite(top[:, 0])).any())


@pytest.mark.parametrize(("name", "dims"), SHAPES)
def test_every_draw_of_a_built_in_task_has_zeros_and_ties(name: str, dims: Dims) -> None:
    task = TASKS[name]
    for index, buffer in enumerate(task.inputs):
        count = math.prod(buffer.shape(dims))
        drawn = under_all(task, dims, index, 0)
        length = next(iter(drawn.values())).shape[1]
        if count == 1:
            continue
        for distribution, rows in drawn.items():
            if (distribution != "constant-rows" or len(rows) >= 4) and (buffer.name, distribution) != ("lw", "large"):
                assert (rows == 0).any(), (distribution, "no zero")
        zeros = zero_columns(drawn)
        assert {0, length // 2, length - 1} <= set(zeros)
        assert set().union(*zeros.values()) == {0, 1}, "a sign of zero is missing"
        for place in (0, count // 2, count - 1):
            assert any(rows.reshape(-1)[place] != 0 for rows in drawn.values()), "a place that is always zero"
        if length >= 3:
            assert any(has_tie(rows) for rows in drawn.values())
            assert any((rows == rows[:, :1]).all(axis=1).any() for rows in drawn.values()), "no row of one value"


@pytest.mark.parametrize(("name", "dims"), SHAPES)
def test_some_row_is_below_zero_and_some_above_and_some_ends_there(name: str, dims: Dims) -> None:
    task = TASKS[name]
    drawn = under_all(task, dims, 0, 0)
    first = next(iter(drawn.values()))
    if len(first) == 1:
        assert first.size == 1 or (drawn["constant-rows"] < 0).all()
        return
    assert any((rows.max(axis=1) < 0).any() for rows in drawn.values())
    assert any((rows.min(axis=1) > 0).any() for rows in drawn.values())
    assert any((rows.max(axis=1) == 0).any() for rows in drawn.values())
    lowest = drawn["large"].max(axis=1)
    assert ((lowest <= -19_900) & (lowest >= -30_200)).any()  # as far as an additive mask puts it, in every type
    assert np.isfinite(drawn["large"]).all()


ENDS = {"float32": 1e6, "float64": 1e6, "bfloat16": 1e6, "float16": 6e4}


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("draw", [draw_large, draw_huge])
def test_rows_lie_anywhere_up_to_the_end_of_what_is_asked_for(draw: Draw, dtype: str) -> None:
    buffer, end = Buffer("x", (12, 40), dtype), 6e4 if draw is draw_large else ENDS[dtype]
    on_the_way = []
    for seed in range(30):
        x = draw(rng(seed), buffer, {}).astype(np.float64)
        assert np.isfinite(x).all()
        bottom, top = np.sort(x.max(axis=1)), np.sort(x.min(axis=1))
        assert -1.01 * end <= bottom[0] <= -0.49 * end
        assert 0.49 * end <= top[-1] <= 1.01 * end
        assert ((bottom >= -30_200) & (bottom <= -19_900)).any()
        assert ((top <= 30_200) & (top >= 19_900)).any()
        on_the_way += [np.log10(-v) for v in bottom[:3]]
    far = np.log10(end)
    halves = np.histogram(on_the_way, [2.9, (3 + far) / 2, far + 0.1])[0]
    assert halves.min() > 0, "not on a logarithmic scale"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_row_far_out_holds_more_than_one_value(dtype: str) -> None:
    """What saturates there gives the same answer for a row of one value."""
    x = draw_huge(rng(), Buffer("x", (12, 40), dtype), {}).astype(np.float64)
    far = np.flatnonzero(np.abs(x).min(axis=1) > 19_000)
    assert len(far) >= 4
    assert all(len(np.unique(x[row])) > 2 for row in far)


@pytest.mark.parametrize("name", ["particle_filter", "particle_filter_bf16", "particle_filter_f16"])
@pytest.mark.parametrize("dims", TASKS["particle_filter"].edge, ids=dims_label)
def test_all_log_weights_are_far_below_zero_under_one_distribution(name: str, dims: Dims) -> None:
    for seed in SEEDS:
        _, lw, _ = draw_inputs(TASKS[name], dims, "large", rng(seed))
        assert -31_000 < lw.astype(np.float64).max() < -19_000


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dims", TASKS["softmax"].edge, ids=dims_label)
def test_masked_rows_begin_and_end_with_minus_infinity_and_never_are_all_of_it(seed: int, dims: Dims) -> None:
    (x,) = draw_inputs(TASKS["softmax"], dims, "masked", rng(seed))
    assert np.isfinite(x).any(axis=1).all()
    if dims["M"] >= 2:
        assert np.isinf(x[:, 0]).any()
        assert np.isinf(x[:, -1]).any()
        assert np.isfinite(x[:, 0]).any()


# Kernels that are wrong in one special case


def _softmax(x: Array, top: Array, terms: Callable[[Array], Array] = np.asarray) -> Array:
    e = terms(np.exp(x - top))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _top(x: Array) -> Array:
    return np.asarray(x.max(axis=1, keepdims=True))


def zero_adds_nothing(x: Array) -> Array:
    return _softmax(x, _top(x), lambda e: np.where(x == 0, 0, e))


def minus_zero_adds_nothing(x: Array) -> Array:
    return _softmax(x, _top(x), lambda e: np.where((x == 0) & np.signbit(x), 0, e))


def last_zero_is_padding(x: Array) -> Array:
    return _softmax(x, _top(x), lambda e: np.where((x == 0) & (np.arange(x.shape[1]) == x.shape[1] - 1), 0, e))


def first_zero_is_padding(x: Array) -> Array:
    return _softmax(x, _top(x), lambda e: np.where((x == 0) & (np.arange(x.shape[1]) == 0), 0, e))


def maximum_begins_at_zero(x: Array) -> Array:
    return _softmax(x, np.maximum(_top(x), 0))


def maximum_begins_at_ten_thousand(x: Array) -> Array:
    return _softmax(x, np.maximum(_top(x), -1e4))


def masked_is_what_lies_far_below(x: Array) -> Array:
    return _softmax(x, _top(x), lambda e: np.where(x < -7000, 0, e))


def only_one_is_the_largest(x: Array) -> Array:
    first = np.arange(x.shape[1]) == np.argmax(x, axis=1)[:, None]
    return _softmax(x, _top(x), lambda e: np.where((x == _top(x)) & ~first, 0, e))


def begins_with_the_first(x: Array) -> Array:
    """A running maximum from the first element on: infinity less itself is no number."""
    return np.where(np.isinf(x[:, :1]), np.nan, _softmax(x, _top(x)))


WRONG = (
    zero_adds_nothing, minus_zero_adds_nothing, last_zero_is_padding, first_zero_is_padding, maximum_begins_at_zero,
    maximum_begins_at_ten_thousand, masked_is_what_lies_far_below, only_one_is_the_largest, begins_with_the_first,
)  # fmt: skip


def caught(task: Task, dims: Dims, kernel: Callable[..., Array], seed: int) -> bool:
    for number, distribution in enumerate(task.distributions):
        inputs = draw_inputs(task, dims, distribution, rng(1000 * seed + number))
        with np.errstate(all="ignore"):
            made = kernel(*(a.astype(np.float64) for a in inputs)).astype(task.outputs[0].dtype)
        if not within(made, expect(task, dims, inputs)[0]):
            return True
    return False


@pytest.mark.heavy
@pytest.mark.parametrize("kernel", WRONG, ids=lambda k: k.__name__)
def test_a_softmax_that_is_wrong_in_one_special_case_is_caught_at_every_odd_shape(
    kernel: Callable[[Array], Array],
) -> None:
    for name in ("softmax", "softmax_bf16", "softmax_f16"):
        for dims in TASKS[name].edge:
            for seed in SEEDS if dims["M"] > 1 else ():
                assert caught(TASKS[name], dims, kernel, seed), (name, dims, seed)


def _weights(x: Array, lw: Array, z: Array, top: float | None = None, none: Array | None = None) -> Array:
    log = (lw - 0.5 * (z - x) ** 2).astype(np.float32)
    e = np.exp(log - (log.max() if top is None else max(top, log.max()))).astype(np.float64)
    e = e if none is None else np.where(none, 0, e)
    return np.asarray(e / e.sum())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "kernel",
    [
        lambda x, lw, z: _weights(x, lw, z, top=0.0),
        lambda x, lw, z: _weights(x, lw, z, top=-1e4),
        lambda x, lw, z: _weights(x, lw, z, none=x == z),
        lambda x, lw, z: _weights(x, lw, z, none=lw == 0),
        lambda x, lw, z: _weights(x, lw, z, none=x == 0),
    ],
    ids=["maximum begins at zero", "at ten thousand", "no distance", "no log-weight", "no prediction"],
)
def test_a_particle_filter_that_is_wrong_in_one_special_case_is_caught(kernel: Callable[..., Array], seed: int) -> None:
    for name in ("particle_filter", "particle_filter_bf16", "particle_filter_f16"):
        for dims in TASKS[name].edge:
            if dims["N"] > 1:
                assert caught(TASKS[name], dims, kernel, seed), (name, dims)


# The planting itself


TENSORS = [(2,), (7,), (1, 9), (2, 2), (3, 7), (4, 1), (4, 5), (12, 3), (40, 30), (5, 6, 1), (2, 3, 4)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("shape", TENSORS, ids=str)
def test_any_tensor_of_two_elements_or_more_has_a_zero_and_something_else(shape: tuple[int, ...], dtype: str) -> None:
    buffer = Buffer("x", shape, dtype)
    for seed in range(20):
        for name, draw in STANDARD.items():
            x = draw(rng(seed), buffer, {})
            assert (x.shape, x.dtype) == (shape, np.dtype(dtype))
            assert x.astype(np.float64).any()
            assert name == "constant-rows" or (x == 0).any(), name
            if name == "heavy-tail" and is_float(dtype):
                size = np.abs(x.astype(np.float64))
                rows = in_rows(x)
                towers = 3 if len(rows) >= 12 else int(rows.shape[0] == 1 and rows.shape[1] >= 1024)
                assert np.count_nonzero((size >= 990) & (size <= 60_000)) == np.count_nonzero(size > 80) == towers


def test_a_single_number_is_left_alone() -> None:
    for name, draw in STANDARD.items():
        assert all(draw(rng(seed), Buffer("x", (1,)), {})[0] != 0 for seed in range(50)), name


@pytest.mark.parametrize("shape", [(4,), (2, 2), (3, 5), (9, 4)], ids=str)
def test_integers_show_the_ends_of_their_range(shape: tuple[int, ...]) -> None:
    for seed in range(20):
        x = STANDARD["normal"](rng(seed), Buffer("x", shape, "int32"), {})
        assert (x.min(), x.max()) == (-1000, 1000)
        assert (x == 0).any()
        few = plant_whole(np.full(shape, 7, np.uint8), rng(seed), 1, 0, 255)
        assert {0, 255} <= set(few.reshape(-1).tolist())


def test_most_of_a_large_draw_is_as_it_was() -> None:
    buffer, dims = Buffer("x", ("M", "N")), {"M": 400, "N": 300}
    plain = numbers(rng(3), buffer, dims)
    changed = (plant(plain.copy(), rng(4), 0) != plain).any(axis=1)
    assert 7 <= np.count_nonzero(changed) <= 8


def test_planted_rows_differ_from_draw_to_draw() -> None:
    places = {tuple(np.argwhere(plant(np.ones((50, 9)), rng(seed), 0)[:, 0] == 0)[:, 0]) for seed in range(20)}
    assert len(places) > 15


def test_sure_zeros_are_where_they_are_promised() -> None:
    assert sure_zeros((1,), 5) == []
    assert sure_zeros((6,), 5) == [5]
    assert sure_zeros((2, 3), 1) == [5]
    assert sorted(sure_zeros((4, 5), 3)) == [0, 7, 19]


@pytest.mark.parametrize("shape", [(9, 7), (3, 2), (2, 3, 5), (4, 1)], ids=str)
def test_a_mask_leaves_one_of_every_row(shape: tuple[int, ...]) -> None:
    for seed in range(20):
        mask = hidden(rng(seed), shape, 0.3)
        assert mask.shape == shape
        assert not mask.all(axis=-1).any()
        if shape[-1] > 1:
            assert mask[..., 0].any()
            assert mask[..., -1].any()


def test_values_of_few_bits_are_near_and_add_up_exactly() -> None:
    x = rng().standard_normal(1000).astype(np.float32)
    near = few_bits(x)
    assert np.abs(near / x - 1).max() <= 1 / 128
    assert np.array_equal(few_bits(np.arange(5)), np.arange(5))
