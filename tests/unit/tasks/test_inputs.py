from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernellab.tasks.inputs import (
    STANDARD,
    draw_constant_rows,
    draw_heavy_tail,
    draw_inputs,
    draw_large,
    draw_normal,
    draw_offset,
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
    assert abs(x.mean()) < 0.03
    assert abs(x.std() - 1) < 0.03


def test_integers_cover_their_documented_range() -> None:
    bytes_ = draw_normal(rng(), Buffer("x", ("M", "N"), "uint8"), DIMS)
    assert (bytes_.min(), bytes_.max()) == (0, 255)
    whole = draw_normal(rng(), Buffer("x", ("M", "N"), "int32"), DIMS)
    assert -1000 <= whole.min() < -980
    assert 980 < whole.max() <= 1000


def test_offset_is_normal_moved_by_three() -> None:
    assert abs(draw_offset(rng(), Buffer("x", ("M", "N")), DIMS).mean() - 3) < 0.03


def test_heavy_tail_has_a_few_dominating_elements_within_bounds() -> None:
    x = draw_heavy_tail(rng(), Buffer("x", ("M", "N")), DIMS)
    assert 10 < np.abs(x).max() <= 80
    assert np.median(np.abs(x)) < 1


def test_large_reaches_thousands() -> None:
    assert np.abs(draw_large(rng(), Buffer("x", ("M", "N")), DIMS)).max() > 2000


def test_constant_rows_hold_one_value_each() -> None:
    x = draw_constant_rows(rng(), Buffer("x", ("M", "N")), DIMS)
    assert (x == x[:, :1]).all()
    assert len(np.unique(x[:, 0])) == 64
    assert x.flags["C_CONTIGUOUS"]


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


def test_two_inputs_of_one_draw_differ() -> None:
    x, b = draw_inputs(_task(draw_normal), {"N": 3}, "normal", rng())
    assert not np.allclose(x, b)


def test_a_draw_of_another_shape_is_an_error_that_names_the_buffer() -> None:
    task = _task(lambda r, buffer, dims: np.zeros(2))
    with pytest.raises(ValueError, match=r"'odd' drew \(2,\) for 'x', declared \(4,\)"):
        draw_inputs(task, {"N": 4}, "odd", rng())
