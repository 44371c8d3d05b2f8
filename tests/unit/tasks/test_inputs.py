from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernellab.tasks.builtin import TASKS as BUILT_IN
from kernellab.tasks.inputs import (
    STANDARD,
    draw_constant_rows,
    draw_heavy_tail,
    draw_inputs,
    draw_large,
    draw_normal,
    draw_offset,
    numbers,
    sparse,
)
from kernellab.tasks.spec import DTYPES, Buffer, Task

DIMS = {"M": 64, "N": 256}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", STANDARD)
def test_a_draw_is_seeded_and_of_the_declared_shape_and_dtype(name: str, dtype: str) -> None:
    buffer = Buffer("x", ("M", "2*N+1"), dtype)
    first, again, other = (STANDARD[name](rng(s), buffer, DIMS) for s in (1, 1, 2))
    assert (first.shape, first.dtype) == ((64, 513), np.dtype(dtype))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.isfinite(first).all()


def test_normal_floats_are_standard_normal() -> None:
    x = draw_normal(rng(), Buffer("x", ("M", "N")), DIMS)
    assert np.percentile(x, [15.9, 50, 84.1]) == pytest.approx([-1, 0, 1], abs=0.1)
    plain = numbers(rng(), Buffer("x", ("M", "N")), DIMS)
    assert abs(plain.mean()) < 0.03
    assert abs(plain.std() - 1) < 0.03
    assert np.count_nonzero(x != plain) <= 6 * 256


def test_integers_cover_their_documented_range() -> None:
    bytes_ = draw_normal(rng(), Buffer("x", ("M", "N"), "uint8"), DIMS)
    assert (bytes_.min(), bytes_.max()) == (0, 255)
    whole = draw_normal(rng(), Buffer("x", ("M", "N"), "int32"), DIMS)
    assert (whole.min(), whole.max()) == (-1000, 1000)


def test_offset_is_normal_moved_by_three() -> None:
    assert abs(np.median(draw_offset(rng(), Buffer("x", ("M", "N")), DIMS)) - 3) < 0.05


def test_heavy_tail_has_a_few_dominating_elements_within_bounds() -> None:
    x = draw_heavy_tail(rng(), Buffer("x", (11, 4096)), {})
    size = np.sort(np.abs(x), axis=None)
    assert 10 < size[-4] <= 80
    assert np.median(np.abs(x)) < 1


