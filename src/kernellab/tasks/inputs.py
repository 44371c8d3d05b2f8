"""Inputs: seeded draws from several distributions, and the cheap, wholly fresh contents for timed calls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from kernellab.tasks.dtypes import is_float
from kernellab.tasks.spec import Array, Buffer, Dims, Draw, Task


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
    """Every row (last axis) holds one value: ties everywhere."""
    values = draw_normal(rng, buffer, dims)
    return np.ascontiguousarray(np.broadcast_to(values[..., :1], values.shape))


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
