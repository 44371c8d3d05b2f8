"""Inputs: seeded draws from several distributions, and the cheap, wholly fresh contents for timed calls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from kernellab.tasks.dtypes import is_float
from kernellab.tasks.spec import Array, Buffer, Dims, Draw, Task

_FEW = 4


def draw_normal(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Standard normal for floats, the whole range -1000..1000 (0..255 for bytes) for integers."""
    shape, dtype = buffer.shape(dims), np.dtype(buffer.dtype)
    if is_float(dtype):
        kind = np.float32 if dtype.itemsize <= 4 else np.float64
        return rng.standard_normal(shape, dtype=kind).astype(dtype, copy=False)
    low, high = (0, 256) if dtype.kind == "u" else (-1000, 1001)
    return rng.integers(low, high, shape, dtype=dtype)


def draw_offset(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Not centred: shows a dropped additive term that mean-zero inputs hide."""
    return _shifted(draw_normal(rng, buffer, dims), 3)


def draw_heavy_tail(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Student-t with two degrees of freedom: a few elements dominate."""
    if not is_float(buffer.dtype):
        return draw_normal(rng, buffer, dims)
    values = rng.standard_t(2.0, buffer.shape(dims))
    return np.clip(values, -80.0, 80.0).astype(buffer.dtype)


def draw_large(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Magnitudes around a thousand: overflows what forgets to subtract a maximum."""
    if not is_float(buffer.dtype):
        return draw_normal(rng, buffer, dims)
    return (draw_normal(rng, buffer, dims) * 1000).astype(buffer.dtype, copy=False)


def draw_constant_rows(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
    """Every row (last axis) holds one value: ties everywhere.

    Of seven bits: terms that are all alike round alike too, and a running sum of longer ones drifts by thousands of ULP.
    """
    values = draw_normal(rng, buffer, dims)
    first = values[..., :1]
    if is_float(buffer.dtype):
        mantissa, exponent = np.frexp(first.astype(np.float64))
        first = np.ldexp(np.round(mantissa * 128) / 128, exponent).astype(buffer.dtype)
    return np.ascontiguousarray(np.broadcast_to(first, values.shape))


def sparse(*names: str, among: int | None = None, rest: float = 0.0, spread: float = 1.0) -> Draw:
    """Draws that make precision visible in long sums: about four terms of each count, so no errors average out.

    The named inputs (all if none is named) get normal numbers at four places of every row (last axis), or at four of
    every `among` places where a sum runs over a window; elsewhere they hold `rest`: zero, or for sums of exponentials a
    number so low that its exponential adds nothing (-40). Other inputs are normal. `spread` is the standard deviation.
    Places come in neighbouring pairs: one alone in its part of a sum that is made in parts would be the part's maximum,
    and exact in any precision.
    """

    def draw_sparse(rng: np.random.Generator, buffer: Buffer, dims: Dims) -> Array:
        if not is_float(buffer.dtype) or (names and buffer.name not in names):
            values = draw_normal(rng, buffer, dims)
            return (values * spread).astype(values.dtype) if is_float(buffer.dtype) else values
        shape = buffer.shape(dims)
        values = np.full(shape, rest, buffer.dtype).reshape(-1, shape[-1] if shape and among is None else 1)
        rows, length = values.shape
        if among is None:
            row, column = np.arange(rows)[:, None], _pairs(rng, length, (rows, _FEW // 2))
        else:
            row, column = _pairs(rng, rows, (max(1, _FEW * rows // among // 2),)), np.zeros(1, np.int64)
        chosen = rng.standard_normal(np.broadcast(row, column).shape, dtype=np.float32)
        values[row, column] = (chosen * spread).astype(buffer.dtype)
        return values.reshape(shape)

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


def draw_inputs(task: Task, dims: Dims, distribution: str, rng: np.random.Generator) -> list[Array]:
    """One fresh set of inputs, in the task's order, contiguous and of the declared shape and dtype."""
    draw = task.distributions[distribution]
    arrays = []
    for buffer in task.inputs:
        array = np.ascontiguousarray(draw(rng, buffer, dims), dtype=buffer.dtype)
        if array.shape != buffer.shape(dims):
            raise ValueError(
                f"distribution '{distribution}' drew {array.shape} for '{buffer.name}', declared {buffer.shape(dims)}"
            )
        arrays.append(array)
    return arrays


def _shifted(values: Array, by: int) -> Array:
    return np.asarray(values + values.dtype.type(by))