@pytest.mark.parametrize(("shape", "towers"), [((64, 4096), 3), ((1 << 18,), 1)])
def test_where_single_elements_tower_over_the_others_those_are_as_under_normal(
    shape: tuple[int, ...], towers: int
) -> None:
    """Who looks at a few elements to know the distribution, and takes a short cut under the timed one, does not see it."""
    x = draw_heavy_tail(rng(), Buffer("x", shape), {})
    size = np.sort(np.abs(x), axis=None)
    assert np.count_nonzero(size >= 1000) == towers
    assert size[-towers - 1] < 80
    assert 20_000 <= size[-1] <= 60_000
    assert size[size.size * 9 // 10] < 3
    assert (x == 0).any()


def test_heavy_tail_drawn_plain_is_heavy_at_any_shape() -> None:
    x = draw_inputs(BUILT_IN["softmax"], {"M": 64, "N": 4096}, "heavy-tail", rng(), plain=True)[0]
    assert 10 < np.abs(x).max() <= 80


def test_large_reaches_tens_of_thousands() -> None:
    size = np.abs(draw_large(rng(), Buffer("x", ("M", "N")), DIMS))
    assert np.median(size) < 1000
    assert 30_000 < size.max() < 70_000


def test_constant_rows_hold_one_value_each() -> None:
    x = draw_constant_rows(rng(), Buffer("x", ("M", "N")), DIMS)
    assert (x == x[:, :1]).all()
    assert len(np.unique(x[:, 0])) > 48
    assert x.flags["C_CONTIGUOUS"]


def test_constant_rows_are_the_same_sum_in_any_order() -> None:
    x = draw_constant_rows(rng(), Buffer("x", ("M", "N")), {"M": 16, "N": 131072})
    assert np.array_equal(np.cumsum(x, axis=1, dtype=np.float32)[:, -1], x.sum(axis=1, dtype=np.float64))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_sparse_rows_have_about_four_numbers(dtype: str) -> None:
    x = sparse("x")(rng(), Buffer("x", ("M", "N"), dtype), DIMS)
    counts = np.count_nonzero(x, axis=1)
    assert (x.shape, x.dtype) == ((64, 256), np.dtype(dtype))
    assert counts.max() == 4
    assert counts.min() >= 2
    assert len({tuple(np.flatnonzero(row)) for row in x}) > 60


def test_sparse_windows_have_about_four_numbers() -> None:
    x = sparse("x", among=25)(rng(), Buffer("x", ("M", "N", 2)), DIMS)
    assert 25 * np.count_nonzero(x) / x.size == pytest.approx(4, rel=0.15)


def test_sparse_leaves_the_other_inputs_and_integers_alone() -> None:
    draw = sparse("x", rest=-40.0, spread=0.5)
    assert np.percentile(draw(rng(), Buffer("b", ("M", "N")), DIMS), [15.9, 84.1]) == pytest.approx(
        [-0.5, 0.5], abs=0.05
    )
    assert np.count_nonzero(draw(rng(), Buffer("x", ("M", "N"), "int32"), DIMS)) > 60 * 256
    x = draw(rng(), Buffer("x", ("M", "N")), DIMS)
    assert np.count_nonzero(x != -40) <= 4 * 64 + 3
    assert np.count_nonzero(sparse()(rng(), Buffer("b", ("M", "N")), DIMS)) <= 4 * 64


@pytest.mark.parametrize("extents", [(), (1,), (1, 1), ("M", 1)])
def test_sparse_fits_tiny_buffers(extents: tuple[str | int, ...]) -> None:
    for draw in (sparse("x"), sparse("x", among=9)):
        x = draw(rng(), Buffer("x", extents), DIMS)
        assert x.shape == Buffer("x", extents).shape(DIMS)
        assert np.count_nonzero(x) >= 1


def test_the_standard_distributions_cannot_be_changed_by_a_task_file() -> None:
    with pytest.raises(TypeError):
        STANDARD["normal"] = draw_large  # type: ignore[index]


def _task(draw: Any) -> Task:
    return Task(
        name="copy",
        about="",
        inputs=(Buffer("x", ("N",)), Buffer("b", (3,), "float64")),
        outputs=(Buffer("y", ("N",)),),
        reference=lambda x, b: x,
        tune=({"N": 8},),
        held_out=({"N": 9},),
        edge=({"N": 1},),
        distributions={"normal": draw_normal, "odd": draw},
    )


def test_inputs_come_in_the_tasks_order_contiguous_and_cast() -> None:
    task = _task(lambda r, buffer, dims: np.arange(2 * buffer.shape(dims)[0], dtype=np.int64)[::2])
    x, b = draw_inputs(task, {"N": 4}, "odd", rng())
    assert (x.dtype, b.dtype) == (np.float32, np.float64)
    assert (x.tolist(), b.tolist()) == ([0, 2, 4, 6], [0, 2, 4])
    assert x.flags["C_CONTIGUOUS"]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", ["normal", "offset", "heavy-tail", "large"])
def test_what_is_timed_has_nothing_planted(name: str, dtype: str) -> None:
    """And else the same numbers: a task that is timed on one distribution is judged on it too."""
    task = Task(
        name="copy", about="", inputs=(Buffer("x", ("M", "N"), dtype),), outputs=(Buffer("y", ("M", "N"), dtype),),
        reference=lambda x: x, tune=(DIMS,), held_out=({"M": 2, "N": 2},), edge=({"M": 1, "N": 1},),
        distributions=STANDARD, exact=True,
    )  # fmt: skip
    (plain,), (planted,) = (draw_inputs(task, DIMS, name, rng(), plain=p) for p in (True, False))
    assert not (plain == 0).any() or dtype == "int32"
    other = name == "heavy-tail" and dtype == "float32"  # ordinary numbers, among which its largest are not seen
    assert 3 <= np.count_nonzero((plain != planted).any(axis=1)) <= (DIMS["M"] if other else 12)
    same = [draw_inputs(task, DIMS, "constant-rows", rng(), plain=p)[0] for p in (True, False)]
    assert np.array_equal(*same)


def test_two_inputs_of_one_draw_differ() -> None:
    x, b = draw_inputs(_task(draw_normal), {"N": 3}, "normal", rng())
    assert not np.allclose(x, b)


def test_a_draw_of_another_shape_is_an_error_that_names_the_buffer() -> None:
    task = _task(lambda r, buffer, dims: np.zeros(2))
    with pytest.raises(ValueError, match=r"'odd' drew \(2,\) for 'x', declared \(4,\)"):
        draw_inputs(task, {"N": 4}, "odd", rng())
