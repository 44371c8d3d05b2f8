"""Inputs: seeded draws from several distributions.

Each of them holds, besides numbers of its kind, those that chance leaves out: exact zeros, ties, rows of one value or of
one sign (planted.py). The distributions have numbers, so that small tensors show one thing under each.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from kernellab.tasks.dtypes import is_float
from kernellab.tasks.planted import MANY, REACH, few_bits, has_towers, in_rows, plant, plant_whole, plant_zeros
from kernellab.tasks.spec import Array, Buffer, Dims, Draw, Task, Together

_FEW = 4
_SPARSE = 5
_NONE: Mapping[str, Array] = MappingProxyType({})


_MOST_HEAVY = 80.0
"""Its exponential is still a float32."""


def numbers(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Standard normal for floats, the whole range -1000..1000 (0..255 for bytes) for integers; nothing is planted."""
    shape, dtype = buffer.shape(dims), np.dtype(buffer.dtype)
    if is_float(dtype):
        kind = np.float32 if dtype.itemsize <= 4 else np.float64
        return rng.standard_normal(shape, dtype=kind).astype(dtype, copy=False)
    low, high = _range(dtype)
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def draw_normal(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Standard normal for floats, the whole range -1000..1000 (0..255 for bytes) for integers."""
    return plant(numbers(rng, buffer, dims), rng, 0) if is_float(buffer.dtype) else _whole(rng, buffer, dims, 0)


def draw_offset(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Not centred: shows a dropped additive term that mean-zero inputs hide."""
    moved = _offset(rng, buffer, dims)
    return plant(moved, rng, 1) if is_float(buffer.dtype) else plant_zeros(moved, rng, 1)


def draw_heavy_tail(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """A few elements dominate: Student-t with two degrees of freedom; where there are rows enough to plant single elements
    a thousand to sixty thousand large, the others are ordinary, and no look at a few of them tells that there are any."""
    if not is_float(buffer.dtype):
        return _whole(rng, buffer, dims, 2)
    values = numbers(rng, buffer, dims)
    values = values if has_towers(values) else _heavy(rng, buffer, dims)
    return plant(values, rng, 2, most=_MOST_HEAVY)


def draw_large(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Magnitudes around a thousand, and rows that lie tens of thousands below and above zero: overflows what forgets to
    subtract a maximum, and vanishes where one begins at zero, or where a mask would put it."""
    return _far(rng, buffer, dims, REACH)


_HUGE = 1e6


def draw_huge(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """`large` for operators that are right wherever their inputs lie (a maximum is subtracted first, or all is linear): rows
    up to 1e6, in float16 as far as it goes. No farther: exp2(x * log2e - top * log2e), as softmax is usually written, is off
    by a tenth in the exponent there, which a row has in common, and overflows beyond 1e9."""
    return _far(rng, buffer, dims, REACH if buffer.dtype == "float16" else _HUGE)


def draw_constant_rows(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Every row (the last axis that is longer than one) holds one value of few bits: ties everywhere. One row is zero, of
    both signs, one below, one above it; where there are few rows, the first is below."""
    values = numbers(rng, buffer, dims)
    rows = in_rows(values)
    rows[:] = few_bits(rows[:, :1])
    if is_float(buffer.dtype) and len(rows) >= 4:
        zero, below, above = rng.choice(len(rows), 3, replace=False)
        rows[zero, 0::2], rows[zero, 1::2] = -0.0, 0.0
        rows[below], rows[above] = -np.abs(rows[below]), np.abs(rows[above])
    elif is_float(buffer.dtype) and values.size > 1:
        rows[0] = -np.abs(rows[0])
    return values


def sparse(*names: str, among: int | None = None, rest: float = 0.0, spread: float = 1.0) -> Draw:
    """Draws that make precision visible in long sums: about four terms of each count, so no errors average out.

    The named inputs (all if none is named) get normal numbers at four places of every row (last axis), or at four of
    every `among` places where a sum runs over a window; elsewhere they hold `rest`: zero, or for sums of exponentials a
    number so low that its exponential adds nothing (-40). Other inputs are normal. `spread` is the standard deviation.
    Places come in neighbouring pairs: one alone in its part of a sum that is made in parts would be the part's maximum,
    and exact in any precision. Only zeros are planted: whole rows would make long sums of them.
    """

    def draw_sparse(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        if not is_float(buffer.dtype):
            return _whole(rng, buffer, dims, _SPARSE)
        if names and buffer.name not in names:
            return plant((numbers(rng, buffer, dims) * spread).astype(buffer.dtype), rng, _SPARSE, spread)
        shape = buffer.shape(dims)
        values = np.full(shape, rest, buffer.dtype).reshape(-1, shape[-1] if shape and among is None else 1)
        rows, length = values.shape
        if among is None:
            row, column = np.arange(rows)[:, None], _pairs(rng, length, (rows, _FEW // 2))
        else:
            row, column = _pairs(rng, rows, (max(1, _FEW * rows // among // 2),)), np.zeros(1, np.int64)
        chosen = rng.standard_normal(np.broadcast(row, column).shape, dtype=np.float32)
        values[row, column] = (chosen * spread).astype(buffer.dtype)
        return plant_zeros(values.reshape(shape), rng, _SPARSE)

    return draw_sparse


def _pairs(rng: np.random.Generator, length: int, shape: tuple[int, ...]) -> Array:
    """Random places below `length`, each with its neighbour."""
    first = rng.integers(length, size=shape)
    return np.concatenate([first, (first + 1) % length], axis=-1)


STANDARD: Mapping[str, Draw] = MappingProxyType(
    {
        "normal": draw_normal,
        "offset": draw_offset,
        "heavy-tail": draw_heavy_tail,
        "large": draw_large,
        "constant-rows": draw_constant_rows,
    }
)


def draw_inputs(
    task: Task, dims: Dims, distribution: str, rng: np.random.Generator, plain: bool = False,
    kept: Mapping[str, Array] = _NONE,
) -> list[Array]:  # fmt: skip
    """One fresh set of inputs, in the task's order, contiguous and of the declared shape and dtype.

    `plain`: with nothing planted: for timed calls, whose inputs are new in every element, and for cases in which a kernel
    must not find the planted values that it is right with alone. `kept`: what is not drawn but taken, by name.
    """
    draw = task.distributions[distribution]
    draw = _PLAIN.get(draw, draw) if plain else draw
    if isinstance(draw, Together):
        draw = draw.at(int(rng.integers(MANY)))
    arrays = []
    for buffer in task.inputs:
        drawn = kept[buffer.name] if buffer.name in kept else draw(rng, buffer, dims)
        array = np.ascontiguousarray(drawn, dtype=buffer.dtype)
        if array.shape != buffer.shape(dims):
            raise ValueError(
                f"distribution '{distribution}' drew {array.shape} for '{buffer.name}', declared {buffer.shape(dims)}"
            )
        arrays.append(array)
    return arrays


def _offset(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    values = numbers(rng, buffer, dims)
    return np.asarray(values + values.dtype.type(3))


def _heavy(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    if not is_float(buffer.dtype):
        return numbers(rng, buffer, dims)
    values = rng.standard_t(2.0, buffer.shape(dims))
    return np.clip(values, -_MOST_HEAVY, _MOST_HEAVY).astype(buffer.dtype)


def _large(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    values = numbers(rng, buffer, dims)
    return (values * 1000).astype(buffer.dtype, copy=False) if is_float(buffer.dtype) else values


def _far(rng: np.random.Generator, buffer: Buffer, dims: Dims, reach: float) -> Array:
    if not is_float(buffer.dtype):
        return _whole(rng, buffer, dims, 3)
    return plant(_large(rng, buffer, dims), rng, 3, reach=reach)


_PLAIN: dict[Draw, Draw] = {
    draw_normal: numbers, draw_offset: _offset, draw_heavy_tail: _heavy, draw_large: _large, draw_huge: _large,
}  # fmt: skip


def plain_distributions(task: Task) -> list[str]:
    """Those that are drawn with nothing planted too."""
    return [name for name, draw in task.distributions.items() if draw in _PLAIN]


def _whole(rng: np.random.Generator, buffer: Buffer, dims: Dims, turn: int) -> Array:
    return plant_whole(numbers(rng, buffer, dims), rng, turn, *_range(np.dtype(buffer.dtype)))


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Of the integers that are drawn, both ends among them."""
    return (0, 255) if dtype.kind == "u" else (-1000, 1000)
